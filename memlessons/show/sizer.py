"""The cache sizer: a live widget where there is a kernel and a page for it, a table and a picture elsewhere.

How it is shown. A widget lives in its kernel; a stored notebook holds only its name, and pages answer a
name without a kernel with an error. One stored figure widget weighs 5 MB. So the sizer puts out two
ordinary outputs, and each carries two forms of the same thing: the live one as a widget's name, the still
one as a table (HTML, text) or as a figure (plotly's JSON, text).

- JupyterLab with the kernel running prefers the widget's name (its renderer ranks before all others):
  widgets only, nothing twice, and no output that has to be found and cleared later. The controls and the
  table are one widget; the figure, the controls that change the model, and the field to copy from another.
- A notebook that the book executes loses the widgets' names when it is tidied (`book.tidy.settle`). The
  same two outputs are then a table and a figure, which gets its static picture like any other.
- GitHub and pages without widgets do not know the name and show the still forms.
"""

from collections.abc import Sequence
from typing import Any

from memlessons.show.shell import notebook_shell, publish
from memlessons.show.sizer_picture import sizer_figure
from memlessons.show.sizer_rows import explain
from memlessons.show.sizer_state import SizerState
from memlessons.show.sizer_table import table_html, table_text
from memlessons.show.theme import bundle
from memlessons.sizing import Answer
from memlessons.sizing.whatif import Edit, WaterfallStep

WIDGET_MIMETYPE = "application/vnd.jupyter.widget-view+json"


class CacheSizer:
    """What a model's memory takes beside its weights, whether it fits, how fast it is, what could be less.

    Arguments as in `SizerState`, whose errors it raises; `value_format` is `key_format` unless given. At
    the end of a cell it shows itself. `sizer.state` is the state its controls stand at and may be set;
    `sizer.answer` the numbers, those of `memlessons size`; `sizer.waterfall` what each edit saves;
    `sizer.explain()` the state in words.
    """

    def __init__(
        self,
        preset: str = "llama-3.1-8b",
        *,
        context: int = 4096,
        batch: int = 1,
        key_format: str = "bf16",
        value_format: str | None = None,
        card: str = "RTX 4090",
        tp: int = 1,
        engine: str = "ideal",
        config: str | None = None,
        edits: Sequence[Edit] = (),
        reserve_gib: float = 0,
    ) -> None:
        same = key_format if value_format is None else value_format
        self._state = SizerState(
            preset, context, batch, key_format, same, card, tp, engine, config, tuple(edits), reserve_gib
        )
        self._controls: Any = None

    @property
    def state(self) -> SizerState:
        """The state that is shown; setting it moves the controls."""
        return self._state

    @state.setter
    def state(self, state: SizerState) -> None:
        self._state = state
        if self._controls is not None:
            self._controls.put(state)

    @property
    def answer(self) -> Answer:
        """The numbers of the state."""
        return self._state.answer()

    @property
    def waterfall(self) -> tuple[WaterfallStep, ...]:
        """One sequence's bytes as published and after each edit."""
        return self._state.waterfall()

    @property
    def controls(self) -> Any:
        """The live controls, made on first use; None where ipywidgets or anywidget are not installed."""
        if self._controls is None:
            try:
                from memlessons.show.sizer_controls import Controls

                self._controls = Controls(self._state, self._moved)
            except ImportError:
                return None
        return self._controls

    def _moved(self, state: SizerState) -> None:
        self.state = state

    def explain(self) -> str:
        """The state as a paragraph of plain prose."""
        return explain(self._state)

    def show(self) -> None:
        """Show the sizer here: live or still in a notebook, as text in a shell."""
        if notebook_shell() is None:
            print(table_text(self._state))
            return
        table, picture = self.forms()
        publish(table)
        publish(picture)

    def forms(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The two outputs by mimetype: controls or table; figure with edits, live, or a still figure."""
        table: dict[str, Any] = {"text/html": table_html(self._state), "text/plain": table_text(self._state)}
        picture = bundle(sizer_figure(self._state))
        controls = self.controls
        if controls is not None:
            table[WIDGET_MIMETYPE] = _view(controls.panel)
            picture[WIDGET_MIMETYPE] = _view(controls.below)
        return table, picture

    def _ipython_display_(self) -> None:
        self.show()

    def __repr__(self) -> str:
        return table_text(self._state)


def _view(widget: Any) -> dict[str, Any]:
    return {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
