"""As many rounds as the time allows: everybody once a round, in a new order each, and a word on the way."""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from memlessons.measure import Timing, interleaved
from memlessons.measure.timing import Run

PIECE, MOST_PIECES = 8, 5


def race(
    runs: Mapping[str, Run],
    device: Any,
    seconds: float,
    say: Callable[[str], None],
    *,
    piece: int = PIECE,
    most: int = MOST_PIECES,
    clock: Callable[[], float] = monotonic,
) -> dict[str, Timing]:
    """Times of all runs over one to `most` pieces of `piece` rounds, while another one fits into `seconds`.

    Each piece warms up anew. `samples[i]` of every run are from the same round, over all pieces.
    """
    began, samples = clock(), {name: list[float]() for name in runs}
    for number in range(most):
        for name, taken in interleaved(runs, piece, device, seed=number).items():
            samples[name] += taken.samples
        spent = clock() - began
        if number + 1 < most:
            say(f"  {(number + 1) * piece} rounds of at most {most * piece}, {spent:.0f} s")
        if spent / (number + 1) * (number + 2) > seconds:
            break
    return {name: Timing.of(taken) for name, taken in samples.items()}
