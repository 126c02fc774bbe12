"""The inputs of one check with what the reference and the named mistakes make of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from memlessons.coursework.draw import draw_inputs
from memlessons.coursework.exercise import Exercise, Inputs
from memlessons.coursework.outcome import call, outcomes_agree


@dataclass(frozen=True)
class Cases:
    """Inputs, `drawn` of them first, then the prompt's examples, then pins; and the expected outcomes."""

    exercise: Exercise
    seed: int
    drawn: int
    inputs: tuple[Inputs, ...]
    expected: tuple[Any, ...]

    @property
    def shown(self) -> range:
        """The places of the prompt's own examples."""
        return range(self.drawn, self.drawn + len(self.exercise.shown))

    @cached_property
    def by_size(self) -> list[int]:
        """All places, the smallest input first: what a reader can follow by hand."""
        return sorted(range(len(self.inputs)), key=lambda i: (input_size(self.inputs[i]), i))

    @cached_property
    def mistaken(self) -> dict[str, tuple[Any, ...]]:
        """What each named mistake makes of every input; computed when first asked for."""
        return {
            mistake.name: tuple(call(self.exercise, mistake.answer, inputs).value for inputs in self.inputs)
            for mistake in self.exercise.mistakes
        }

    @cached_property
    def telling(self) -> dict[str, list[int]]:
        """For each mistake the places where it differs from the reference."""
        return {name: self.differing(self.expected, values) for name, values in self.mistaken.items()}

    def differing(self, some: Sequence[Any], others: Sequence[Any]) -> list[int]:
        """The places where two lists of outcomes disagree."""
        pairs = enumerate(zip(some, others, strict=True))
        return [i for i, (a, b) in pairs if not outcomes_agree(a, b, self.exercise.tolerance)]


def prepare(exercise: Exercise, seed: int, draws: int | None = None) -> Cases:
    """Draw the inputs of a check and compute the reference's outcomes, before any code of the reader runs."""
    drawn = draw_inputs(exercise, seed, draws)
    pins = itertools.chain.from_iterable(mistake.pins for mistake in exercise.mistakes)
    inputs = (*drawn, *exercise.shown, *pins)
    expected = tuple(call(exercise, exercise.reference, one).value for one in inputs)
    return Cases(exercise, seed, len(drawn), inputs, expected)


def input_size(value: Any) -> float:
    """How much there is to look at: elements, digits, letters; 0 is nothing."""
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, int):
        return math.log10(1 + abs(value))
    if isinstance(value, float):
        return len(f"{value:.6g}")
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(1 + input_size(item) for item in value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return sum(1 + input_size(item) for item in value)
    elements = getattr(value, "numel", None)
    return float(elements() if callable(elements) else getattr(value, "size", 1)) + 1
