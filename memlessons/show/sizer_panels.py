"""The three panels of the sizer's picture, as plain values: bars, lines, words and axes.

Every state has the same traces in the same order, so that a live figure is changed and never redrawn.
Nothing is told by colour alone: each bar stands in a row with its name, each line has its name at its end.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from memlessons.show.labels import LINE_PIXELS, spread
from memlessons.show.sizer_shapes import Values, axis, bars, line, marks, name_axis, word
from memlessons.show.sizer_words import times_text, tokens, verdict
from memlessons.show.theme import TEXT, Style, style
from memlessons.sizing import Answer
from memlessons.sizing.drawn import SHORTEST, Piece, StepCurve
from memlessons.sizing.whatif import WaterfallStep
from memlessons.units import bytes_text

STEP_PIXELS = 170.0
"""Height of the panel of a step."""
WEIGHTS, CACHE = style(0), style(1)
_ENGINE, _FREE = Style(TEXT, "solid", "circle", "/"), Style(TEXT, "solid", "circle", ".")
_FAINT = 0.45
_INVITATION = "nothing is changed yet: add a change, and see what it saves"


class Panel(NamedTuple):
    """Traces, words and the two axes of one panel, in the names of its own axes; `rows` of bars, if any."""

    traces: list[Values]
    words: list[Values]
    x: Values
    y: Values
    rows: int = 0


def held_panel(found: Answer, parts: Sequence[Piece]) -> Panel:
    """What one card must hold, piece after piece, over the card itself, all to one scale."""
    total, card = sum(part.bytes for part in parts), found.card_bytes or 0
    starts = [sum(part.bytes for part in parts[:i]) for i in range(len(parts))]
    looks = _looks(parts)
    names = [part.name for part in parts]
    drawn = bars("held", names, starts, [part.bytes for part in parts], looks)
    room = bars("card", ["card"], [0], [card], [WEIGHTS], first=len(parts))
    # Only an outline: room is what it is, and words stand in it.
    room["marker"] = {"color": "rgba(0,0,0,0)", "line": {"color": TEXT, "width": 1.5}}
    ends = zip(starts, parts, looks, strict=True)
    words = [word(bytes_text(p.bytes), s + p.bytes, i, look.colour) for i, (s, p, look) in enumerate(ends)]
    words.append(word(verdict(found), 0, len(parts), TEXT))
    longest = max(total, card, 1)
    q = found.question
    card_name = "card" if q.card is None else q.card.name
    label = card_name if q.tp == 1 else f"each {card_name}"
    x, y = axis("bytes", 0, longest), name_axis([*names, label])
    return Panel([drawn, room], words, x, y, rows=len(parts) + 1)


def step_panel(curve: StepCurve, context: int, crossing: int | None) -> Panel:
    """Bytes that one decode step reads against the context, both logarithmic, and where the two are equal."""
    first = sum(n < min(SHORTEST, context) for n in curve.contexts)
    contexts, known = curve.contexts[first:], curve.known - first
    low, high = contexts[0], contexts[-1]
    weights, cache = curve.weight_bytes, [max(n, 1) for n in curve.memory_bytes[first:]]
    flat = [] if weights is None else [weights] * 2
    met = [] if crossing is None or weights is None or not low <= crossing <= high else [crossing]
    heights = [*flat, cache[0], cache[-1]]
    # In strides of 32, so that the axis stands still while a control is moved.
    y_low = 32.0 ** math.floor(math.log(min(heights), 32))
    y_high = 32.0 ** max(math.ceil(math.log(max(heights), 32)), math.floor(math.log(min(heights), 32)) + 1)
    now = [*flat[:1], max(curve.memory_now, 1)]
    colours = [look.colour for look in ((WEIGHTS, CACHE) if flat else (CACHE,))]
    traces = [
        line("weights", [low, high] if flat else [], flat, WEIGHTS),
        line("cache", contexts[:known], cache[:known], CACHE),
        line("cache", contexts[known - 1 :], cache[known - 1 :], CACHE, _FAINT),
        marks("equal", met, flat[: len(met)], "circle-open", TEXT),
        marks("this length", [context] * len(now), now, "circle", colours),
    ]
    words = [_equal(n, weights or 1, low, high) for n in met]
    ends = [("cache", cache[-1], CACHE), *(("weights", n, WEIGHTS) for n in flat[:1])]
    scale = STEP_PIXELS / math.log10(y_high / y_low)
    wanted = [math.log10(height / y_low) * scale for _, height, _ in ends]
    for (name, height, look), want, got in zip(
        ends, wanted, spread(wanted, [LINE_PIXELS + 2.0] * len(ends), 0, STEP_PIXELS), strict=True
    ):
        words.append(word(name, high, height, look.colour, True, got - want))
    x = axis("tokens", low, high, log=True) | {"title": {"text": "context (tokens)"}}
    return Panel(traces, words, x, axis("bytes", y_low, y_high, log=True))


def _equal(crossing: int, weights: int, low: int, high: int) -> Values:
    """On the side with more room, where the rising line is not: above it on the left, below on the right."""
    right = math.log(crossing / low) > math.log(high / crossing)
    text = f"equal at {tokens(crossing)}"
    return word(text, crossing, weights, TEXT, True, 14 if right else -14, right=right)


def waterfall_panel(steps: Sequence[WaterfallStep]) -> Panel:
    """One sequence as published and after each change, to one scale, with how many times less it is."""
    sizes, names = [step.bytes for step in steps], [step.name for step in steps]
    drawn = bars("one sequence", names, [0] * len(steps), sizes, [CACHE] * len(steps))
    words = []
    for row, step in enumerate(steps):
        text = bytes_text(step.bytes)
        if step.refused:
            text = "not possible here"
        elif row:
            text = f"{text}, {times_text(step.running)}"
        words.append(word(text, step.bytes, row, CACHE.colour if not step.refused else TEXT))
    if len(steps) == 1:
        words.append(word(_INVITATION, 0, 1, TEXT))
    rows = max(len(steps), 2)
    x = axis("bytes", 0, max(*sizes, 1) * 1.2)
    return Panel([drawn], words, x, name_axis([*names, *[""] * (rows - len(names))]), rows=rows)


def _looks(parts: Sequence[Piece]) -> list[Style]:
    looks, kind = [], 0
    for part in parts:
        if part.kind == "memory":
            kind += 1
        looks.append({"weights": WEIGHTS, "rounding": _ENGINE, "reserve": _FREE}.get(part.kind, style(kind)))
    return looks
