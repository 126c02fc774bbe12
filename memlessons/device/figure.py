"""The roofline of a result: this device's roofs and points, and recorded devices, fainter, beside them."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from memlessons.device.recorded import Recorded
from memlessons.device.result import OURS, Point, Result
from memlessons.show.axes import set_axis
from memlessons.show.labels import End, label_ends, note
from memlessons.show.theme import TEXT, Figure, escaped, figure, style
from memlessons.units import flops_text, rate_text

WIDEST = 18
_HEIGHT, _HIGHER = 560, 720
"""Pixels, and what it takes where devices of several orders of magnitude stand beside each other."""
_FAINT = 0.45
_SIDE_BY_SIDE = 0.12
"""Points nearer than this on the axis of powers of ten have their labels in one column."""


def roofline_of(result: Result, beside: Sequence[Recorded] = ()) -> Figure:
    """Both roofs, log against log; filled points are this book's kernels, hollow ones torch's.

    A row has one colour and one symbol, and a recorded device's point has them, too: small and faint.
    """
    read, multiply = result.read.median, result.multiply.median
    lows, highs, floor, top = _ranges(result, beside)
    fig = figure(
        f"Which roof is over decode attention? {result.device}, measured {_day(result)}",
        "arithmetic for each byte moved (FLOP per byte)",
        "arithmetic per second",
        _alt(result, beside),
        height=_HIGHER if top / floor > 1e4 else _HEIGHT,
        subtitle="filled: memlessons; hollow: torch, with a dot: folded; "
        + ("faint: recorded devices" if beside else "no recorded devices here"),
    )
    set_axis(fig, "x", "number", lows, highs, log=True)
    heights = set_axis(fig, "y", "FLOP/s", floor, top, log=True)
    for one in beside:
        _recorded(fig, one, (lows, highs), result)
    ridge = multiply / read
    for i, (name, x, y) in enumerate(
        (
            (f"memory: {rate_text(read)}", [lows, ridge], [read * lows, multiply]),
            (f"compute: {flops_text(multiply)}", [ridge, highs], [multiply, multiply]),
        )
    ):
        line = {"color": TEXT, "dash": style(i).dash, "width": 3}
        fig.add_trace(go.Scatter(x=x, y=y, name=name, mode="lines", line=line, hoverinfo="name"))
    # Left of the slope there is no point of this device.
    at = math.log10(math.sqrt(lows * ridge))
    slope: dict[str, Any] = {"xanchor": "right", "xshift": -10, "yshift": 10}
    note(fig, f"memory: {rate_text(read)}", at, at + math.log10(read), **slope)
    flat: dict[str, Any] = {"xanchor": "right", "yanchor": "bottom", "yshift": 4}
    note(fig, f"compute: {flops_text(multiply)}", math.log10(highs), math.log10(multiply), **flat)
    _own(fig, result, heights)
    return fig


def _own(fig: Figure, result: Result, heights: tuple[float, float]) -> None:
    rows = list(dict.fromkeys(p.row for p in result.points))
    for p in result.points:
        look = style(rows.index(p.row))
        hollow = {OURS: "", "torch": "-open"}.get(p.who, "-open-dot")
        marker: dict[str, object] = {"color": look.colour, "symbol": look.symbol + hollow, "size": 12}
        marker["line"] = {"color": look.colour, "width": 2}
        fig.add_trace(_point(p.name, (p.intensity, p.rate), _said(p), marker))
    # A row is named at this book's point, or at torch's where that is all there is.
    named = {p.row: p for p in reversed(result.points) if p.who != OURS}
    named |= {p.row: p for p in result.points if p.who == OURS}
    ends = sorted(
        (
            End(p.row, math.log10(p.intensity), math.log10(p.rate), style(rows.index(p.row)).colour)
            for p in named.values()
        ),
        key=lambda end: end.x,
    )
    for column in _columns(ends):
        label_ends(fig, column, heights, widest=WIDEST, margin=False)


def _columns(ends: Sequence[End]) -> Iterator[list[End]]:
    """Labels whose points lie above each other: they have to make room for each other."""
    first = ends[0].x if ends else 0.0
    starts = []
    for end in ends:
        first = end.x if end.x - first > _SIDE_BY_SIDE else first
        starts.append(first)
    for _, together in groupby(zip(starts, ends, strict=True), key=lambda pair: pair[0]):
        yield [end for _, end in together]


def _recorded(fig: Figure, one: Recorded, across: tuple[float, float], result: Result) -> None:
    rows = list(dict.fromkeys(p.row for p in result.points))
    low, high = across
    ridge = high if one.multiply is None else min(max(one.multiply / one.read, low), high)
    x, y = [low, ridge], [one.read * low, one.read * ridge]
    if one.multiply is not None:
        x, y = [*x, high], [*y, one.multiply]
    line = {"color": TEXT, "dash": "dot", "width": 1.5}
    name = escaped(f"{one.name} (recorded)")
    fig.add_trace(go.Scatter(x=x, y=y, name=name, mode="lines", line=line, opacity=_FAINT, hoverinfo="name"))
    end: dict[str, Any] = {"xanchor": "right", "yanchor": "top", "yshift": -3, "opacity": 0.75}
    note(fig, f"{one.name} (recorded)", math.log10(high), math.log10(y[-1]), **end)
    for row, at in one.points.items():
        look = style(rows.index(row) if row in rows else len(rows))
        marker = {"color": look.colour if row in rows else TEXT, "symbol": look.symbol, "size": 7}
        said = f"{row}, recorded on {one.name}: {at[0]:.3g} FLOP per byte, {flops_text(at[1])}"
        trace = _point(f"{row}, {one.name} (recorded)", at, said, marker)
        trace.opacity = _FAINT
        fig.add_trace(trace)
        if row not in rows:  # nothing of this device says what it is
            place: dict[str, Any] = {"xanchor": "left", "xshift": 7, "opacity": 0.75}
            note(fig, row, math.log10(at[0]), math.log10(at[1]), **place)


def _point(name: str, at: tuple[float, float], said: str, marker: dict[str, object]) -> go.Scatter:
    hover = {"customdata": [escaped(said)], "hovertemplate": "%{customdata}<extra></extra>"}
    return go.Scatter(x=[at[0]], y=[at[1]], name=escaped(name), mode="markers", marker=marker, **hover)


def _ranges(result: Result, beside: Sequence[Recorded]) -> tuple[float, float, float, float]:
    """(lowest, highest FLOP per byte, lowest, highest FLOP/s) that hold all points and all ridges."""
    spots = [(p.intensity, p.rate) for p in result.points] + [at for r in beside for at in r.points.values()]
    roofs = [(result.read.median, result.multiply.median)]
    roofs += [(r.read, r.multiply) for r in beside if r.multiply is not None]
    ridges = [multiply / read for read, multiply in roofs]
    across, up = [x for x, _ in spots] + ridges, [y for _, y in spots] + [y for _, y in roofs]
    low, high = min(across) / 2, max(across) * 4
    return low, high, min([*up, result.read.median * low]) / 1.5, max(up) * 2


def _day(result: Result) -> str:
    return str(result.provenance.get("date", ""))[:10]


def _said(p: Point) -> str:
    return f"{p.name}: {p.intensity:.3g} FLOP per byte, {flops_text(p.rate)}"


def _alt(result: Result, beside: Sequence[Recorded]) -> str:
    roofs = f"{rate_text(result.read.median)} and {flops_text(result.multiply.median)}"
    said = "; ".join(_said(p) for p in result.points)
    others = "; ".join(
        f"{r.name}: {rate_text(r.read)}" + (f" and {flops_text(r.multiply)}" if r.multiply else "")
        for r in beside
    )
    return (
        f"Roofline of {result.device}, both axes logarithmic. Its roofs are {roofs}, and meet at "
        f"{result.ridge.median:.3g} FLOP per byte. {said}."
        + (f" Recorded, fainter: {others}." if others else "")
    )
