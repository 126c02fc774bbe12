"""An exercise as a value: what is drawn, what is right, which mistakes people make and what helps them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from memlessons.errors import MemlessonsError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Inputs = dict[str, Any]
"""Arguments by name, in the reference's order."""

Kind = Literal["build", "decide", "break"]

_ID = re.compile(r"(\d\d|[A-Z])\.[1-9]")


@cache
def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


class BadExercise(MemlessonsError, ValueError):
    """An exercise is not well formed; the message names the exercise, the field, and what belongs there."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A named wrong answer, and the hint that it deserves.

    `answer` has the reference's parameters. `pins` are inputs on which it differs from the reference, for
    mistakes that random draws seldom show.
    """

    name: str
    hint: str
    answer: Callable[..., Any]
    pins: tuple[Inputs, ...] = ()

    def __post_init__(self) -> None:
        """Raise BadExercise where a name, a hint or a function is missing."""
        if not self.name.strip() or not self.hint.strip():
            raise BadExercise(f"Mistake(name={self.name!r}, hint={self.hint!r}): both must say something")
        if not callable(self.answer):
            raise BadExercise(f"Mistake {self.name!r}: answer={self.answer!r} is no function")


@dataclass(frozen=True, slots=True)
class Faults:
    """What the answer to a "break" exercise has to expose; the exercise's `outcome` is the set exposed.

    `questions` holds one for each fault, the one to ask first in front; `tried` is what the hidden inputs
    are, "tile sizes".
    """

    questions: dict[str, str]
    tried: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise: all that a check, a hint and a solution need.

    `kind` is "build" (write the mechanism), "decide" (write the rule a planner needs) or "break" (write
    the input that exposes a faulty implementation). The reader writes a function with the reference's name
    and parameters. `draw` makes the Hypothesis strategy of inputs and is called on first use; hypothesis is
    imported inside it. `shown` are the prompt's own examples: checked too, never alone.

    `outcome(answer, inputs)` is what is compared, where that is not the answer itself. Drawn inputs that
    are no parameters of the reference are hidden from the answer and seen by `outcome` only. `faults` says
    more about a "break" exercise. `handed(arguments)` is how the arguments reach an answer, if not as they
    were drawn: lists that can be read once. `in_place` names the arguments that the answer must change,
    compared as well. `forbidden` are dotted names of functions that raise WriteItYourself while the answer
    runs. `tolerance` is relative, for floats.
    """

    id: str
    title: str
    kind: Kind
    reference: Callable[..., Any]
    draw: Callable[[], SearchStrategy[Inputs]]
    mistakes: tuple[Mistake, ...]
    hints: tuple[str, str, str]
    shown: tuple[Inputs, ...] = ()
    outcome: Callable[[Any, Inputs], Any] | None = None
    faults: Faults | None = None
    handed: Callable[[Inputs], Inputs] | None = None
    outputs: str = ""
    in_place: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    tolerance: float = 1e-6
    draws: int = 100

    def __post_init__(self) -> None:
        """Raise BadExercise, naming the field, where a part is missing or does not fit the others."""
        if not _ID.fullmatch(self.id):
            raise BadExercise(f"Exercise id={self.id!r}: write chapter and number, such as '03.2'")
        for wrong in (*self._wrong_words(), *self._wrong_parts()):
            raise BadExercise(f"exercise {self.id}: {wrong}")

    @property
    def chapter(self) -> str:
        """The chapter's number or letter, "03"."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of the function that the reader writes."""
        return self.reference.__name__

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the reader's arguments, in order."""
        return _parameters(self.reference)

    def given(self, inputs: Inputs) -> Inputs:
        """The part of `inputs` that an answer is called with; the rest is hidden, for `outcome` alone.

        All of it if the answer is a class, which `outcome` works with.
        """
        if inspect.isclass(self.reference):
            return dict(inputs)
        return {name: inputs[name] for name in self.parameters}

    def _wrong_words(self) -> list[str]:
        wrong = []
        if not self.title.strip():
            wrong.append("title is empty; name the thing in a word or two")
        if self.kind not in get_args(Kind):
            wrong.append(f"kind={self.kind!r}; one of {', '.join(get_args(Kind))}")
        if len(self.hints) != 3 or not all(hint.strip() for hint in self.hints):
            wrong.append("hints are three: a question, the quantity to look at, one line of code")
        if not 0 <= self.tolerance < 0.1:
            wrong.append(f"tolerance={self.tolerance}; it is relative, 1e-6")
        if not 1 <= self.draws <= 200:
            wrong.append(f"draws={self.draws}; 60 to 200 inputs fit in a second")
        return wrong

    def _wrong_parts(self) -> list[str]:
        if not callable(self.reference) or not callable(self.draw):
            return ["reference and draw are functions"]
        wrong, parameters = [], self.parameters
        if len(self.mistakes) < 3:
            wrong.append(f"{len(self.mistakes)} mistakes; name at least three that people make")
        names = [mistake.name for mistake in self.mistakes]
        if len(set(names)) != len(names):
            wrong.append(f"two mistakes have one name: {', '.join(names)}")
        for mistake in self.mistakes:
            own = tuple(inspect.signature(mistake.answer).parameters)
            if own != parameters:
                wrong.append(f"mistake {mistake.name!r} takes {own}, the reference {parameters}")
        examples = [*self.shown, *(pin for mistake in self.mistakes for pin in mistake.pins)]
        for inputs in examples:
            missing = set(parameters) - set(inputs)
            if missing and not inspect.isclass(self.reference):
                wrong.append(f"an example or pin lacks {sorted(missing)}: {inputs!r:.80}")
        if unknown := set(self.in_place) - set(parameters):
            wrong.append(f"in_place names {sorted(unknown)}, which the reference does not take")
        if self.faults and (self.kind != "break" or not self.outcome):
            wrong.append("faults belong to kind='break', whose outcome is the set of faults exposed")
        if bare := [name for name in self.forbidden if "." not in name]:
            wrong.append(f"forbidden {bare}: write the whole dotted name")
        return wrong
