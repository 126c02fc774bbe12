"""What an answer to a "break" exercise exposes and what not, over all hidden inputs that were tried."""

from collections.abc import Sequence, Set
from typing import Any

from memlessons.coursework.compact import wrapped_line
from memlessons.coursework.exercise import Faults


class Exposure:
    """The faults that an answer leaves hidden, each with the number of inputs in which it does."""

    def __init__(self, faults: Faults, expected: Sequence[Any], got: Sequence[Any]) -> None:
        """`expected` and `got` are sets of faults, one for each hidden input; what is no set exposes none."""
        self.faults, self.count = faults, len(got)
        found = [value if isinstance(value, Set) else frozenset() for value in got]
        wanted = [value if isinstance(value, Set) else frozenset() for value in expected]
        pairs = list(zip(wanted, found, strict=False))
        hidden = {fault: sum(fault in a and fault not in b for a, b in pairs) for fault in faults.questions}
        self.hidden = {fault: times for fault, times in hidden.items() if times}

    @property
    def question(self) -> str:
        """The question about the first fault that stays hidden."""
        return next((f"`{fault}`: {self.faults.questions[fault]}" for fault in self.hidden), "")

    def lines(self) -> tuple[str, ...]:
        """Both lists, and how often a fault stays hidden unless it always does."""
        exposed = [fault for fault in self.faults.questions if fault not in self.hidden]
        hidden = [
            f"{fault} (in {times} of {self.count} {self.faults.tried})" if times < self.count else fault
            for fault, times in self.hidden.items()
        ]
        return (
            *wrapped_line(f"Exposed: {', '.join(exposed) or 'none'}."),
            *wrapped_line(f"Not exposed: {', '.join(hidden)}."),
        )
