"""The sizer's picture: what a card holds, what one step reads, and what each change saves.

A picture is a plain value. A still figure is made from it, and a live one changed to it in one message.
"""

import textwrap
from typing import Any, NamedTuple

from memlessons.show.sizer_panels import (
    STEP_PIXELS,
    Panel,
    held_panel,
    step_panel,
    waterfall_panel,
)
from memlessons.show.sizer_rows import caption, explain
from memlessons.show.sizer_shapes import Values
from memlessons.show.sizer_state import SizerState
from memlessons.show.theme import FONT_SIZE, TEXT, Figure, escaped, figure
from memlessons.sizing.drawn import pieces, step_curve

_TOP, _LEFT, _RIGHT, _BOTTOM = 72, 196, 84, 30
_TITLE_CHARACTERS = 60
_ROW_PIXELS = 30.0
_UNDER_BARS, _UNDER_LINES = 62.0, 84.0
"""Pixels below a panel: its ticks, and the next panel's title."""
_TITLES = ("held by {each}, to scale", "read by one decode step{all}", "one sequence, change by change")
_PARTS = ("x", "y", "base", "customdata")


class Picture(NamedTuple):
    """A figure as values: `data` of eight traces, always the same kinds, and what goes into its layout."""

    title: str
    alt: str
    data: list[Values]
    layout: Values


def picture(state: SizerState) -> Picture:
    """The picture of one state, without a figure yet."""
    found = state.answer()
    q = found.question
    panels = (
        held_panel(found, pieces(found)),
        step_panel(step_curve(q), q.context, found.step_crossing),
        waterfall_panel(state.waterfall()),
    )
    said = {
        "each": "the card" if q.tp == 1 else "each card",
        "all": "" if q.tp == 1 else f", {q.tp} cards together",
    }
    titles = [title.format(**said) for title in _TITLES]
    data, layout = _placed(panels, titles)
    title = "<br>".join(map(escaped, textwrap.wrap(caption(state), _TITLE_CHARACTERS)))
    return Picture(title, _alt(state), data, layout)


def sizer_figure(state: SizerState, *, id: str | None = None) -> Figure:
    """Three panels of one state: bytes held against the card, bytes of a step against context, changes.

    Above, weights, cache by kind of layer, an engine's rounding and what is kept free, end to end over the
    card. In the middle both axes are logarithmic: flat weights, a cache that rises and is faint beyond what
    the model was made to read, a mark where they cross, and the length of the state. Below, one sequence as
    published and after each change.
    """
    drawn = picture(state)
    fig = figure("", alt=drawn.alt, id=id, height=drawn.layout["height"])
    fig.add_traces(drawn.data)
    fig.update_layout(drawn.layout, title_text=drawn.title, title_font_size=14)
    return fig


def change(live: Any, drawn: Picture) -> None:
    """Make a live figure show another picture, in one message to the page: nothing flickers."""
    with live.batch_update():
        for old, new in zip(live.data, drawn.data, strict=True):
            for part in _PARTS:
                if part in new:
                    old[part] = new[part]
            marker = new.get("marker", {})
            if "color" in marker:
                old.marker.color = marker["color"]
            if "pattern" in marker:
                old.marker.pattern.shape = marker["pattern"]["shape"]
        layout = live.layout
        layout.title.text = drawn.title
        layout.meta = {**(layout.meta or {}), "alt": drawn.alt}
        layout.height = drawn.layout["height"]
        layout.annotations = drawn.layout["annotations"]
        for axis in (f"{which}axis{number}" for which in "xy" for number in ("", "2", "3")):
            for part in ("range", "tickvals", "ticktext", "domain"):
                if part in drawn.layout[axis]:
                    layout[axis][part] = drawn.layout[axis][part]


def _placed(panels: tuple[Panel, ...], titles: list[str]) -> tuple[list[Values], Values]:
    """The panels one below the other, in pixels: a row of bars has one height in any figure."""
    heights = [panel.rows * _ROW_PIXELS or STEP_PIXELS for panel in panels]
    gaps = [_UNDER_BARS, _UNDER_LINES, 0.0]
    whole = sum(heights) + sum(gaps)
    data: list[Values] = []
    layout: Values = {
        "height": round(whole) + _TOP + _BOTTOM,
        "barmode": "overlay",
        "margin": {"t": _TOP, "b": _BOTTOM, "l": _LEFT, "r": _RIGHT},
        "annotations": [],
    }
    top = whole
    for number, (panel, title, height, gap) in enumerate(zip(panels, titles, heights, gaps, strict=True)):
        name = "" if number == 0 else str(number + 1)
        x, y = f"x{name}", f"y{name}"
        domain = [max(0.0, (top - height) / whole), min(1.0, top / whole)]
        data += [trace | {"xaxis": x, "yaxis": y} for trace in panel.traces]
        layout["annotations"] += [word | {"xref": x, "yref": y} for word in panel.words]
        layout["annotations"].append(_heading(title, domain[1]))
        layout[f"xaxis{name}"] = panel.x | {"anchor": y, "automargin": False}
        layout[f"yaxis{name}"] = panel.y | {"anchor": x, "domain": domain, "automargin": False}
        top -= height + gap
    return data, layout


def _heading(title: str, top: float) -> Values:
    return {
        "text": f"<b>{escaped(title)}</b>",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "xshift": 6 - _LEFT,
        "yshift": 4,
        "showarrow": False,
        "font": {"color": TEXT, "size": FONT_SIZE},
    }


def _alt(state: SizerState) -> str:
    return (
        "Three panels. Above, to one scale, weights, cache by kind of layer and what an engine adds, end to "
        "end, and below them the memory of the card. In the middle, both axes logarithmic, the bytes that "
        "one decode step reads against the context: flat weights, rising cache. Below, one sequence as "
        f"published and after each change. {explain(state)}"
    )
