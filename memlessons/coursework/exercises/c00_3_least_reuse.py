"""00.3 Least reuse: how much work each loaded element must feed before arithmetic is the limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def least_reuse(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The fewest multiply-adds per loaded element with which computing takes at least as long as loading.

    `flop_rate` is FLOP/s, `bandwidth` bytes/s, an element has `element_bytes` bytes. A multiply-add is two
    FLOP.
    """
    flop_per_element = flop_rate / bandwidth * element_bytes
    return math.ceil(flop_per_element / 2)


def flop_counted_as_multiply_add(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """FLOP for multiply-adds."""
    return math.ceil(flop_rate / bandwidth * element_bytes)


def element_size_lost(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """Per byte, not per element."""
    return math.ceil(flop_rate / bandwidth / 2)


def rounded_down(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The whole number below."""
    return int(flop_rate / bandwidth * element_bytes / 2)


def rounded_to_the_nearest(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The closest whole number."""
    return round(flop_rate / bandwidth * element_bytes / 2)


def one_too_many(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """One more than the whole number below, also where that is enough."""
    return int(flop_rate / bandwidth * element_bytes / 2) + 1


def inverted(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The ridge upside down."""
    return math.ceil(bandwidth / flop_rate * element_bytes / 2)


def draw() -> SearchStrategy[Inputs]:
    """Quotients from 1 to 400, whole or a tenth and more from whole and half: none hangs on the last bit."""
    from hypothesis import strategies as st

    def build(whole: int, tenths: int, gigabytes: int, power: int, element_bytes: int) -> Inputs:
        # multiply-adds per element = flop_rate x element_bytes / (2 x bandwidth)
        if tenths == 0:
            # A bandwidth of 2**n: whole in floats too, in whatever order one divides.
            rate, bandwidth = whole * 2 * 2**power // element_bytes, 2**power
        else:
            bandwidth = gigabytes * 10**9
            rate = (10 * whole + tenths) * 2 * bandwidth // 10 // element_bytes
        return {"flop_rate": rate, "bandwidth": bandwidth, "element_bytes": element_bytes}

    return st.builds(
        build,
        st.integers(1, 400),
        st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 6, 7, 8, 9]),
        st.integers(10, 5_000),
        st.integers(33, 42),
        st.sampled_from([1, 2, 4, 8]),
    )


EXERCISE = Exercise(
    id="00.3",
    title="Least reuse",
    kind="decide",
    reference=least_reuse,
    draw=draw,
    mistakes=(
        Mistake(
            "FLOP counted as multiply-add", "How many FLOP are in `a * b + c`?", flop_counted_as_multiply_add
        ),
        Mistake(
            "element size lost",
            "The ridge is per byte. What do you load, bytes or elements?",
            element_size_lost,
        ),
        Mistake(
            "rounded down", "With that many, does computing already take as long as loading?", rounded_down
        ),
        Mistake(
            "rounded to the nearest",
            "Where you rounded down: does computing already take as long as loading?",
            rounded_to_the_nearest,
        ),
        Mistake(
            "one too many",
            "If the quotient is a whole number, is that number not enough already?",
            one_too_many,
        ),
        Mistake("inverted", "A faster memory needs less reuse. What does yours say?", inverted),
    ),
    hints=(
        "While one element is on its way, how much could have been computed?",
        "FLOP per byte is `flop_rate / bandwidth`. How many is that per element, and how many multiply-adds?",
        "`flop_per_element = flop_rate / bandwidth * element_bytes`, and `math.ceil` rounds up",
    ),
    shown=(
        {"flop_rate": 73_000_000_000, "bandwidth": 16_600_000_000, "element_bytes": 4},
        {"flop_rate": 990_000_000_000_000, "bandwidth": 4_800_000_000_000, "element_bytes": 2},
    ),
    outputs="an int, multiply-adds",
    forbidden=("memlessons.cost.roofline.ridge",),
)
