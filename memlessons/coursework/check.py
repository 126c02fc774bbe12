"""Checking an answer to an exercise: draw, compute what is right, run the answer, say what was seen."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memlessons.coursework.cases import Cases, prepare
from memlessons.coursework.diagnose import diagnose
from memlessons.coursework.draw import fresh_seed
from memlessons.coursework.exercise import Exercise
from memlessons.coursework.feedback import Feedback
from memlessons.coursework.running import run_answer

SECONDS = 5.0
"""What an answer may take for all inputs together."""


def check(
    exercise: Exercise,
    answer: Callable[..., Any],
    *,
    seed: int | None = None,
    trace: bool = False,
    cases: Cases | None = None,
    seconds: float = SECONDS,
) -> Feedback:
    """Check `answer` on inputs drawn with `seed` (fresh if None), or on `cases`; never raises its errors.

    `trace` adds the traceback where the answer raises. Nothing is shown or written down.
    """
    if found := _wrong_signature(exercise, answer):
        return found
    if is_stub(answer):
        todo = 'Write your lines in place of the "..." and run it again.'
        return Feedback(exercise.id, exercise.title, "not done", "not done yet.", todo)
    cases = cases or prepare(exercise, fresh_seed() if seed is None else seed)
    feedback = diagnose(cases, run_answer(cases, answer, seconds), seconds)
    return feedback if trace else replace(feedback, trace="")


def is_stub(answer: Any) -> bool:
    """Whether a function, or every method of a class, does nothing: `...`, `pass` or a docstring."""
    if inspect.isclass(answer):
        return all(is_stub(part) for part in vars(answer).values() if inspect.isfunction(part))
    code = getattr(inspect.unwrap(answer), "__code__", None)
    if code is None:
        return False
    nothing = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "POP_TOP"}
    steps = list(dis.get_instructions(code))
    # `return 5` loads a constant, too: an answer, if a bad one.
    constants = [step.argval for step in steps if step.opname.endswith("_CONST")]
    return {step.opname for step in steps} <= nothing and constants[-1:] == [None]


def _wrong_signature(exercise: Exercise, answer: Any) -> Feedback | None:
    expected = ", ".join(exercise.parameters)
    kind = "class" if inspect.isclass(exercise.reference) else "function"
    if kind == "class":
        fits = inspect.isclass(answer)
    else:
        try:
            inspect.signature(answer).bind(*exercise.parameters)
            fits = not inspect.isclass(answer)
        except (TypeError, ValueError):
            fits = False
    if fits:
        return None
    own = f"yours is {_described(answer)}"
    asked = f"`{exercise.name}` is a class" if kind == "class" else f"`{exercise.name}` takes ({expected})"
    return Feedback(exercise.id, exercise.title, "signature", f"{asked}; {own}.")


def _described(answer: Any) -> str:
    if inspect.isclass(answer):
        return "a class"
    try:
        return f"called with {inspect.signature(answer)}"
    except (TypeError, ValueError):
        return f"a {type(answer).__name__}"
