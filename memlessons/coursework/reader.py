"""What a reader calls in a notebook: `exercise`, `hint` and `solution`."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from memlessons.coursework.catalogue import find
from memlessons.coursework.check import check
from memlessons.coursework.exercise import BadExercise
from memlessons.coursework.feedback import Feedback
from memlessons.coursework.progress import note_hint, note_solution, note_try
from memlessons.show.prose import show_source
from memlessons.show.shell import publish, say

Answer = TypeVar("Answer", bound=Callable[..., Any])

# While `memlessons check` reads a file, its decorators hand their functions over and check nothing.
_collected: list[list[tuple[str, Any]]] = []
# The number of the hint shown last, by exercise.
_hints: dict[str, int] = {}


def exercise(id: str, *, seed: int | None = None, traceback: bool = False) -> Callable[[Answer], Answer]:
    """Check the decorated function as the cell runs, show what came out, and leave the function as it is.

    `id` is the exercise's, "03.2"; `seed` repeats the inputs of an earlier check, which printed it;
    `traceback` shows where an answer raised. Raises UnknownExercise.
    """
    if inspect.isroutine(id) or inspect.isclass(id):
        raise BadExercise("write the exercise's id behind @exercise, such as @exercise('00.1')")

    def checked(answer: Answer) -> Answer:
        if _collected:
            _collected[-1].append((id, answer))
        else:
            show_feedback(check(find(id), answer, seed=seed, trace=traceback))
        return answer

    return checked


@contextmanager
def collecting() -> Iterator[list[tuple[str, Any]]]:
    """Inside the block `exercise` checks nothing; yields the ids and functions that it decorated."""
    _collected.append([])
    try:
        yield _collected[-1]
    finally:
        _collected.pop()


def show_feedback(feedback: Feedback) -> None:
    """Show a check's result, and count it as a try unless nothing was tried yet."""
    publish({"text/html": feedback.html(), "text/plain": feedback.text()})
    if feedback.verdict != "not done":
        _note(note_try(feedback.id, feedback.passed))


def hint(id: str) -> None:
    """Show the next of an exercise's three hints: a question, what to look at, a line of code.

    The last says that it is the last; after it they start over. Raises UnknownExercise.
    """
    hints = find(id).hints
    number = _hints.get(id, 0) % len(hints) + 1
    _hints[id] = number
    say(f"**{id}, hint {number} of {len(hints)}:** {hints[number - 1]}")
    if number == len(hints):
        say(f'That was the last hint; `solution("{id}")` shows one way.')
    _note(note_hint(id, number))


def solution(id: str) -> None:
    """Show an exercise's reference, as source code. Raises UnknownExercise."""
    show_source(find(id).reference)
    _note(note_solution(id))


def _note(note: str) -> None:
    if note:
        say(f"Note: {note}.")
