"""One look for every figure of the book: readable on a white and on a dark page, in any colour vision.

A notebook does not tell a figure which theme surrounds it, so the figure has no background of its own
and every colour lies in the narrow band that stands out from white and from #111111 alike. The best any
colour can do on both is a contrast of 4.35:1 (the geometric mean of the two pages); text has exactly
that, series colours at least 3:1. Colour is never the only cue: each series has its own dash, marker
and fill pattern too.
"""

import html
import json
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from memlessons.errors import MemlessonsError
from memlessons.show.shell import publish

PLOTLY_MIMETYPE = "application/vnd.plotly.v1+json"

TEXT = "#797979"
"""Text, ticks and axis lines: 4.35:1 on white, 4.34:1 on #111111."""
GRID = "rgba(121, 121, 121, 0.28)"
"""Grid lines: present when looked for, never louder than the data."""
COLOURS = ("#3265CA", "#D47800", "#00863D", "#9C569B", "#119BDE")
"""Okabe and Ito's blue, orange, green, purple and sky blue, moved into the band of both pages and apart
from each other, also as seen with protanopia, deuteranopia and tritanopia."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x")
PATTERNS = ("", "/", ".", "x", "-")

HEIGHT = 380
"""Pixels: a figure and the sentence above it fit on a laptop's screen together."""
FONT_SIZE = 13
MARGIN_TOP = 52
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


class FigureWithoutAlt(MemlessonsError):
    """A figure was made without the words that stand for it."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one series looks: a colour, and three cues that do not need it."""

    colour: str
    dash: str
    symbol: str
    pattern: str


def style(index: int) -> Style:
    """The look of series number `index`; no two of the first 25 share both colour and dash."""
    turn, place = divmod(index, len(COLOURS))
    other = (place + turn) % len(DASHES)
    return Style(COLOURS[place], DASHES[other], SYMBOLS[other], PATTERNS[other])


def pattern(shape: str) -> dict[str, Any]:
    """A fill pattern drawn over a colour; white strokes show on every colour of the palette."""
    return {
        "shape": shape,
        "fillmode": "overlay",
        "fgcolor": "#ffffff",
        "fgopacity": 0.55,
        "size": 6,
        "solidity": 0.2,
    }


def figure_theme() -> go.layout.Template:
    """The book's plotly template: no background, grey text, the palette, room for labels at line ends."""
    axis = {
        "color": TEXT,
        "gridcolor": GRID,
        "linecolor": TEXT,
        "zerolinecolor": TEXT,
        "zerolinewidth": 1,
        "ticks": "outside",
        "tickcolor": TEXT,
        "ticklen": 4,
        "showline": True,
        "automargin": True,
        "title": {"standoff": 10, "font": {"size": FONT_SIZE}},
    }
    return go.layout.Template(
        layout={
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": _FONT, "size": FONT_SIZE, "color": TEXT},
            "title": {
                "font": {"size": 15},
                "subtitle": {"font": {"size": 12}},
                "x": 0.01,
                "xanchor": "left",
                "y": 0.97,
                "yanchor": "top",
            },
            "colorway": list(COLOURS),
            "xaxis": axis,
            "yaxis": axis,
            "margin": {"l": 60, "r": 24, "t": MARGIN_TOP, "b": 48},
            "showlegend": False,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "hoverlabel": {"font": {"size": FONT_SIZE}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": TEXT, "activecolor": COLOURS[0]},
            "annotationdefaults": {"showarrow": False, "font": {"color": TEXT, "size": FONT_SIZE - 1}},
            "shapedefaults": {"line": {"color": TEXT, "width": 1}},
        }
    )


class Figure(go.Figure):
    """A plotly figure that carries its alt text and shows itself small: one mimetype and that text.

    A plain `go.Figure` may embed plotly's whole script, several megabytes, in a notebook.
    """

    # The bundle below says everything; plotly's own hook would add the script.
    _ipython_display_ = None

    @property
    def alt(self) -> str:
        """The words that stand for this figure where it cannot be seen."""
        return str(self.layout.meta["alt"])

    @property
    def id(self) -> str | None:
        """The figure's name in the book, "fig-00", if it has one."""
        name = self.layout.meta.get("id")
        return None if name is None else str(name)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, Any]:
        return bundle(self)

    def _repr_html_(self) -> None:
        return None

    def show(self, *_: Any, **__: Any) -> None:
        """Display this figure here; the same as `show(fig)`."""
        show(self)


def figure(
    title: str,
    x: str = "",
    y: str = "",
    alt: str = "",
    *,
    id: str | None = None,
    height: int = HEIGHT,
    subtitle: str = "",
    base: go.Figure | None = None,
) -> Figure:
    """An empty figure in the book's theme, with axis titles `x` and `y`.

    `alt` says in words what the figure shows (FigureWithoutAlt if empty); `id` is its name in the book
    ("fig-00"); `subtitle` says for what it holds, such as the device; `base` is a figure of
    subplots to start from.
    """
    if not alt.strip():
        raise FigureWithoutAlt(f"figure({title!r}) needs alt=: one or two sentences that say what it shows")
    fig = Figure(base)
    meta = {"alt": alt.strip()} | ({} if id is None else {"id": id})
    fig.update_layout(template=figure_theme(), title_text=escaped(title), height=height, meta=meta)
    if subtitle:
        fig.update_layout(title_subtitle_text=escaped(subtitle), margin_t=MARGIN_TOP + 18)
    if x:
        fig.update_xaxes(title_text=escaped(x))
    if y:
        fig.update_yaxes(title_text=escaped(y))
    return fig


def describe(fig: go.Figure, alt: str) -> None:
    """Replace a figure's alt text, once its data is known."""
    if not alt.strip():
        raise FigureWithoutAlt("describe() needs a text: one or two sentences that say what the figure shows")
    fig.update_layout(meta={**(fig.layout.meta or {}), "alt": alt.strip()})


def bundle(fig: go.Figure) -> dict[str, Any]:
    """What a notebook stores for a figure: plotly's JSON, and its alt text as plain text."""
    spec = json.loads(pio.to_json(fig, validate=False))
    spec["config"] = {"displaylogo": False, "responsive": True}
    meta = fig.layout.meta or {}
    name = f"{meta['id']}: " if "id" in meta else ""
    return {PLOTLY_MIMETYPE: spec, "text/plain": f"[figure] {name}{meta.get('alt', 'no description')}"}


def show(fig: go.Figure) -> None:
    """Display a figure: drawn in a notebook, its alt text in a shell."""
    publish(bundle(fig))


def escaped(text: str) -> str:
    """Text for a title, label or hover box: plotly reads tags, and `$...$` as a formula; we mean neither.

    Line breaks stay.
    """
    return html.escape(str(text), quote=False).replace("$", "&#36;").replace("\n", "<br>")
