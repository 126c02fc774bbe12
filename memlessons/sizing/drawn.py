"""What a picture of an answer is made of: pieces that fill a device, and what a step reads by context."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from memlessons.cost import weight_bytes_read
from memlessons.plan import MemoryPlan
from memlessons.plan.engines.ideal import on_device
from memlessons.sizing.answer import Answer
from memlessons.sizing.question import Question
from memlessons.sizing.sums import sums

SHORTEST = 16
"""Pictures begin at this length, unless a shorter one is asked."""
BEYOND = 8
"""How many times the longest context is drawn: most crossings that are out of reach lie there."""
_UNKNOWN_LONGEST = 2**20


class Piece(NamedTuple):
    """A part of what one device must hold, in bytes; `rounding` is what an engine takes beyond the need."""

    kind: Literal["weights", "memory", "rounding", "reserve"]
    name: str
    bytes: int


def pieces(found: Answer, most: int = 4) -> tuple[Piece, ...]:
    """What fills the fullest device, end to end: they add up to weights, reservation and reserve.

    Memory by kind of layer, at most `most` kinds, the rest as "other layers". Where an engine reserves less
    than whole heads need (one that splits a model between layers), memory is drawn in that proportion.
    """
    weights = found.weights_per_device
    parts = [] if weights is None else [Piece("weights", "weights", weights)]
    memory = _memory(found, most)
    kept = sum(piece.bytes for piece in memory)
    if found.reserved < kept:
        memory, kept = _scaled(memory, found.reserved, kept), found.reserved
    parts += memory
    if found.reserved > kept:
        parts.append(Piece("rounding", f"{found.question.engine} rounds up", found.reserved - kept))
    if found.question.reserve_bytes:
        parts.append(Piece("reserve", "kept free", found.question.reserve_bytes))
    return tuple(parts)


def _memory(found: Answer, most: int) -> list[Piece]:
    q = found.question
    device = on_device(q.plan, q.tp)
    sizes = [
        Piece(
            "memory",
            group.name,
            q.batch * len(group.indices) * device.layer_bytes(group.indices[0], q.context, q.encoder),
        )
        for group in q.plan.groups()
    ]
    sizes = [piece for piece in sizes if piece.bytes]
    if len(sizes) <= most:
        return sizes
    largest = sorted(sizes, key=lambda piece: -piece.bytes)[: most - 1]
    rest = sum(piece.bytes for piece in sizes) - sum(piece.bytes for piece in largest)
    return [*(piece for piece in sizes if piece in largest), Piece("memory", "other layers", rest)]


def _scaled(memory: list[Piece], to: int, of: int) -> list[Piece]:
    """Whole numbers in the same proportion that add up to `to`."""
    scaled, seen = [], 0
    for piece in memory:
        before, seen = seen * to // of, seen + piece.bytes
        scaled.append(piece._replace(bytes=seen * to // of - before))
    return scaled


@dataclass(frozen=True, slots=True)
class StepCurve:
    """Bytes that one decode step of the batch reads, all devices together and nothing twice.

    `memory_bytes` at each of `contexts`, of which the first `known` are within what the model was made to
    read; `weight_bytes` is None where the weights are not known.
    """

    contexts: tuple[int, ...]
    memory_bytes: tuple[int, ...]
    known: int
    weight_bytes: int | None
    memory_now: int


def step_curve(question: Question) -> StepCurve:
    """What a step reads at lengths from 1 to BEYOND times the longest context, four an octave."""
    longest = question.model.longest_context or max(_UNKNOWN_LONGEST, question.context)
    contexts, one = _reads(question.plan, longest, question.encoder)
    weights = question.weights
    return StepCurve(
        contexts,
        tuple(question.batch * n for n in one),
        sum(n <= longest for n in contexts),
        None if weights is None else weight_bytes_read(weights, question.batch),
        question.batch * sums(question.plan, question.encoder)[1](question.context),
    )


# One for each plan; moving a control of length or batch asks again and again.
@lru_cache(maxsize=32)
def _reads(plan: MemoryPlan, longest: int, encoder: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    read = sums(plan, encoder)[1]
    steps = {round(2 ** (i / 4)) for i in range(math.ceil(math.log2(longest * BEYOND) * 4))}
    inner = {n for n in steps if n < longest * BEYOND}
    contexts = tuple(sorted(inner | {SHORTEST, longest, longest * BEYOND}))
    return contexts, tuple(map(read, contexts))
