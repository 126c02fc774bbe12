"""Shapes of the sizer's picture as plain values: rows of bars, lines, marks, words and axes."""

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from memlessons.show.axes import Kind, tick_text, ticks
from memlessons.show.sizer_words import tokens
from memlessons.show.theme import FONT_SIZE, Style, escaped, pattern
from memlessons.units import bytes_text

_NAME_CHARACTERS = 27
_THICK = 0.56
_MOST_TICKS = 4  # "128 MiB" is wide, and a page may be narrow

Values = dict[str, Any]


def bars(
    name: str,
    names: Sequence[str],
    starts: Sequence[int],
    sizes: Sequence[int],
    looks: Sequence[Style],
    first: int = 0,
) -> Values:
    """Horizontal bars, a row each from row `first` on."""
    shapes = pattern("")
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": list(sizes),
        "base": list(starts),
        "y": [first + i for i in range(len(sizes))],
        "width": _THICK,
        "marker": {
            "color": [look.colour for look in looks],
            "line": {"width": 0},
            "pattern": shapes | {"shape": [look.pattern for look in looks]},
        },
        **_hover(f"{label}: {bytes_text(size)}" for label, size in zip(names, sizes, strict=True)),
    }


def line(name: str, x: Sequence[int], y: Sequence[int], look: Style, opacity: float = 1.0) -> Values:
    """A line through these points."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": list(x),
        "y": list(y),
        "line": {"color": look.colour, "dash": look.dash, "width": 2.5},
        "opacity": opacity,
        **_hover(f"{name}: {bytes_text(b)} at {tokens(a)}" for a, b in zip(x, y, strict=True)),
    }


def marks(name: str, x: Sequence[int], y: Sequence[int], symbol: str, colour: Any) -> Values:
    """Marks at these points."""
    line = {"width": 2 if symbol.endswith("open") else 0}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": list(x),
        "y": list(y),
        "marker": {"symbol": symbol, "size": 11, "color": colour, "line": line},
        **_hover(f"{name}, {tokens(a)}: {bytes_text(b)}" for a, b in zip(x, y, strict=True)),
    }


def _hover(said: Iterable[str]) -> Values:
    return {"customdata": [escaped(text) for text in said], "hovertemplate": "%{customdata}<extra></extra>"}


def word(
    text: str, x: float, y: float, colour: str, log: bool = False, yshift: float = 0, *, right: bool = False
) -> Values:
    """Text beside a point: right of it, or ending left of it if `right`; on a log axis if `log`."""
    return {
        "text": escaped(text),
        "x": math.log10(x) if log else x,
        "y": math.log10(y) if log else y,
        "xanchor": "right" if right else "left",
        "xshift": -8 if right else 6,
        "yanchor": "middle",
        "yshift": yshift,
        "showarrow": False,
        "font": {"color": colour, "size": FONT_SIZE},
    }


def axis(kind: Kind, low: float, high: float, *, log: bool = False) -> Values:
    """An axis in the unit of `kind`, from low to high."""
    at = ticks(low, high, kind, log=log)
    if kind == "bytes" and not log:
        at = at[:: -(-len(at) // _MOST_TICKS)]
    return {
        "type": "log" if log else "linear",
        "range": [math.log10(low), math.log10(high)] if log else [low, high],
        "tickmode": "array",
        "tickangle": 0,
        "tickvals": at,
        "ticktext": [tick_text(value, kind) for value in at],
    }


def name_axis(names: Sequence[str]) -> Values:
    """A vertical axis of names, the first one on top."""
    wrapped = ["<br>".join(map(escaped, textwrap.wrap(name, _NAME_CHARACTERS))) for name in names]
    return {
        "range": [len(names) - 0.5, -0.5],
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": wrapped,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "ticklabelstandoff": 6,
        "tickfont": {"size": FONT_SIZE - 1},
    }
