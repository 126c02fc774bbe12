"""How much fits: sequences of one length, or of lengths that vary, beside weights and a reserve."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

from memlessons.cost.errors import ImpossibleWork

# No context is longer; a memory that is lighter even there has stopped growing, or as good as.
ENDLESS = 2**40
_STRATA = 400


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of requests by their median and 95th percentile, in tokens, none beyond `longest`.

    Between the two they are taken as log-normal, which published request traces are near to.
    """

    p50: int
    p95: int
    longest: int

    def __post_init__(self) -> None:
        if not 1 <= self.p50 <= self.p95 <= self.longest:
            raise ImpossibleWork(
                f"Lengths(p50={self.p50}, p95={self.p95}, longest={self.longest}): must be 1 or more and rise"
            )

    def strata(self, count: int = _STRATA) -> list[int]:
        """`count` lengths that stand for equal shares of the requests, shortest first."""
        width = log(self.p95 / self.p50) / _deviations(0.95)
        middles = ((i + 0.5) / count for i in range(count))
        lengths = (self.p50 * exp(width * _deviations(share)) for share in middles)
        return [min(self.longest, max(1, round(length))) for length in lengths]


def sequences_that_fit(room: int, bytes_of: Callable[[int], int]) -> int:
    """The most sequences whose memory `bytes_of(count)` is no more than `room` bytes; 0 if not even one.

    `bytes_of` must not fall. An engine's rounding makes it anything but straight, so it is searched.
    """
    if room <= 0 or bytes_of(1) > room:
        return 0
    most = 1
    while most < ENDLESS and bytes_of(most) <= room:
        most *= 2
    return bisect_left(range(most), True, key=lambda count: count > 0 and bytes_of(count) > room) - 1


def varied_sequences_that_fit(
    room: int, bytes_at: Callable[[int], int], lengths: Lengths, *, certainty: float = 0.95
) -> int:
    """The most sequences of such lengths that fit together with this certainty, each at `bytes_at(length)`.

    Their sum is taken as normal: count x mean + z x sqrt(count) x deviation <= room. So few sequences are
    counted by their long ones, many by their mean.
    """
    if not 0.5 <= certainty < 1:
        raise ImpossibleWork(f"certainty={certainty!r}: must be from 0.5 to below 1")
    sizes = [float(bytes_at(length)) for length in lengths.strata()]
    mean = sum(sizes) / len(sizes)
    deviation = sqrt(sum((size - mean) ** 2 for size in sizes) / len(sizes))
    if room <= 0 or mean <= 0:
        return 0
    z = _deviations(certainty)
    # mean n + z deviation sqrt(n) = room, solved for sqrt(n).
    root = (-z * deviation + sqrt((z * deviation) ** 2 + 4 * mean * room)) / (2 * mean)
    return int(root * root)


def _deviations(share: float) -> float:
    """How many standard deviations above the mean this share of a normal distribution ends."""
    # Here and not above: the module costs more than all else that `memlessons size` loads.
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def first_context(bytes_at: Callable[[int], int], wanted: int) -> int | None:
    """The first context at which `bytes_at` is no less than `wanted`; None if it never is.

    `bytes_at` must never fall. What is held never does, nor what is read, except in chunked local
    attention (`Store.block`), where a step reads little again after each chunk.
    """
    found = 1 + bisect_left(range(1, ENDLESS + 1), wanted, key=bytes_at)
    return found if found <= ENDLESS else None
