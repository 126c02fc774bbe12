"""What one machine can do: its two roofs, and where some work stands under them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import plotly.graph_objects as go

from memlessons.show.axes import padded, set_axis
from memlessons.show.labels import LINE_PIXELS, End, label_ends, note, plot_pixels, spread
from memlessons.show.theme import TEXT, Figure, escaped, figure, style
from memlessons.units import flops_text, rate_text


class HasRates(Protocol):
    """What is drawn of a machine: rates in bytes/s and FLOP/s, (bytes, bytes/s) of growing working sets."""

    @property
    def name(self) -> str: ...
    @property
    def read_rate(self) -> float: ...
    @property
    def matmul_rate(self) -> float: ...
    @property
    def staircase(self) -> Sequence[tuple[float, float]]: ...


def roofline(
    machine: HasRates,
    points: Mapping[str, tuple[float, float]] | None = None,
    *,
    title: str = "Which roof is over your work?",
    id: str | None = None,
) -> Figure:
    """The two roofs of a machine, log against log, and where some work stands under them.

    `points` maps a name to (FLOP per byte moved, FLOP per second reached).
    """
    points = points or {}
    bandwidth, peak = machine.read_rate, machine.matmul_rate
    ridge = peak / bandwidth
    said = [f"{name} at {x:.3g} FLOP per byte, {flops_text(y)}" for name, (x, y) in points.items()]
    alt = (
        f"Roofline of {machine.name}, both axes logarithmic. Up to {ridge:.3g} FLOP per byte the limit rises "
        f"with the memory's {rate_text(bandwidth)}; beyond, it is flat at {flops_text(peak)}."
        f" {'; '.join(said)}"
    )
    axes = ("arithmetic for each byte moved (FLOP per byte)", "arithmetic per second")
    fig = figure(title, *axes, alt, id=id, height=400, subtitle=machine.name)
    across = [ridge / 64, ridge * 64, *(reuse for reuse, _ in points.values())]
    low, high = padded(across, log=True, share=0.02)
    floor = min([bandwidth * low, *(y for _, y in points.values())])
    set_axis(fig, "x", "number", low, high, log=True)
    top = max([peak, *(y for _, y in points.values())])
    heights = set_axis(fig, "y", "FLOP/s", *padded([floor, top], log=True, share=0.08), log=True)
    _roof(fig, 0, f"memory: {rate_text(bandwidth)}", [low, ridge], [bandwidth * low, peak])
    _roof(fig, 1, f"compute: {flops_text(peak)}", [ridge, high], [peak, peak])
    # The memory roof's name stands left of the slope, where there is nothing else; the other's above it.
    slope: dict[str, Any] = {"xanchor": "right", "xshift": -10, "yshift": 8}
    near = math.log10(ridge / 2.5)
    note(fig, f"memory: {rate_text(bandwidth)}", near, near + math.log10(bandwidth), style(0).colour, **slope)
    flat = math.log10(math.sqrt(ridge * high))
    note(
        fig,
        f"compute: {flops_text(peak)}",
        flat,
        math.log10(peak),
        style(1).colour,
        yanchor="bottom",
        yshift=5,
    )
    fig.add_vline(x=ridge, line={"color": TEXT, "width": 1, "dash": "dot"})
    foot: dict[str, Any] = {"xanchor": "left", "xshift": 5, "yanchor": "bottom", "yshift": 4}
    note(fig, f"ridge: {ridge:.3g}", math.log10(ridge), heights[0], **foot)
    ends = []
    for i, (name, (x, y)) in enumerate(points.items(), start=2):
        _point(fig, i, name, x, y, said[i - 2])
        ends.append(End(name, math.log10(x), math.log10(y), style(i).colour))
    label_ends(fig, _below(ends, math.log10(peak), heights, plot_pixels(fig)), heights)
    return fig


def _below(ends: Sequence[End], roof: float, heights: tuple[float, float], pixels: float) -> list[End]:
    """The same names, none on the flat roof or above it: that place is the roof's own name's."""
    scale = pixels / (heights[1] - heights[0])
    wanted = [(end.y - heights[0]) * scale for end in ends]
    free = (roof - heights[0]) * scale - 4
    places = spread(wanted, [LINE_PIXELS + 2.0] * len(ends), 0, free)
    return [end._replace(y=heights[0] + place / scale) for end, place in zip(ends, places, strict=True)]


def _roof(fig: Figure, number: int, name: str, x: Sequence[float], y: Sequence[float]) -> None:
    look = style(number)
    line = {"color": look.colour, "dash": look.dash, "width": 3}
    fig.add_trace(go.Scatter(x=x, y=y, name=name, mode="lines", line=line, hoverinfo="name"))


def _point(fig: Figure, number: int, name: str, x: float, y: float, said: str) -> None:
    look = style(number)
    fig.add_trace(
        go.Scatter(
            x=[x],
            y=[y],
            name=escaped(name),
            mode="markers",
            marker={"color": look.colour, "symbol": look.symbol, "size": 11},
            customdata=[escaped(said)],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
