"""What a model remembers, drawn to scale: one row for each layer, as long as its bytes."""

import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from memlessons.plan import LayerGroup, MemoryPlan, Weights
from memlessons.show.axes import set_axis, tick_text, ticks
from memlessons.show.labels import LINE_PIXELS, note, plot_pixels, spread
from memlessons.show.theme import MARGIN_TOP, TEXT, Figure, escaped, figure, pattern, style
from memlessons.units import bytes_text

_THICK = 0.88
"""Of a row: every bar has the same, or area would lie. Plotly's own choice differs from trace to trace."""


def memory_picture(
    plan: MemoryPlan,
    context: int | Sequence[int],
    *,
    weights: Weights | None = None,
    encoder_tokens: int = 0,
    title: str = "",
    id: str | None = None,
) -> Figure:
    """The bytes each layer holds at `context` tokens (one length, or one for each sequence of a batch).

    Rows are layers, first on top, all of one thickness: length and area are both to scale, and the rows
    add up to `plan.bytes(context)` exactly. Layers that keep the same thing share a colour, a pattern
    and a label. `weights` go to the left on the same scale, divided evenly over the rows.
    """
    groups = plan.groups()
    held = [plan.layer_bytes(i, context, encoder_tokens) for i in range(len(plan.layers))]
    total = sum(held)
    count = len(held)
    tokens = (
        f"{context:,} tokens"
        if isinstance(context, int)
        else f"{len(context)} sequences, {sum(context):,} tokens"
    )
    parts = [f"{group.name}: {bytes_text(sum(held[i] for i in group.indices))}" for group in groups]
    alt = f"Memory of {count} layers at {tokens}, one bar a layer, to scale: {'; '.join(parts)}."
    alt += f" In all {bytes_text(total)}."
    if weights is not None:
        alt += f" To the left, on the same scale, the weights: {bytes_text(weights.stored_bytes)}."
    height = min(520, max(260, 110 + 9 * count, 110 + 40 * len(groups)))
    heading = title or f"{tokens}: {bytes_text(total)} to remember"
    fig = figure(heading, "bytes in one layer", "layer", alt, id=id, height=height)
    for number, group in enumerate(groups):
        fig.add_trace(_bars(group, held, number))
    each = 0.0 if weights is None else weights.stored_bytes / count
    if weights is not None:
        fig.add_trace(_weight_bars(weights, each, count))
    longest = max(held) or 1
    # A hair of room at both ends, so that the longest bar does not touch the labels.
    set_axis(fig, "x", "bytes", -each * 1.03, longest * 1.03)
    _both_ways(fig, each, longest)
    fig.update_yaxes(range=[count - 0.5, -0.5], tickvals=_numbers(count), zeroline=False, showgrid=False)
    fig.update_layout(bargap=0, barmode="overlay", margin_b=56)
    if weights is not None:
        fig.update_layout(margin_t=MARGIN_TOP + 20)
        _name_sides(fig, weights.stored_bytes, total)
    _label(fig, groups, held, longest * 1.03)
    return fig


def _bars(group: LayerGroup, held: Sequence[int], number: int) -> go.Bar:
    look = style(number)
    return go.Bar(
        orientation="h",
        x=[held[i] for i in group.indices],
        y=list(group.indices),
        width=_THICK,
        name=escaped(group.name),
        marker={"color": look.colour, "line": {"width": 0}, "pattern": pattern(look.pattern)},
        customdata=[f"layer {i}: {bytes_text(held[i])}<br>{escaped(group.name)}" for i in group.indices],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _weight_bars(weights: Weights, each: float, count: int) -> go.Bar:
    return go.Bar(
        orientation="h",
        x=[-each] * count,
        y=list(range(count)),
        width=_THICK,
        name="weights",
        marker={"color": TEXT, "line": {"width": 0}, "pattern": pattern("\\")},
        hovertemplate=f"weights: {bytes_text(weights.stored_bytes)} in all<extra></extra>",
    )


def _both_ways(fig: Figure, left: float, right: float) -> None:
    """The same ticks to both sides of 0, none of them negative."""
    at = ticks(0, max(left, right), "bytes")
    values = [-v for v in reversed(at[1:]) if v <= left] + [v for v in at if v <= right]
    # One side may be far shorter than a step: 0 alone is then the honest tick.
    fig.update_xaxes(tickvals=values, ticktext=[tick_text(abs(v), "bytes") for v in values])


def _numbers(count: int) -> list[int]:
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100) if count / s <= 8 or s == 100)
    return list(range(0, count, step))


def _label(fig: Figure, groups: Sequence[LayerGroup], held: Sequence[int], edge: float) -> None:
    """Names right of all bars, at the height of their layers, in the colours of their layers."""
    pixels, count, total = plot_pixels(fig), len(held), sum(held)
    texts = []
    for group in groups:
        size = sum(held[i] for i in group.indices)
        share = f" ({size / total:.0%})" if total and len(groups) > 1 else ""
        texts.append([*textwrap.wrap(group.name, 28), f"{bytes_text(size)}{share}"])
    wanted = [(sum(g.indices) / len(g.indices) + 0.5) / count * pixels for g in groups]
    places = spread(wanted, [len(lines) * LINE_PIXELS + 4.0 for lines in texts], 0, pixels)
    for number, (lines, want, got) in enumerate(zip(texts, wanted, places, strict=True)):
        name = "<br>".join(escaped(line) for line in lines[:-1])
        fig.add_annotation(
            x=edge,
            y=want / pixels * count - 0.5,
            yshift=want - got,
            xanchor="left",
            xshift=8,
            yanchor="middle",
            align="left",
            font={"color": style(number).colour},
            text=f"{name}<br><b>{escaped(lines[-1])}</b>",
        )
    fig.update_layout(margin_r=24 + 7 * max(len(line) for lines in texts for line in lines))


def _name_sides(fig: Figure, weights: int, memory: int) -> None:
    """What lies left and right of 0, written above it."""
    above: dict[str, Any] = {"yanchor": "bottom", "yshift": 4}
    note(fig, f"← weights: {bytes_text(weights)}", 0, -0.5, xanchor="right", xshift=-6, **above)
    note(fig, f"memory: {bytes_text(memory)} →", 0, -0.5, xanchor="left", xshift=6, **above)
