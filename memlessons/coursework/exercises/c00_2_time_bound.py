"""00.2 The bound: the least time of work whose fetching and computing overlap perfectly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def least_seconds(flops: float, bytes_moved: float, flop_rate: float, bandwidth: float) -> tuple[float, str]:
    """The least seconds, and "compute" or "memory": whichever takes that long, "compute" if both do.

    `flops` FLOP at `flop_rate` FLOP/s, `bytes_moved` bytes at `bandwidth` bytes/s, both at the same time.
    """
    computing, moving = flops / flop_rate, bytes_moved / bandwidth
    return (computing, "compute") if computing >= moving else (moving, "memory")


def added(flops: float, bytes_moved: float, flop_rate: float, bandwidth: float) -> tuple[float, str]:
    """One after the other."""
    computing, moving = flops / flop_rate, bytes_moved / bandwidth
    return computing + moving, "compute" if computing >= moving else "memory"


def swapped_rates(flops: float, bytes_moved: float, flop_rate: float, bandwidth: float) -> tuple[float, str]:
    """FLOP at the bandwidth, bytes at the FLOP rate."""
    computing, moving = flops / bandwidth, bytes_moved / flop_rate
    return (computing, "compute") if computing >= moving else (moving, "memory")


def faster(flops: float, bytes_moved: float, flop_rate: float, bandwidth: float) -> tuple[float, str]:
    """The time of the one that is done first."""
    computing, moving = flops / flop_rate, bytes_moved / bandwidth
    return (computing, "compute") if computing <= moving else (moving, "memory")


def one_averaged_rate(
    flops: float, bytes_moved: float, flop_rate: float, bandwidth: float
) -> tuple[float, str]:
    """FLOP and bytes in one heap, at one rate between the two."""
    seconds = (flops + bytes_moved) / ((flop_rate + bandwidth) / 2)
    return seconds, "compute" if flops / flop_rate >= bytes_moved / bandwidth else "memory"


def memory_on_a_tie(
    flops: float, bytes_moved: float, flop_rate: float, bandwidth: float
) -> tuple[float, str]:
    """The larger pair: of two equal times the one with the later word."""
    return max((flops / flop_rate, "compute"), (bytes_moved / bandwidth, "memory"))


def draw() -> SearchStrategy[Inputs]:
    """Machines from a laptop to an accelerator; the two times within a factor of thirty, never equal."""
    from hypothesis import strategies as st

    def build(milliseconds: int, times: int, slower: bool, flop_rate: int, ridge: int) -> Inputs:
        long, short = milliseconds / 1e3, milliseconds / 1e3 / times
        computing, moving = (long, short) if slower else (short, long)
        rate = flop_rate * 1e9
        return {
            "flops": computing * rate,
            "bytes_moved": moving * rate / ridge,
            "flop_rate": rate,
            "bandwidth": rate / ridge,
        }

    return st.builds(
        build,
        st.integers(1, 500),
        st.integers(2, 30),
        st.booleans(),
        st.sampled_from([20, 73, 400, 5_000, 60_000, 990_000]),
        st.integers(2, 300),
    )


EXERCISE = Exercise(
    id="00.2",
    title="The bound",
    kind="build",
    reference=least_seconds,
    draw=draw,
    mistakes=(
        Mistake("sum", "Of two jobs that run side by side, which one ends last?", added),
        Mistake("swapped rates", "Divide like by like: what unit has each of your quotients?", swapped_rates),
        Mistake("min", "Who is done first waits for the slower one. When is the work done?", faster),
        Mistake(
            "one averaged rate",
            "FLOP and bytes don't add: what unit would their sum have?",
            one_averaged_rate,
        ),
        Mistake(
            "memory on a tie",
            "If both take equally long, what does the prompt want to read?",
            memory_on_a_tie,
            # Written so that both quotients are the same float, however they are computed.
            pins=(
                {"flops": 2.0**33, "bytes_moved": 2.0**30, "flop_rate": 2.0**40, "bandwidth": 2.0**37},
                {"flops": 1e10, "bytes_moved": 1e9, "flop_rate": 1e12, "bandwidth": 1e11},
            ),
        ),
    ),
    hints=(
        "If fetching takes 10 ms and computing 6 ms, both at once: after how many is all done?",
        "Two times: FLOP over FLOP per second, and bytes over bytes per second. The larger decides.",
        "`computing, moving = flops / flop_rate, bytes_moved / bandwidth`",
    ),
    shown=(
        {"flops": 6e9, "bytes_moved": 1e9, "flop_rate": 1e12, "bandwidth": 1e11},
        {"flops": 6e11, "bytes_moved": 1e9, "flop_rate": 1e12, "bandwidth": 1e11},
    ),
    outputs='a pair: seconds as a float, and "compute" or "memory"',
    forbidden=("memlessons.cost.roofline.time_bound",),
)
