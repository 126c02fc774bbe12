"""A race between calls that do the same: warm, in turn, in a new random order every round."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from memlessons.bench.kernels.device import Device, Pass, Ready

LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work: a call for each set of its pool of inputs.

    `bytes_moved` are the bytes that a call cannot avoid; 0 where no rate is to be claimed. `facts` go into
    the record. A `rival` is not our code: it may be less exact, and a wrong answer of it is no fault here.
    """

    name: str
    calls: Sequence[Callable[[], Any]]
    bytes_moved: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
    rival: bool = False


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds per call: all of them, the median of each round, and whether a graph was replayed."""

    samples: list[float]
    rounds: list[float]
    graph: bool


def race(
    contenders: Sequence[Contender],
    device: Device,
    *,
    seed: int = 0,
    in_time: Callable[[], bool] = lambda: True,
) -> dict[str, Times]:
    """Time the contenders, interleaved; `in_time()` false ends the race once it has had three rounds.

    The medians of round i of all contenders were taken within the same moment: compare those.
    """
    laps = {c.name: max(1, -(-device.least_calls // len(c.calls))) for c in contenders}
    ready = {c.name: device.ready(_one_pass(c, laps[c.name])) for c in contenders}
    samples: dict[str, list[list[float]]] = {c.name: [] for c in contenders}
    order, shuffle = list(contenders), random.Random(seed).shuffle
    for done in range(device.rounds):
        if done >= LEAST_ROUNDS and not in_time():
            break
        shuffle(order)
        for c in order:
            calls = laps[c.name] * len(c.calls)
            samples[c.name].append([seconds / calls for seconds in device.times(ready[c.name])])
    return {name: _times(taken, ready[name]) for name, taken in samples.items()}


def _one_pass(contender: Contender, laps: int) -> Pass:
    """All sets in turn: a set is met again when all others have gone through the cache."""

    def go() -> None:
        for _ in range(laps):
            for call in contender.calls:
                call()

    return go


def _times(taken: list[list[float]], ready: Ready) -> Times:
    return Times([s for one in taken for s in one], [median(one) for one in taken], ready.graph)
