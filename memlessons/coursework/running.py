"""Running a reader's answer on every input of a check: in time, quietly, without the package's help."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memlessons.coursework.cases import Cases
from memlessons.coursework.forbid import forbidden
from memlessons.coursework.limit import OutOfTime, time_limit
from memlessons.coursework.outcome import Outcome, call

_KEPT_LINES = 2
_KEPT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Run:
    """An answer's outcomes, one for each input unless the time ran out at `out_of_time`.

    `called` are forbidden functions that it called, `printed` the first lines that it printed.
    """

    outcomes: tuple[Outcome, ...]
    out_of_time: int | None = None
    called: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()


def run_answer(cases: Cases, answer: Callable[..., Any], seconds: float) -> Run:
    """Call `answer` on all inputs, `seconds` in all; errors become outcomes, Ctrl-C goes through."""
    outcomes: list[Outcome] = []
    printed = _FirstLines()
    late = None
    with forbidden(cases.exercise.forbidden) as called, contextlib.redirect_stdout(printed):
        try:
            with time_limit(seconds):
                for inputs in cases.inputs:
                    outcomes.append(call(cases.exercise, answer, inputs))
                    if called:
                        break
        except OutOfTime:
            late = min(len(outcomes), len(cases.inputs) - 1)
        names = tuple(dict.fromkeys(called))
    return Run(tuple(outcomes), late, names, printed.lines())


class _FirstLines(io.TextIOBase):
    """Keeps the beginning of what is printed, however much there is."""

    def __init__(self) -> None:
        self._kept = ""
        self._more = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        kept = text[: max(0, _KEPT_CHARACTERS - len(self._kept))]
        self._kept += kept
        self._more += text[len(kept) :].count("\n")
        return len(text)

    def lines(self) -> tuple[str, ...]:
        lines = self._kept.splitlines()
        if not lines:
            return ()
        more = len(lines) - _KEPT_LINES + self._more
        shown = [f"printed: {line[:90]}" for line in lines[:_KEPT_LINES]]
        return (*shown[:-1], f"{shown[-1]} (and {more} lines more)" if more > 0 else shown[-1])
