"""The sizer's live controls: they turn a reader's hand into a new state, and a state into what is shown.

Nothing is computed here. Needs ipywidgets, and anywidget for the figure.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from memlessons.cost import accelerators
from memlessons.plan import FORMATS, Format, presets
from memlessons.show.sizer_picture import sizer_figure
from memlessons.show.sizer_state import SizerState
from memlessons.show.sizer_view import table_html

MOST_READERS = 1024
_STEPS_AN_OCTAVE = 8


class Controls:
    """Widgets for every field of a state, a table of its numbers and its figure.

    `on_state` is called with the new state when a reader moves a control; `put` shows a state, and calls
    nothing back.
    """

    def __init__(self, state: SizerState, on_state: Callable[[SizerState], None]) -> None:
        self._state = state
        self._on_state = on_state
        self._quiet = False
        formats = [(_format_name(f), f.name) for f in FORMATS.values()]
        self.fields: dict[str, Any] = {
            "preset": _dropdown("model", presets.names(), state.preset),
            "card": _dropdown("card", [a.name for a in accelerators()], state.card),
            "key_format": _dropdown("K stored as", formats, state.key_format),
            "value_format": _dropdown("V stored as", formats, state.value_format),
            "context": _slider("context", _contexts(state), state.context_read),
            "batch": _slider("readers", stops(MOST_READERS, state.batch), state.batch),
        }
        self.numbers = ipywidgets.HTML(_numbers(state)).add_class("jp-RenderedHTMLCommon")
        self.figure = go.FigureWidget(sizer_figure(state))
        self.figure._config = {"displayModeBar": False, "responsive": True}
        column = ipywidgets.VBox(list(self.fields.values()), layout={"flex": "0 0 340px"})
        # Beside each other where there is room, else the table below the controls.
        self.panel = ipywidgets.HBox(
            [column, self.numbers], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        for name, widget in self.fields.items():
            widget.observe(self._on_value(name), names="value")

    def put(self, state: SizerState) -> None:
        """Show this state: controls, numbers and figure; what did not change is not touched."""
        self._state = state
        with self._silent():
            for name in ("context", "batch"):
                wanted = _contexts(state) if name == "context" else stops(MOST_READERS, state.batch)
                slider = self.fields[name]
                if [value for _, value in slider.options] != wanted:
                    slider.options = _labelled(wanted)
            for name, widget in self.fields.items():
                widget.value = state.context_read if name == "context" else getattr(state, name)
            self.numbers.value = _numbers(state)
        change(self.figure, sizer_figure(state))

    def _on_value(self, name: str) -> Callable[[Any], None]:
        def moved(event: Any) -> None:
            if not self._quiet:
                self._on_state(self._state.with_(**{name: event["new"]}))

        return moved

    @contextmanager
    def _silent(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False


def change(live: go.FigureWidget, fig: go.Figure) -> None:
    """Make a live figure equal to `fig`, of the same traces, in one message to the page: nothing flickers."""
    with live.batch_update():
        for old, new in zip(live.data, fig.data, strict=True):
            for part in ("x", "y", "base", "customdata"):
                if part in new:
                    old[part] = new[part]
        for part in ("annotations", "title", "meta"):
            live.layout[part] = fig.layout[part]
        for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
            for part in ("range", "tickvals", "ticktext"):
                live.layout[axis][part] = fig.layout[axis][part]


def stops(most: int, also: int) -> list[int]:
    """Where a log slider stops: from 1 to `most`, powers of two and eighths between them, and at `also`."""
    found = {most, also}
    power = 1
    while power <= most:
        eighths = (power + power * i // _STEPS_AN_OCTAVE for i in range(_STEPS_AN_OCTAVE))
        found |= {n for n in eighths if n <= most}
        power *= 2
    return sorted(found)


def _numbers(state: SizerState) -> str:
    """The table without its caption: the controls beside it say what was asked."""
    return table_html(state, captioned=False)


def _contexts(state: SizerState) -> list[int]:
    return stops(state.model.longest_context, state.context_read)


def _labelled(values: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"{value:,}", value) for value in values]


def _dropdown(name: str, options: Sequence[Any], value: Any) -> Any:
    return ipywidgets.Dropdown(description=name, options=options, value=value, **_look())


def _slider(name: str, values: Sequence[int], value: int) -> Any:
    options = _labelled(values)
    return ipywidgets.SelectionSlider(description=name, options=options, value=value, **_look())


def _look() -> dict[str, Any]:
    return {"style": {"description_width": "84px"}, "layout": {"width": "330px"}}


def _format_name(format: Format) -> str:
    """A format with what a number takes, scales included where they come with so many numbers."""
    if format.scale_bits and format.group is None:
        return f"{format.name}: {format.bits} bits and a scale a row"
    bits = format.bits + (format.scale_bits / format.group if format.group else 0)
    return f"{format.name}: {bits:g} bits"
