"""A time limit for a reader's code: a loop without end must end."""

import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# A bare `except:` inside a loop swallows one interruption; the next comes soon.
_AGAIN_SECONDS = 0.05


class OutOfTime(BaseException):
    """The time is up; no `Exception`, so that a reader's `except Exception` does not keep it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime inside the block after `seconds`, again and again until the block is left.

    In the main thread a timer's signal interrupts even a sleep; elsewhere, and where there is no such
    timer (Windows), it comes before the next line of Python. Handlers and timers of others are restored.
    """
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        with _by_signal(seconds):
            yield
    else:
        with _by_watchdog(seconds, threading.get_ident()):
            yield


@contextmanager
def _by_signal(seconds: float) -> Iterator[None]:
    running = True

    def ring(number: int, frame: FrameType | None) -> None:
        if running:
            raise OutOfTime

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)
        if left:  # somebody else's timer goes on, and rings at once if its time came meanwhile
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 1e-3), interval)


@contextmanager
def _by_watchdog(seconds: float, thread: int) -> Iterator[None]:
    done = threading.Event()
    lock = threading.Lock()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            with lock:
                if not done.is_set():
                    _interrupt(thread, OutOfTime)
            wait = _AGAIN_SECONDS

    watchdog = threading.Thread(target=watch, name="memlessons-time-limit", daemon=True)
    watchdog.start()
    try:
        yield
    finally:
        with lock:
            done.set()
        # An interruption on its way would reach whoever comes next: take it back.
        _interrupt(thread, None)


def _interrupt(thread: int, error: type[BaseException] | None) -> None:
    asynchronous = getattr(getattr(ctypes, "pythonapi", None), "PyThreadState_SetAsyncExc", None)
    if asynchronous is not None:
        asynchronous(ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error))
