"""Axes in the units of the book: bytes in powers of two, tokens as 1k and 8k, seconds, rates.

Ticks are worked out here and given as text: plotly's own prefixes know neither KiB nor 8k.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

from memlessons.show.theme import Figure
from memlessons.show.values import tokens_text, value_text

Kind = Literal["bytes", "tokens", "seconds", "bytes/s", "FLOP/s", "number"]

MOST_TICKS = 7


def tick_text(value: float, kind: Kind) -> str:
    """A tick's label: as short as its unit allows, "1 MiB", "8k", "10 ms", "20 GB/s"."""
    if value == 0:
        return "0"
    if kind == "tokens":
        return tokens_text(value)
    if kind == "number":
        return f"{value:,.10g}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3g}"
    number, _, unit = value_text(value, kind).partition(" ")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return f"{number} {unit}".strip()


def ticks(low: float, high: float, kind: Kind, *, log: bool = False) -> list[float]:
    """At most about seven round values from `low` to `high`: powers of two for bytes and tokens."""
    binary = kind in ("bytes", "tokens")
    if log:
        return _log_ticks(low, high, 2 if binary else 10)
    span = (high - low) / (MOST_TICKS - 1)
    if span <= 0:
        return [low]
    if binary:
        step = 2.0 ** max(0, math.ceil(math.log2(span)))
    else:
        scale = 10.0 ** math.floor(math.log10(span))
        step = next(s * scale for s in (1, 2, 5, 10) if s * scale >= span * 0.999)
    first = math.ceil(low / step - 1e-9)
    count = math.floor((high - low) / step + 1e-9) + 1
    return [
        round((first + i) * step, 12)
        for i in range(count)
        if (first + i) * step <= high * (1 + 1e-12) + 1e-15
    ]


def _log_ticks(low: float, high: float, base: int) -> list[float]:
    first, last = math.floor(math.log(low, base) + 1e-9), math.ceil(math.log(high, base) - 1e-9)
    decades = last - first + 1
    step = -(-decades // MOST_TICKS)
    values = [float(base) ** e for e in range(first, last + 1, step)]
    if base == 10 and decades <= 3:
        values = [m * v for v in values for m in (1.0, 2.0, 5.0)]
    return [v for v in values if low * 0.999 <= v <= high * 1.001] or [low, high]


def set_axis(
    fig: Figure,
    which: Literal["x", "y"],
    kind: Kind,
    low: float,
    high: float,
    *,
    log: bool = False,
    where: dict[str, int] | None = None,
    **more: Any,
) -> tuple[float, float]:
    """Give one axis its range and its ticks in `kind`'s unit; returns the range in axis coordinates.

    `where` is {"row": r, "col": c} in a figure of subplots; on a log axis coordinates are powers of ten.
    """
    at = ticks(low, high, kind, log=log)
    span = (math.log10(low), math.log10(high)) if log else (low, high)
    update = fig.update_xaxes if which == "x" else fig.update_yaxes
    update(
        type="log" if log else "linear",
        range=list(span),
        tickmode="array",
        tickvals=at,
        ticktext=[tick_text(v, kind) for v in at],
        **more,
        **(where or {}),
    )
    return span


def padded(
    values: Sequence[float], *, log: bool = False, zero: bool = False, share: float = 0.05
) -> tuple[float, float]:
    """A range around `values` with a margin of `share` of it; from 0 on a linear axis if `zero`."""
    low, high = min(values), max(values)
    if log:
        margin = (high / low) ** share if high > low else 1.5
        return low / margin, high * margin
    margin = (high - low) * share or abs(high) * share or 1.0
    return (0.0 if zero and low >= 0 else low - margin), high + margin
