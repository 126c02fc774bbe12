"""Two pictures of the whole book: the four tiers of memory, and the three things that can be paid with."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import plotly.graph_objects as go

from memlessons.errors import MemlessonsError
from memlessons.show.theme import COLOURS, TEXT, Figure, escaped, figure, pattern
from memlessons.units import flops_text, rate_text


class UnknownTier(MemlessonsError, ValueError):
    """A tier was named that is none of the four."""


class Tier(NamedTuple):
    """One tier of memory: its name, what lives there, how long, and how it is drawn."""

    name: str
    holds: str
    life: str
    colour: str
    pattern: str


TIERS = (
    Tier("instant", "the token being written", "one step", COLOURS[1], ""),
    Tier("local", "a short window of neighbours", "a few steps", COLOURS[4], "/"),
    Tier("structural", "the whole text, one copy for many heads and layers", "one answer", COLOURS[0], "x"),
    Tier("persistent", "what earlier turns have in common", "many turns", COLOURS[2], "."),
)
_TURNS = (7, 8, 9)
_WINDOW = 4
_GAP = 0.7


def tiers_picture(
    *, mark: str | None = None, sizes: Sequence[str] = (), title: str = "", id: str | None = None
) -> Figure:
    """The four tiers of memory over one conversation: which tokens each of them holds, and for how long.

    `mark` is the tier a chapter is about (the others step back); `sizes` are texts beside the names,
    such as the reader's own bytes. Raises UnknownTier.
    """
    names = [tier.name for tier in TIERS]
    if mark is not None and mark not in names:
        raise UnknownTier(f"tiers_picture(mark={mark!r}): the tiers are {', '.join(names)}")
    alt = "Four rows over the tokens of three turns of one conversation. " + " ".join(
        f"{tier.name}: {tier.holds}, for {tier.life}." for tier in TIERS
    )
    alt += f" The tier {mark} is marked." if mark else ""
    fig = figure(title or "Where can a memory live, and for how long?", alt=alt, id=id, height=330)
    places = [i + _GAP * turn for i, turn in enumerate(t for t, n in enumerate(_TURNS) for _ in range(n))]
    total = len(places)
    held = ((total - 1, total), (total - _WINDOW, total), (0, total), (0, total - _TURNS[-1]))
    for row, (tier, (first, last)) in enumerate(zip(TIERS, held, strict=True)):
        marked = mark in (None, tier.name)
        fig.add_trace(_cells(tier, row, range(first, last), places, 1.0 if marked else 0.35))
        size = f" <b>{escaped(sizes[row])}</b>" if row < len(sizes) else ""
        # Words never fade: only the cells of the other tiers do.
        name = (
            f'<b><span style="color:{tier.colour}">{"▶ " if mark == tier.name else ""}{tier.name}</span></b>'
        )
        text = f"{name}{size}: {escaped(tier.holds)}, for {escaped(tier.life)}"
        fig.add_annotation(x=-0.4, y=row - 0.12, xanchor="left", yanchor="bottom", yshift=3, text=text)
    start = 0
    for turn, count in enumerate(_TURNS):
        middle = (places[start] + places[start + count - 1]) / 2
        words = "this turn" if turn == len(_TURNS) - 1 else f"turn {turn + 1}"
        fig.add_annotation(x=middle, y=len(TIERS) - 0.65, yanchor="top", text=words)
        start += count
    fig.update_xaxes(visible=False, range=[-0.6, places[-1] + 0.6])
    fig.update_yaxes(visible=False, range=[len(TIERS) - 0.35, -0.55])
    fig.update_layout(bargap=0, barmode="overlay", margin={"l": 8, "r": 8, "b": 8, "t": 44})
    return fig


class HasThreeRates(Protocol):
    """The three rates a triangle is drawn with, in FLOP/s and bytes/s."""

    @property
    def name(self) -> str: ...
    @property
    def matmul_rate(self) -> float: ...
    @property
    def read_rate(self) -> float: ...
    @property
    def copy_rate(self) -> float: ...


def triangle(
    machine: HasThreeRates,
    *,
    communication: tuple[str, float] | None = None,
    title: str = "",
    id: str | None = None,
) -> Figure:
    """Compute, device memory and communication with one machine's rates, and their prices in each other.

    `communication` is (what, bytes/s), such as a link to a second device or to the host; without one,
    the machine's copy from memory to memory stands in, and says so.
    """
    link, link_rate = communication or ("copying within this machine", machine.copy_rate)
    corners = (
        (
            "compute",
            flops_text(machine.matmul_rate),
            "multiply and add",
            0.0,
            math.sqrt(3) / 2,
            "middle center",
        ),
        ("device memory", rate_text(machine.read_rate), "read what is kept here", -0.5, 0.0, "middle center"),
        ("communication", rate_text(link_rate), link, 0.5, 0.0, "middle center"),
    )
    flop_byte, flop_sent = machine.matmul_rate / machine.read_rate, machine.matmul_rate / link_rate
    read_sent = machine.read_rate / link_rate
    alt = (
        f"A triangle of what can be paid with on {machine.name}: "
        + "; ".join(f"{name} {rate} ({what})" for name, rate, what, *_ in corners)
        + f". In the time of one byte read: {flop_byte:.3g} FLOP; of one byte sent: {flop_sent:.3g} FLOP, "
        f"or {read_sent:.3g} bytes read."
    )
    fig = figure(
        title or "Three corners: what does one cost in the others?",
        alt=alt,
        id=id,
        height=370,
        subtitle=machine.name,
    )
    ring = [*corners, corners[0]]
    fig.add_trace(
        go.Scatter(
            x=[c[3] for c in ring],
            y=[c[4] for c in ring],
            mode="lines",
            hoverinfo="skip",
            line={"color": TEXT, "width": 2},
        )
    )
    for i, (name, rate, what, x, y, _) in enumerate(corners):
        fig.add_trace(
            go.Scatter(
                x=[x], y=[y], name=name, mode="markers", customdata=[escaped(f"{name}: {rate}, {what}")],
                hovertemplate="%{customdata}<extra></extra>",
                marker={"size": 18, "color": COLOURS[i], "symbol": ("circle", "square", "diamond")[i]},
            )
        )  # fmt: skip
        top = i == 0
        fig.add_annotation(
            x=x,
            y=y,
            yanchor="bottom" if top else "top",
            yshift=14 if top else -14,
            font={"color": COLOURS[i]},
            text=f"<b>{name}</b>: {escaped(rate)}<br>{escaped(what)}",
        )
    middle = math.sqrt(3) / 4
    trades = (
        (-0.25, middle, "right", -10, f"one byte read<br>= {flop_byte:.3g} FLOP"),
        (0.25, middle, "left", 10, f"one byte sent<br>= {flop_sent:.3g} FLOP"),
        (0.0, 0.0, "center", 0, f"one byte sent = {read_sent:.3g} bytes read"),
    )
    for x, y, anchor, shift, text in trades:
        fig.add_annotation(
            x=x, y=y, xanchor=anchor, xshift=shift, yshift=0 if y else 12, align="left", text=text
        )
    fig.update_xaxes(visible=False, range=[-0.95, 0.95])
    fig.update_yaxes(visible=False, range=[-0.3, 1.14])
    fig.update_layout(margin={"l": 8, "r": 8, "b": 8, "t": 44})
    return fig


def _cells(tier: Tier, row: int, held: range, places: Sequence[float], shown: float) -> go.Bar:
    """One row of tokens; those the tier does not hold are outlines."""
    inside = [token in held for token in range(len(places))]
    return go.Bar(
        x=list(places),
        y=[0.4] * len(places),
        base=[row - 0.1] * len(places),
        width=0.82,
        name=tier.name,
        opacity=shown,
        marker={
            "color": [tier.colour if yes else "rgba(0,0,0,0)" for yes in inside],
            "line": {"color": [tier.colour if yes else TEXT for yes in inside], "width": 0.6},
            "pattern": {**pattern(""), "shape": [tier.pattern if yes else "" for yes in inside]},
        },
        hovertemplate=f"{tier.name}: {escaped(tier.holds)}<extra></extra>",
    )
