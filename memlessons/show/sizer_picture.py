"""The sizer's picture: what is held against the card, and what one step reads against the context.

Every state has the same traces in the same order, so that a live figure is changed and never redrawn.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from memlessons.show.axes import set_axis
from memlessons.show.bars import segment, segment_labels
from memlessons.show.labels import End, label_ends
from memlessons.show.sizer_numbers import Sizing, size
from memlessons.show.sizer_state import SizerState
from memlessons.show.sizer_view import caption, explain, verdict
from memlessons.show.theme import FONT_SIZE, TEXT, Figure, Style, describe, escaped, figure, style
from memlessons.units import bytes_text

HEIGHT = 440
_TOP, _BOTTOM, _RIGHT = 60, 48, 84
_SPLIT, _GAP = 0.26, 0.2
"""Of the height between the margins: the upper panel's, and the room between the two."""
_PANEL_PIXELS = (HEIGHT - _TOP - _BOTTOM) * (1 - _SPLIT - _GAP)
_BEYOND = 8
"""How many times the longest context is drawn: most crossings that are out of reach lie there."""

WEIGHTS, MEMORY = style(0), style(1)
_FAINT = 0.45


def sizer_figure(state: SizerState, *, id: str | None = None) -> Figure:
    """Two panels of one state: bytes held, as bars beside the card's; bytes of a step, against context.

    Above, weights and K and V stand end to end over the card's memory, all to one scale. Below, both axes
    are logarithmic: flat weights, K and V that rise and are faint beyond what the model was trained to
    read, a mark where they cross, and the context of the state.
    """
    s = size(state)
    base = make_subplots(2, 1, row_heights=[_SPLIT, 1 - _SPLIT - _GAP], vertical_spacing=_GAP)
    fig = figure(caption(state), alt="bars and lines", id=id, height=HEIGHT, base=base)
    describe(fig, _words(state, s))
    _held(fig, state, s)
    _read(fig, state, s)
    fig.update_layout(barmode="overlay", margin={"t": _TOP, "b": _BOTTOM, "r": _RIGHT, "l": 84})
    return fig


def _held(fig: Figure, state: SizerState, s: Sizing) -> None:
    longest = max(s.needed_bytes, s.card_bytes)
    parts = [("weights", s.weight_bytes), ("K and V", s.kv_bytes)]
    fig.add_trace(segment("weights", 0, 0, s.weight_bytes, WEIGHTS), row=1, col=1)
    fig.add_trace(segment("K and V", 0, s.weight_bytes, s.kv_bytes, MEMORY), row=1, col=1)
    room = segment(state.card, 1, 0, s.card_bytes, WEIGHTS)
    # Only an outline: room is what it is, and words stand in it.
    room.marker = {"color": "rgba(0,0,0,0)", "line": {"color": TEXT, "width": 1.5}}
    fig.add_trace(room, row=1, col=1)
    above: dict[str, Any] = {"yanchor": "bottom", "yshift": 1}
    for look, (centre, shift, text) in zip((WEIGHTS, MEMORY), segment_labels(parts, longest), strict=True):
        _write(fig, text, centre, -0.21, look.colour, xshift=shift, **above)
    # From its left end: a card too small may be a stub beside what it should hold.
    inside: dict[str, Any] = {"xanchor": "left", "xshift": 8}
    _write(fig, f"{bytes_text(s.card_bytes)}: {verdict(s)}", 0, 1, TEXT, **inside)
    where = {"row": 1, "col": 1}
    set_axis(fig, "x", "bytes", 0, longest * 1.02, where=where)
    fig.update_yaxes(
        range=[1.42, -0.7], tickvals=[0, 1], ticktext=["held", "card"], showgrid=False, ticks="", **where
    )


