"""What came out of one call: a value, an error with the reader's line, arguments that were changed."""

from __future__ import annotations

import contextlib
import inspect
import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from memlessons.coursework.compare import Difference, difference, same
from memlessons.coursework.copies import fresh_copy
from memlessons.coursework.exercise import Exercise, Inputs


@dataclass(frozen=True, slots=True)
class Raised:
    """An answer ended with `error`; `line` is the answer's own line, "line 3: x = q @ k", if known."""

    error: BaseException
    line: str
    trace: str

    def __str__(self) -> str:
        """The error's type and message, on one line."""
        name, words = type(self.error).__name__, " ".join(str(self.error).split())
        return f"{name}: {words}" if words else name


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is compared after one call, and the arguments that changed without being meant to."""

    value: Any
    changed: tuple[str, ...] = ()


def call(exercise: Exercise, answer: Callable[..., Any], inputs: Inputs) -> Outcome:
    """Call `answer` with its own copy of `inputs`, and keep what the exercise compares.

    A class is not called: the exercise's `outcome` works with it. Arguments are passed by place, so that
    a reader may rename them.
    """
    mine = fresh_copy(inputs)
    try:
        value: Any = answer
        if not inspect.isclass(exercise.reference):
            given = exercise.given(mine)
            value = answer(*(exercise.handed(given) if exercise.handed else given).values())
        changed = tuple(
            name
            for name in exercise.given(inputs)
            if name not in exercise.in_place and not same(inputs[name], mine[name])
        )
        if exercise.outcome is not None:
            value = exercise.outcome(value, fresh_copy(inputs))
    except (Exception, SystemExit) as error:
        return Outcome(_raised(error, answer))
    if exercise.in_place:
        # By what a reader would call them: the labels show up in messages.
        value = {"what it returns": value} | {f"{name} afterwards": mine[name] for name in exercise.in_place}
    # An answer that hands out the same list each time must not rewrite its past.
    with contextlib.suppress(Exception):
        value = fresh_copy(value)
    return Outcome(value, changed)


def outcome_difference(expected: Any, got: Any, tolerance: float) -> Difference | None:
    """As `difference`; two errors agree if the answer's is of the expected type."""
    if isinstance(expected, Raised):
        if isinstance(got, Raised) and isinstance(got.error, type(expected.error)):
            return None
        return Difference("value", f"expected {type(expected.error).__name__} to be raised")
    if isinstance(got, Raised):
        return Difference("value", f"it raises {got}")
    return difference(expected, got, tolerance)


def outcomes_agree(expected: Any, got: Any, tolerance: float) -> bool:
    """Whether two outcomes are the same to the exercise."""
    if isinstance(expected, Raised) or isinstance(got, Raised):
        return outcome_difference(expected, got, tolerance) is None
    return same(expected, got, tolerance)


def _raised(error: BaseException, answer: Callable[..., Any]) -> Raised:
    files = {code.co_filename for code in _codes(answer)}
    line = ""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in frames:
        if frame.filename in files and frame.lineno:
            source = linecache.getline(frame.filename, frame.lineno).strip()
            line = f"line {frame.lineno}" + (f": {source}" if source else "")
    # The engine's own frames come first and explain nothing.
    own = next((i for i, frame in enumerate(frames) if frame.filename in files), 0)
    trace = "".join([*traceback.format_list(frames[own:]), *traceback.format_exception_only(error)])
    # The traceback holds every local variable of the call: a hundred of them are not kept.
    return Raised(error.with_traceback(None), line, trace.rstrip())


def _codes(answer: Any) -> list[CodeType]:
    parts = vars(answer).values() if inspect.isclass(answer) else [inspect.unwrap(answer)]
    return [part.__code__ for part in parts if hasattr(part, "__code__")]
