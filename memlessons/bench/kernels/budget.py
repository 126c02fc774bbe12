"""How long the kernel race may take: a deadline from its start, and an alarm for what overruns it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any


class OutOfTime(BaseException):
    """The deadline has come in the middle of something; no `except Exception` on the way may keep it."""


class Budget:
    """`seconds` from `started` (monotonic; now if not given)."""

    def __init__(self, seconds: float, started: float | None = None) -> None:
        self.deadline = (monotonic() if started is None else started) + seconds

    @property
    def left(self) -> float:
        """Seconds to the deadline, below 0 after it."""
        return self.deadline - monotonic()

    def fits(self, seconds: float) -> bool:
        """Whether something of about so many seconds can end in time."""
        return self.left >= seconds

    @contextmanager
    def alarm(self) -> Iterator[None]:
        """OutOfTime is raised inside, at the deadline, where the system has such alarms (not Windows)."""
        if not hasattr(signal, "setitimer"):
            yield
            return

        def ring(number: int, frame: Any) -> None:
            raise OutOfTime

        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, max(self.left, 1e-3))
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
