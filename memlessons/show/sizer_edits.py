"""Controls for what-if edits: a row to add a change, a list to take one back, the way back to the start."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from memlessons.plan import FORMATS
from memlessons.show.sizer_words import times_text
from memlessons.sizing.whatif import ROPE_WIDTH, Edit, WaterfallStep

_KINDS = [
    ("fewer KV heads", "fewer_kv_heads"),
    ("one KV head", "one_kv_head"),
    ("a latent in place of K and V", "latent"),
    ("another format", "format"),
    ("windows", "window"),
    ("neighbours share", "share"),
]
# What is mostly tried; any other number goes through `Edit(...)`.
_NUMBERS = {
    "fewer_kv_heads": [(f"divided by {n}", n) for n in (2, 3, 4, 5, 8, 16)],
    "one_kv_head": [("for all query heads", 0)],
    "latent": [(f"of {n:,} + {ROPE_WIDTH} for RoPE", n) for n in (512, 128, 256, 1024)],
    "window": [(f"of {n:,} tokens", n) for n in (1024, 128, 256, 512, 2048, 4096, 8192)],
    "share": [(f"{n} layers, one cache", n) for n in (2, 3, 4)],
}
_EVERY = [("every 6th", 6), ("every 4th", 4), ("every 2nd", 2), ("every 8th", 8), ("no layer", 0)]
_SIXTEEN = 16


class EditControls:
    """Widgets to change the edits: `panel` holds them all; `on_edits` is called with the edits wanted."""

    def __init__(self, on_edits: Callable[[tuple[Edit, ...]], None]) -> None:
        self._edits: tuple[Edit, ...] = ()
        self._on_edits = on_edits
        self.kind = _dropdown("change it", _KINDS, width="330px")
        self.value = _dropdown("how", _values("fewer_kv_heads"))
        self.every = _dropdown("but in", _EVERY)
        self.sinks = _dropdown("sinks", [("none", 0), ("the first 4", 4)])
        self.add = _button("Add", "Add this change to the model")
        self.list = ipywidgets.Select(
            description="changes", options=[], rows=3, style={"description_width": "84px"},
            layout={"width": "calc(100% - 4px)", "max_width": "720px"},
        )  # fmt: skip
        self.remove = _button("Remove", "Take the chosen change back")
        self.back = _button("Back to the model as published", "Take all changes back", width="auto")
        row = {"flex_flow": "row wrap", "align_items": "center"}
        choice = [self.kind, self.value, self.every, self.sinks, self.add]
        self.taken = ipywidgets.VBox([self.list, ipywidgets.HBox([self.remove, self.back], layout=row)])
        self.panel = ipywidgets.VBox([ipywidgets.HBox(choice, layout=row), self.taken])
        self.kind.observe(self._choose, names="value")
        self.add.on_click(self._add)
        self.remove.on_click(self._remove)
        self.back.on_click(lambda _: self._on_edits(()))
        self._choose()

    def put(self, edits: Sequence[Edit], steps: Sequence[WaterfallStep]) -> None:
        """Show these edits with what each saves; `steps` are their waterfall, the published model first."""
        self._edits = tuple(edits)
        lines = [f"{number}. {_said(step)}" for number, step in enumerate(steps[1:], 1)]
        if list(self.list.options) != lines:
            chosen = self.list.index
            self.list.options = lines
            # Where the eye is: the last one added, or what took the place of the one removed.
            last = len(lines) - 1
            self.list.index = None if not lines else last if chosen is None else min(chosen, last)
        self.taken.layout.display = None if lines else "none"

    def chosen(self) -> Edit:
        """The edit that the row stands for."""
        kind = self.kind.value
        if kind == "format":
            return Edit(kind, format=self.value.value)
        if kind == "window":
            return Edit(kind, self.value.value, every=self.every.value, sinks=self.sinks.value)
        return Edit(kind, self.value.value)

    def _choose(self, _: Any = None) -> None:
        self.value.options = _values(self.kind.value)
        for widget in (self.every, self.sinks):
            widget.layout.display = None if self.kind.value == "window" else "none"

    def _add(self, _: Any) -> None:
        self.list.index = None
        self._on_edits((*self._edits, self.chosen()))

    def _remove(self, _: Any) -> None:
        gone = self.list.index
        if gone is not None:
            self._on_edits(self._edits[:gone] + self._edits[gone + 1 :])


def _said(step: WaterfallStep) -> str:
    if step.refused:
        return f"not possible here: {step.refused}"
    return f"{step.name}: {times_text(step.factor)}, in all {times_text(step.running)}"


def _values(kind: str) -> list[tuple[str, Any]]:
    if kind != "format":
        return list(_NUMBERS[kind])
    fewer = [f.name for f in FORMATS.values() if f.bits < _SIXTEEN]
    return [(name, name) for name in fewer]


def _dropdown(name: str, options: Sequence[Any], width: str = "230px") -> Any:
    wide = "84px" if width == "330px" else "46px"
    return ipywidgets.Dropdown(
        description=name, options=options, style={"description_width": wide}, layout={"width": width}
    )


def _button(text: str, tooltip: str, width: str = "90px") -> Any:
    return ipywidgets.Button(description=text, tooltip=tooltip, layout={"width": width})
