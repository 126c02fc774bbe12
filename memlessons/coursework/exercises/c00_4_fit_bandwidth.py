"""00.4 Two numbers from many: bandwidth and fixed cost from timed reads, some of them interrupted."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def fit_bandwidth(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """Bytes per second and fixed seconds, of reads that take fixed + size / bandwidth.

    `seconds[i]` are repetitions of a read of `sizes[i]` bytes, three or more; one of them was interrupted
    and took much longer. A straight line through their medians, by least squares.
    """
    medians = [sorted(repetitions)[len(repetitions) // 2] for repetitions in seconds]
    size, second = sum(sizes) / len(sizes), sum(medians) / len(medians)
    slope = sum((s - size) * (t - second) for s, t in zip(sizes, medians, strict=True)) / sum(
        (s - size) ** 2 for s in sizes
    )
    return 1 / slope, second - slope * size


def rate_per_point(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """The average of size over time, as if no read had a fixed cost."""
    medians = [sorted(repetitions)[len(repetitions) // 2] for repetitions in seconds]
    rates = [s / t for s, t in zip(sizes, medians, strict=True)]
    return sum(rates) / len(rates), 0.0


def mean_of_repetitions(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """The line through means, interruptions included."""
    means = [sum(repetitions) / len(repetitions) for repetitions in seconds]
    size, second = sum(sizes) / len(sizes), sum(means) / len(means)
    slope = sum((s - size) * (t - second) for s, t in zip(sizes, means, strict=True)) / sum(
        (s - size) ** 2 for s in sizes
    )
    return 1 / slope, second - slope * size


def slope_not_inverted(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """Seconds per byte for bytes per second."""
    bandwidth, fixed = fit_bandwidth(sizes, seconds)
    return 1 / bandwidth, fixed


def largest_size_only(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """The rate of the longest read."""
    size, repetitions = max(zip(sizes, seconds, strict=True))
    return size / sorted(repetitions)[len(repetitions) // 2], 0.0


def fastest_repetition(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """The line through each size's luckiest repetition."""
    return fit_bandwidth(sizes, [[min(repetitions)] for repetitions in seconds])


def line_through_the_ends(sizes: list[int], seconds: list[list[float]]) -> tuple[float, float]:
    """The smallest and the largest size; all others measured for nothing."""
    medians = [sorted(repetitions)[len(repetitions) // 2] for repetitions in seconds]
    (small, quick), *_, (large, slow) = sorted(zip(sizes, medians, strict=True))
    slope = (slow - quick) / (large - small)
    return 1 / slope, quick - slope * small


def draw() -> SearchStrategy[Inputs]:
    """Sizes that double; reads up to one percent off the line, but for one repetition each.

    The number of repetitions is odd: there is one median and no choice between two.
    """
    from hypothesis import strategies as st

    def build(count: int, start: int, tenths: int, percent: int, repetitions: int, seed: int) -> Inputs:
        random = Random(seed)
        sizes = [start * 50_000 * 2**i for i in range(count)]
        bandwidth = tenths * 1e8
        # Large enough to be seen through the noise of the longest read.
        fixed = percent / 100 * sizes[-1] / bandwidth
        seconds = []
        for size in sizes:
            each = [(fixed + size / bandwidth) * random.uniform(0.99, 1.01) for _ in range(repetitions)]
            each[random.randrange(repetitions)] *= random.uniform(3, 20)
            seconds.append(each)
        return {"sizes": sizes, "seconds": seconds}

    return st.builds(
        build,
        st.integers(3, 8),
        st.integers(1, 40),
        st.integers(2, 500),
        st.integers(10, 100),
        st.sampled_from([3, 5, 7]),
        st.integers(0, 2**31),
    )


EXERCISE = Exercise(
    id="00.4",
    title="Two numbers from many",
    kind="build",
    reference=fit_bandwidth,
    draw=draw,
    mistakes=(
        Mistake(
            "rate per point",
            "Small sizes measure the fixed cost, not the bandwidth. Does time over size stay the same?",
            rate_per_point,
        ),
        Mistake(
            "mean of repetitions",
            "Plot the repetitions of one size. One is absurd; how far does it pull a mean?",
            mean_of_repetitions,
        ),
        Mistake("slope not inverted", "What unit has your slope?", slope_not_inverted),
        Mistake(
            "largest size only",
            "Where did the fixed cost go? One point leaves it out of sight.",
            largest_size_only,
        ),
        Mistake(
            "fastest repetition",
            "How often would you get the luckiest of all repetitions? The middle one was asked for.",
            fastest_repetition,
        ),
        Mistake(
            "line through the ends",
            "Two points make a line. What have all the others to say about it?",
            line_through_the_ends,
        ),
    ),
    hints=(
        "What would the line look like through the undisturbed points alone?",
        "First one robust number for each size, the median; then the line's slope, seconds per byte.",
        "`medians = [statistics.median(repetitions) for repetitions in seconds]`",
    ),
    shown=(
        {
            "sizes": [1_000_000, 2_000_000, 4_000_000, 8_000_000],
            "seconds": [
                [fixed + size / 1e10 for fixed in (2e-5, 2e-5, 9e-4)]
                for size in (1_000_000, 2_000_000, 4_000_000, 8_000_000)
            ],
        },
    ),
    outputs="a pair of floats: bytes per second, and seconds",
)
