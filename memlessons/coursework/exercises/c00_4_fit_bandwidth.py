"""00.4 Two numbers from many: bandwidth and fixed cost from timed reads, some of them interrupted."""

from __future__ import annotations

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


def draw() -> SearchStrategy[Inputs]:
    """Reads that lie exactly on a line, but for one repetition each: every sound method finds the same."""
    from hypothesis import strategies as st

    @st.composite
    def inputs(draw: st.DrawFn) -> Inputs:
        bandwidth = draw(st.integers(2, 500)) * 1e8
        fixed = draw(st.integers(1, 300)) * 1e-6
        sizes = draw(st.lists(st.integers(1, 400), min_size=3, max_size=8, unique=True))
        repetitions = draw(st.sampled_from([3, 4, 5]))
        seconds = []
        for size in sizes:
            each = [fixed + size * 50_000 / bandwidth] * repetitions
            each[draw(st.integers(0, repetitions - 1))] += draw(st.integers(2, 30)) * 1e-3
            seconds.append(each)
        return {"sizes": [size * 50_000 for size in sizes], "seconds": seconds}

    return inputs()


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
    ),
    hints=(
        "What would the line look like through the undisturbed points alone?",
        "First one robust number for each size, the median; then the line's slope, seconds per byte.",
        "`slope, fixed = numpy.polyfit(sizes, [statistics.median(s) for s in seconds], 1)`",
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
