"""Curves: one quantity against another with the names at the lines' ends, and four small panels."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from memlessons.errors import MemlessonsError
from memlessons.show.axes import Kind, padded, set_axis
from memlessons.show.labels import End, label_ends
from memlessons.show.theme import TEXT, Figure, escaped, figure, style
from memlessons.show.values import value_text


class NothingToDraw(MemlessonsError):
    """A figure was asked for without data, or with lists of different lengths."""


class Curve(NamedTuple):
    """One line: x and y of its points; `low` and `high` are its spread, `faint` marks a recorded device."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    faint: bool = False


def lines(
    curves: Mapping[str, Curve | tuple[Sequence[float], Sequence[float]]],
    title: str,
    x: str,
    y: str,
    alt: str,
    *,
    x_kind: Kind = "tokens",
    y_kind: Kind = "seconds",
    log_x: bool = False,
    log_y: bool = False,
    id: str | None = None,
) -> Figure:
    """Lines of y against x, named at their right ends; such as time per token against length.

    `curves` maps a name to a `Curve` or a pair (x, y), in the base unit of `x_kind` and `y_kind` (bytes,
    tokens, seconds, bytes/s, FLOP/s). A linear y axis starts at 0. Raises NothingToDraw.
    """
    named = {name: Curve(*curve) for name, curve in curves.items()}
    for name, curve in named.items():
        _check(name, curve)
    if not named:
        raise NothingToDraw(f"lines({title!r}): no curves given")
    fig = figure(title, x, y, alt, id=id)
    every_x = [float(v) for c in named.values() for v in c.x]
    every_y = [float(v) for c in named.values() for part in (c.y, c.low, c.high) for v in part or ()]
    set_axis(fig, "x", x_kind, *padded(every_x, log=log_x, zero=True, share=0.03), log=log_x)
    y_range = set_axis(fig, "y", y_kind, *padded(every_y, log=log_y, zero=True, share=0.06), log=log_y)
    ends = []
    for i, (name, curve) in enumerate(named.items()):
        look = style(i)
        if curve.low is not None and curve.high is not None:
            fig.add_trace(_band(curve, look.colour))
        pairs = zip(curve.x, curve.y, strict=True)
        said = [f"{name}: {value_text(b, y_kind)} at {value_text(a, x_kind)}" for a, b in pairs]
        fig.add_trace(_line(name, curve, i, said))
        ends.append(End(name, _place(curve.x[-1], log_x), _place(curve.y[-1], log_y), look.colour))
    label_ends(fig, ends, y_range)
    return fig


def panels(
    contents: Mapping[str, Mapping[str, Sequence[float] | Sequence[Sequence[float]]]],
    title: str,
    alt: str,
    *,
    x: str = "layer",
    y: str = "score",
    id: str | None = None,
    shared: tuple[float, float] = (-1.0, 1.0),
) -> Figure:
    """Small panels side by side on one scale: a score by layer for each class, 0 being the embedding.

    `contents` maps a panel's title to {class name: scores by layer, or one such list for each sentence}.
    Several sentences are drawn thin under their mean. Raises NothingToDraw.
    """
    if not contents or not all(contents.values()):
        raise NothingToDraw(f"panels({title!r}): every panel needs at least one class of scores")
    columns = min(2, len(contents))
    rows = -(-len(contents) // columns)
    titles = [escaped(name) for name in contents]
    base = make_subplots(
        rows,
        columns,
        subplot_titles=titles,
        horizontal_spacing=0.2,
        vertical_spacing=0.2 if rows > 1 else 0.1,
    )
    fig = figure(title, alt=alt, id=id, height=130 + 190 * rows, base=base)
    for note in fig.layout.annotations:
        note.update(font={"size": 13, "color": TEXT})
    pixels = (fig.layout.height - 76 - 48) * (1 - 0.2 * (rows - 1)) / rows
    classes = list(dict.fromkeys(name for panel in contents.values() for name in panel))
    widest = 0
    for place, panel in enumerate(contents.values()):
        where = {"row": place // columns + 1, "col": place % columns + 1}
        suffix = "" if place == 0 else str(place + 1)
        ends, last = [], 0
        for name, scores in panel.items():
            each = _sentences(name, scores)
            mean = [sum(column) / len(each) for column in zip(*each, strict=True)]
            last = max(last, len(mean) - 1)
            number = classes.index(name) if len(classes) <= 4 else list(panel).index(name)
            for one in each if len(each) > 1 else ():
                fig.add_trace(_thin(one, style(number).colour), **where)
            said = [f"{name}, {x} {layer}: {score:+.2f}" for layer, score in enumerate(mean)]
            curve = Curve(range(len(mean)), mean)
            fig.add_trace(_line(name, curve, number, said, markers=False), **where)
            ends.append(End(name, len(mean) - 1, mean[-1], style(number).colour))
        set_axis(
            fig,
            "x",
            "number",
            0,
            max(last, 1),
            where=where,
            title_text=escaped(x) if where["row"] == rows else "",
        )
        y_range = set_axis(
            fig, "y", "number", *shared, where=where, title_text=escaped(y) if where["col"] == 1 else ""
        )
        label_ends(
            fig, ends, y_range, pixels=pixels, axes=(f"x{suffix}", f"y{suffix}"), widest=14, margin=False
        )
        if where["col"] == columns:
            widest = max(widest, *(min(len(name), 14) for name in panel))
    fig.update_layout(margin={"r": 24 + 7 * widest, "t": 76})
    return fig


def _check(name: str, curve: Curve) -> None:
    lengths = {len(part) for part in (curve.x, curve.y, curve.low, curve.high) if part is not None}
    if len(lengths) != 1 or 0 in lengths:
        raise NothingToDraw(
            f"curve {name!r}: x, y and the spread need the same length, at least 1; got {lengths}"
        )


def _place(value: float, log: bool) -> float:
    return math.log10(value) if log else float(value)


def _line(name: str, curve: Curve, number: int, said: Sequence[str], markers: bool = True) -> go.Scatter:
    look = style(number)
    return go.Scatter(
        x=[float(v) for v in curve.x],
        y=[float(v) for v in curve.y],
        name=escaped(name),
        mode="lines+markers" if markers else "lines",
        line={"color": look.colour, "dash": look.dash, "width": 2.5},
        marker={"symbol": look.symbol, "size": 7},
        opacity=0.45 if curve.faint else 1.0,
        customdata=[escaped(text) for text in said],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _thin(scores: Sequence[float], colour: str) -> go.Scatter:
    line: dict[str, Any] = {"color": colour, "width": 1}
    return go.Scatter(
        x=list(range(len(scores))), y=list(scores), mode="lines", line=line, opacity=0.35, hoverinfo="skip"
    )


def _band(curve: Curve, colour: str) -> go.Scatter:
    assert curve.low is not None and curve.high is not None
    forth = [float(v) for v in curve.x]
    back = [float(v) for v in reversed(curve.high)]
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return go.Scatter(
        x=forth + forth[::-1],
        y=[float(v) for v in curve.low] + back,
        fill="toself",
        fillcolor=f"rgba({red}, {green}, {blue}, 0.2)",
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
    )


def _sentences(name: str, scores: Any) -> list[list[float]]:
    """Scores as one list for each sentence; a single list stands for one sentence."""
    rows = [list(row) for row in scores] if hasattr(scores[0], "__len__") else [list(scores)]
    if not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise NothingToDraw(f"class {name!r}: every sentence needs a score for the same number of layers")
    return [[float(v) for v in row] for row in rows]
