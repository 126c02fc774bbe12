"""Fair clocks: warmed up, synchronised, repeated; a median with its quartiles instead of one lucky number."""

import gc
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import quantiles
from time import perf_counter
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.places import pace
from memlessons.units import seconds_text

Run = Callable[[], Any]

# A repetition shorter than this would time the clock and the synchronisation; it repeats the call inside.
_SHORTEST_SECONDS = {"cpu": 100e-6, "gpu": 1e-3}
# Repetitions: at least _FEWEST, where a slow run allows; at least _LEAST always; at most _MOST.
_LEAST, _FEWEST, _MOST = 3, 5, 2000
_WARM_UPS = 8


class BadTiming(MemlessonsError, ValueError):
    """An argument with which nothing can be timed."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call: the median, the quartiles `low` and `high`, and from how many repetitions.

    `samples` are all repetitions in the order they ran, none left out: an interrupted one stays visible
    in `slowest` although it does not move the median.
    """

    seconds: float
    low: float
    high: float
    repetitions: int
    samples: tuple[float, ...] = field(default=(), repr=False)

    @staticmethod
    def of(samples: Sequence[float]) -> "Timing":
        """The timing of these samples, seconds per call; at least one."""
        if not samples:
            raise BadTiming("samples is empty: time at least one repetition")
        several = samples if len(samples) > 1 else (samples[0],) * 2
        low, median, high = quantiles(several, n=4, method="inclusive")
        # Interpolating between equal samples may miss them by a rounding.
        median = min(max(median, min(samples)), max(samples))
        low, high = max(min(low, median), min(samples)), min(max(high, median), max(samples))
        return Timing(median, low, high, len(samples), tuple(samples))

    @property
    def slowest(self) -> float:
        """Seconds of the slowest repetition."""
        return max(self.samples, default=self.high)

    @property
    def fastest(self) -> float:
        """Seconds of the fastest repetition."""
        return min(self.samples, default=self.low)

    def __str__(self) -> str:
        half = f"{seconds_text(self.low)} to {seconds_text(self.high)}"
        tail = f", slowest {seconds_text(self.slowest)}" if self.slowest > 2 * self.seconds else ""
        return f"{seconds_text(self.seconds)} (half of {self.repetitions} within {half}{tail})"


def timed(
    run: Run, *, device: Any = "cpu", repetitions: int | None = None, seconds: float | None = None
) -> Timing:
    """Time `run()` on a device: warm-up until it is steady, then repetitions that fill about `seconds`.

    `repetitions` fixes their number instead. On CUDA and MPS each repetition waits for the device before
    and after. A call much shorter than the clock's own cost is repeated inside a repetition, and the time
    divided. Whatever `run` raises is raised. BadTiming for counts or seconds of 0 or less.
    """
    target = _target_seconds(seconds)
    if repetitions is not None and repetitions < 1:
        raise BadTiming(f"repetitions={repetitions}: must be at least 1")
    wait = synchroniser(device)
    with _undisturbed():
        estimate = _warm_up(run, wait, target)
        calls = _calls_inside(estimate, device)
        samples: list[float] = []
        while not _enough(samples, calls, target, repetitions):
            samples.append(_one(run, calls, wait))
        return Timing.of(samples)


def interleaved(
    runs: Mapping[str, Run], rounds: int = 11, device: Any = "cpu", *, seed: int | None = None
) -> dict[str, Timing]:
    """Time several runs against each other: each once per round, in a new random order every round.

    What slows the machine for a while then slows all of them alike; compare their medians, or their
    samples round by round (`samples[i]` of each is from the same round i).
    """
    if not runs:
        raise BadTiming("runs is empty: give at least one name and function")
    if rounds < 1:
        raise BadTiming(f"rounds={rounds}: must be at least 1")
    wait = synchroniser(device)
    order = list(runs)
    shuffle = random.Random(seed).shuffle
    samples: dict[str, list[float]] = {name: [] for name in runs}
    with _undisturbed():
        share = _target_seconds(None) / len(runs)
        calls = {name: _calls_inside(_warm_up(run, wait, share), device) for name, run in runs.items()}
        for _ in range(rounds):
            shuffle(order)
            for name in order:
                samples[name].append(_one(runs[name], calls[name], wait))
    return {name: Timing.of(taken) for name, taken in samples.items()}


def synchroniser(device: Any) -> Callable[[], None]:
    """A function that returns when the device has finished all it was given; for a CPU, at once."""
    kind = str(device).partition(":")[0]
    if kind not in ("cpu", "cuda", "mps"):
        raise BadTiming(f"device={device!r}: must be a cpu, cuda or mps device")
    if kind == "cpu":
        return lambda: None
    import torch

    return torch.mps.synchronize if kind == "mps" else lambda: torch.cuda.synchronize(device)


def _target_seconds(seconds: float | None) -> float:
    if seconds is None:
        return 0.1 if pace() == "quick" else 0.5
    if not seconds > 0:
        raise BadTiming(f"seconds={seconds!r}: must be above 0")
    return seconds


def _enough(samples: Sequence[float], calls: int, target: float, repetitions: int | None) -> bool:
    """Whether these repetitions do: as many as asked, or the time is filled, or filled far too often."""
    taken = len(samples)
    if repetitions is not None:
        return taken >= repetitions
    spent = calls * sum(samples)
    return (
        taken >= _MOST or (taken >= _FEWEST and spent >= target) or (taken >= _LEAST and spent > 4 * target)
    )


def _one(run: Run, calls: int, wait: Callable[[], None]) -> float:
    """Seconds per call of one repetition of `calls` calls."""
    wait()
    start = perf_counter()
    for _ in range(calls):
        run()
    wait()
    return (perf_counter() - start) / calls


def _warm_up(run: Run, wait: Callable[[], None], target: float) -> float:
    """Call until two calls in a row differ by less than 10 %, a while at most; the last call's seconds.

    First calls build caches, compile, fault pages in and wake a sleeping clock; they tell nothing.
    """
    started, before = perf_counter(), _one(run, 1, wait)
    for _ in range(_WARM_UPS):
        now = _one(run, 1, wait)
        if abs(now - before) <= 0.1 * before or perf_counter() - started > target:
            break
        before = now
    return max(now, 1e-9)


def _calls_inside(estimate: float, device: Any) -> int:
    shortest = _SHORTEST_SECONDS["cpu" if str(device).startswith("cpu") else "gpu"]
    return max(1, round(shortest / estimate))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Python's garbage collector waits: its pauses belong to whoever made the garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
