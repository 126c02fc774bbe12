"""How fast memory is at every size of working set: the staircase of one machine."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import plotly.graph_objects as go

from memlessons.show.axes import padded, set_axis
from memlessons.show.curves import NothingToDraw
from memlessons.show.labels import End, label_ends, note
from memlessons.show.rooflines import HasRates
from memlessons.show.theme import COLOURS, TEXT, Figure, escaped, figure
from memlessons.units import bytes_text, rate_text

Points = list[tuple[float, float]]


def staircase(
    machine: HasRates,
    *,
    caches: Sequence[tuple[str, float]] | None = None,
    recorded: Sequence[HasRates] = (),
    title: str = "How fast can this machine read a byte?",
    id: str = "fig-00",
) -> Figure:
    """Read rate against working set: near memories are fast and small, and each is one tread.

    Treads are found in the measured rates. `caches` are names and sizes in bytes, ("L2", 2**20); if not
    given, those the machine lists itself. `recorded` machines are drawn faint; where one of them is far
    faster, the rates are on a logarithmic scale. Raises NothingToDraw for fewer than two points.
    """
    points = _points(machine)
    if len(points) < 2:
        raise NothingToDraw(f"staircase({machine.name!r}): the machine's staircase has {len(points)} points")
    # On a CPU one core reads, so a cache counts as large as one core has it.
    own = getattr(machine, "caches", None) or ()
    known = [(name, size) for name, size, *_ in (own if caches is None else caches)]
    sizes, rates = [s for s, _ in points], [r for _, r in points]
    steps = [(sizes[a], sizes[b - 1], rates[a:b]) for a, b in treads(rates)]
    spoken = (f"about {rate_text(median(r))} from {bytes_text(a)} to {bytes_text(b)}" for a, b, r in steps)
    alt = (
        f"Read rate of {machine.name} against the size of the working set, a staircase: {'; '.join(spoken)}."
    )
    reader = ", one core reading" if getattr(machine, "threads", 0) else ""
    axes = ("working set: bytes read again and again", "read per second")
    fig = figure(title, *axes, alt, id=id, height=420, subtitle=f"{machine.name}{reader}")

    others = {f"{other.name} (recorded)": _points(other) for other in recorded if other.staircase}
    all_points = [*points, *(point for other in others.values() for point in other)]
    low, high = padded([s for s, _ in all_points], log=True, share=0.06)
    top = max(r for _, r in all_points)
    log = top > 6 * max(rates)
    bottom = min(r for _, r in all_points) / 1.5 if log else 0.0
    top *= 1.8 if log else 1.28
    set_axis(fig, "x", "bytes", low, high, log=True)
    y_range = set_axis(fig, "y", "bytes/s", bottom, top, log=log)
    height = math.log10 if log else float

    for name, other in others.items():
        _line(fig, other, name, TEXT, faint=True)
    for a, b, tread in steps:
        left, right = max(a / math.sqrt(2), low), min(b * math.sqrt(2), high)
        _tread(fig, left, right, median(tread))
        middle, over = math.log10(math.sqrt(left * right)), height(max(tread))
        note(fig, _tread_name(a, b, tread, known), middle, over, COLOURS[1], yanchor="bottom", yshift=7)
    _line(fig, points, machine.name, COLOURS[0])
    for name, size in known:
        if low < size < high:
            fig.add_vline(x=size, line={"color": TEXT, "width": 1, "dash": "dot"})
            head: dict[str, Any] = {"xanchor": "left", "xshift": 3, "yanchor": "top"}
            note(fig, f"{name}: {bytes_text(size)}", math.log10(size), y_range[1], **head)
    ends = [End(name, math.log10(other[-1][0]), height(other[-1][1]), TEXT) for name, other in others.items()]
    label_ends(fig, ends, y_range)
    return fig


def treads(rates: Sequence[float], most: int = 4, cost: float = 0.25) -> list[tuple[int, int]]:
    """Ranges [a, b) of nearly equal rates: at most `most` of them, the fewest that fit.

    Exact dynamic programme: distance is |log(rate / median of its tread)|, and each tread more must
    earn `cost` (about a quarter of a rate, summed over its points).
    """
    logs = [math.log(max(rate, 1e-9)) for rate in rates]

    def misfit(a: int, b: int) -> float:
        middle = median(logs[a:b])
        return sum(abs(v - middle) for v in logs[a:b])

    best: list[dict[int, tuple[float, list[tuple[int, int]]]]] = [{0: (0.0, [])}]
    for _ in range(most):
        row: dict[int, tuple[float, list[tuple[int, int]]]] = {}
        for a, (spent, parts) in best[-1].items():
            for b in range(a + 1, len(logs) + 1):
                total = spent + misfit(a, b) + cost
                if b not in row or total < row[b][0]:
                    row[b] = (total, [*parts, (a, b)])
        best.append(row)
    return min((row[len(logs)] for row in best if len(logs) in row), key=lambda found: found[0])[1]


def _points(machine: HasRates) -> Points:
    return sorted((float(size), float(rate)) for size, rate in machine.staircase)


def _tread_name(
    first: float, last: float, rates: Sequence[float], caches: Sequence[tuple[str, float]]
) -> str:
    """The cache that holds the middle of a tread, "memory" beyond the last one, or only the rate."""
    rate = rate_text(median(rates))
    if not caches:
        return rate
    middle = math.sqrt(first * last)
    home = next((name for name, size in sorted(caches, key=lambda c: c[1]) if middle <= size), "memory")
    return f"{home}: {rate}"


def _tread(fig: Figure, left: float, right: float, rate: float) -> None:
    line = {"color": COLOURS[1], "width": 9}
    more: dict[str, Any] = {"name": "tread", "mode": "lines", "hoverinfo": "skip", "opacity": 0.45}
    fig.add_trace(go.Scatter(x=[left, right], y=[rate, rate], line=line, **more))


def _line(fig: Figure, points: Points, name: str, colour: str, faint: bool = False) -> None:
    said = [escaped(f"{name}: {rate_text(rate)} at {bytes_text(size)}") for size, rate in points]
    fig.add_trace(
        go.Scatter(
            x=[size for size, _ in points],
            y=[rate for _, rate in points],
            name=escaped(name),
            mode="lines" if faint else "lines+markers",
            opacity=0.5 if faint else 1.0,
            line={"color": colour, "width": 1.5 if faint else 2.5, "dash": "dot" if faint else "solid"},
            marker={"size": 7, "symbol": "circle"},
            customdata=said,
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
