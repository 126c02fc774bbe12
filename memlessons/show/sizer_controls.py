"""The sizer's live controls: they turn a reader's hand into a new state, and a state into what is shown.

Nothing is computed here. Needs ipywidgets, and anywidget for the figure and the field to copy from.
"""

import html
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets
import plotly.graph_objects as go

from memlessons.errors import MemlessonsError
from memlessons.show.sizer_edits import EditControls
from memlessons.show.sizer_export import CopyField
from memlessons.show.sizer_fields import MOST_SEQUENCES, OWN, contexts, fields_of, labelled, stops
from memlessons.show.sizer_names import SliderNames
from memlessons.show.sizer_own import OwnModel
from memlessons.show.sizer_picture import change, picture, sizer_figure
from memlessons.show.sizer_rows import caption
from memlessons.show.sizer_state import SizerState
from memlessons.show.sizer_table import table_html


class Controls:
    """Widgets for every field of a state, a table of its numbers, its figure, edits and a field to copy.

    `on_state` is called with the new state when a reader moves a control; `put` shows a state, and calls
    nothing back. Where the controls ask for what cannot be, `message` says so by name, and numbers and figure
    stay as they were.
    """

    def __init__(self, state: SizerState, on_state: Callable[[SizerState], None]) -> None:
        self._state = state
        self._on_state = on_state
        self._quiet = False
        self.fields = fields_of(state)
        self.own = OwnModel(lambda _: self._asked(), self._refused)
        self.message = ipywidgets.HTML()
        self.numbers = ipywidgets.HTML().add_class("jp-RenderedHTMLCommon")
        self.edits = EditControls(lambda edits: self._asked(edits=edits))
        self.copy = CopyField()
        self.names = SliderNames()
        self.figure = go.FigureWidget(sizer_figure(state))
        self.figure._config = {"displayModeBar": False, "responsive": True}
        first, *others = self.fields.values()
        asked = [first, self.own.panel, *others, self.names]
        column = ipywidgets.VBox(asked, layout={"flex": "0 0 340px"})
        right = ipywidgets.VBox([self.message, self.numbers], layout={"flex": "1 1 360px", "min_width": "0"})
        # Beside each other where there is room, else the table below the controls.
        self.panel = ipywidgets.HBox(
            [column, right], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        self.below = ipywidgets.VBox([self.figure, self.edits.panel, self.copy])
        for widget in self.fields.values():
            widget.observe(lambda _: self._asked(), names="value")
        self._show(state)

    def put(self, state: SizerState) -> None:
        """Show this state: controls, numbers and figure; what did not change is not touched."""
        self._state = state
        self._show(state)
        change(self.figure, picture(state))

    def _show(self, state: SizerState) -> None:
        own = state.config is not None
        with self._silent():
            stopping = {"context": contexts(state), "batch": stops(MOST_SEQUENCES, state.batch)}
            for name, wanted in stopping.items():
                slider = self.fields[name]
                if [value for _, value in slider.options] != wanted:
                    slider.options = labelled(wanted)
            if state.tp not in self.fields["tp"].options:
                self.fields["tp"].options = sorted({*self.fields["tp"].options, state.tp})
            shown = {"preset": OWN if own else state.preset, "context": state.context_read}
            for name, widget in self.fields.items():
                widget.value = shown.get(name, getattr(state, name))
            self.own.put(state.config, open=own)
            self.edits.put(state.edits, state.waterfall())
            self.numbers.value = table_html(state, captioned=False)
            self.message.value = ""
        self.copy.put(state)

    def _asked(self, **changed: Any) -> None:
        """Try the state for which all controls stand."""
        if self._quiet:
            return
        wanted = {name: widget.value for name, widget in self.fields.items()} | changed
        # A slider that stands at the end of a shorter memory has not been moved: the wish survives.
        if wanted["context"] == self._state.context_read:
            wanted["context"] = self._state.context
        own = wanted["preset"] == OWN
        self.own.panel.layout.display = None if own else "none"
        if own:
            wanted |= {"preset": self._state.preset, "config": self.own.config}
            if wanted["config"] is None:
                self._say("Paste the text of a config.json, or upload the file.", "status")
                return
        else:
            wanted["config"] = None
        try:
            state = self._state.with_(**wanted)
        except MemlessonsError as error:
            self._refused(error)
            return
        self._on_state(state)

    def _refused(self, error: Exception) -> None:
        self._say(f"{type(error).__name__}: {error}", "alert")

    def _say(self, text: str, role: str) -> None:
        self.message.value = (
            f'<p role="{role}" style="border-left: 4px solid #D47800; padding-left: 8px; line-height: 1.4">'
            f"<b>{html.escape(text)}</b><br>Numbers and picture are still those of "
            f"{html.escape(caption(self._state))}.</p>"
        )

    @contextmanager
    def _silent(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False