def _read(fig: Figure, state: SizerState, s: Sizing) -> None:
    contexts, one = _curve(state.preset, state.key_format, state.value_format)
    memory = [state.batch * n for n in one]
    known = sum(n <= s.longest_context for n in contexts)
    first = 0 if s.context < 16 else contexts.index(16)
    low, high = contexts[first], contexts[-1]
    flat = [s.step_weight_bytes] * 2
    _line(fig, "weights", [low, high], flat, WEIGHTS)
    _line(fig, "K and V", contexts[first:known], memory[first:known], MEMORY)
    _line(fig, "K and V", contexts[known - 1 :], memory[known - 1 :], MEMORY, _FAINT)
    crossing = s.step_crossing if s.step_crossing is not None and low <= s.step_crossing <= high else None
    met = [] if crossing is None else [crossing]
    _marks(fig, "crossing", met, [s.step_weight_bytes] * len(met), "circle-open", TEXT)
    now = [s.step_weight_bytes, s.step_kv_bytes]
    _marks(fig, "this context", [s.context] * 2, now, "circle", [WEIGHTS.colour, MEMORY.colour])
    where = {"row": 2, "col": 1}
    set_axis(fig, "x", "tokens", low, high, log=True, where=where, title_text="context (tokens)")
    # In strides of 32, so that the axis stands still while a control is moved.
    lowest = 32.0 ** math.floor(math.log(min(one[first], s.step_weight_bytes), 32))
    highest = 32.0 ** math.ceil(math.log(max(memory[-1], s.step_weight_bytes), 32))
    heights = set_axis(
        fig, "y", "bytes", lowest, highest, log=True, where=where, title_text="bytes of a step"
    )
    ends = [
        End("weights", math.log10(high), math.log10(s.step_weight_bytes), WEIGHTS.colour),
        End("K and V", math.log10(high), math.log10(memory[-1]), MEMORY.colour),
    ]
    label_ends(fig, ends, heights, pixels=_PANEL_PIXELS, axes=("x2", "y2"), margin=False)
    if crossing is not None:
        _name_crossing(fig, crossing, s)


def _name_crossing(fig: Figure, crossing: int, s: Sizing) -> None:
    """Above left of the mark: the rising line comes from below and leaves to the right."""
    at = (math.log10(crossing), math.log10(s.step_weight_bytes))
    place: dict[str, Any] = {"xanchor": "right", "xshift": -8, "yanchor": "bottom", "yshift": 6}
    _write(fig, f"equal at {crossing:,} tokens", *at, TEXT, axes=("x2", "y2"), **place)


# One for each model and pair of formats; moving a control of length or batch asks again and again.
@lru_cache(maxsize=32)
def _curve(preset: str, key_format: str, value_format: str) -> tuple[list[int], list[int]]:
    """Contexts, 4 an octave, and what one reader's step reads at each."""
    state = SizerState(preset, key_format=key_format, value_format=value_format)
    plan, longest = state.plan(), state.model.longest_context
    octaves = math.log2(longest * _BEYOND)
    steps = {round(2 ** (i / 4)) for i in range(math.ceil(octaves * 4))}
    contexts = sorted({n for n in steps if n < longest * _BEYOND} | {16, longest, longest * _BEYOND})
    return contexts, [plan.bytes_read(n) for n in contexts]


def _line(
    fig: Figure, name: str, x: Sequence[float], y: Sequence[float], look: Style, opacity: float = 1.0
) -> None:
    said = [f"{name}: {bytes_text(b)} at {a:,} tokens" for a, b in zip(x, y, strict=True)]
    fig.add_trace(
        go.Scatter(
            x=list(x),
            y=list(y),
            name=name,
            mode="lines",
            line={"color": look.colour, "dash": look.dash, "width": 2.5},
            opacity=opacity,
            customdata=said,
            hovertemplate="%{customdata}<extra></extra>",
        ),
        row=2,
        col=1,
    )


def _marks(fig: Figure, name: str, x: Sequence[float], y: Sequence[float], symbol: str, colour: Any) -> None:
    marker = {"symbol": symbol, "size": 11, "color": colour, "line": {"width": 2}}
    if symbol == "circle":
        marker["line"] = {"width": 0}
    said = [f"{name}, {a:,} tokens: {bytes_text(b)}" for a, b in zip(x, y, strict=True)]
    hover: dict[str, Any] = {"customdata": said, "hovertemplate": "%{customdata}<extra></extra>"}
    points = go.Scatter(x=list(x), y=list(y), name=name, mode="markers", marker=marker, **hover)
    fig.add_trace(points, row=2, col=1)


def _write(
    fig: Figure,
    text: str,
    x: float,
    y: float,
    colour: str,
    axes: tuple[str, str] = ("x", "y"),
    **place: Any,
) -> None:
    font = {"color": colour, "size": FONT_SIZE}
    fig.add_annotation(
        x=x, y=y, xref=axes[0], yref=axes[1], text=escaped(text), showarrow=False, font=font, **place
    )


def _words(state: SizerState, s: Sizing) -> str:
    return (
        "Two panels. Above, to one scale, the weights and the K and V of all readers end to end, and below "
        "them the memory of the card. Below, both axes logarithmic, the bytes that one decode step reads "
        f"against the context: flat weights, rising K and V. {explain(state)}"
    )
