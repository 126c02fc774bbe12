"""00.3 Least reuse: how much work each loaded element must feed before arithmetic is the limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def least_reuse(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The fewest multiply-adds, at least 1, that each loaded element must feed to be compute bound.

    `flop_rate` is FLOP/s, `bandwidth` bytes/s, an element has `element_bytes` bytes. A multiply-add is two
    FLOP.
    """
    flop_per_element = flop_rate / bandwidth * element_bytes
    return max(1, math.ceil(flop_per_element / 2))


def flop_counted_as_multiply_add(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """FLOP for multiply-adds."""
    return max(1, math.ceil(flop_rate / bandwidth * element_bytes))


def element_size_lost(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """Per byte, not per element."""
    return max(1, math.ceil(flop_rate / bandwidth / 2))


def rounded_down(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The whole number below."""
    return max(1, int(flop_rate / bandwidth * element_bytes / 2))


def inverted(flop_rate: int, bandwidth: int, element_bytes: int) -> int:
    """The ridge upside down."""
    return max(1, math.ceil(bandwidth / flop_rate * element_bytes / 2))


def draw() -> SearchStrategy[Inputs]:
    """Quotients from 1 to 400, a tenth or more away from whole numbers: no rounding hangs on the last bit."""
    from hypothesis import strategies as st

    def build(whole: int, tenths: int, bandwidth: int, element_bytes: int) -> Inputs:
        # multiply-adds per element = flop_rate x element_bytes / (2 x bandwidth)
        rate = (10 * whole + tenths) * 2 * bandwidth * 10**8 // element_bytes
        return {"flop_rate": rate, "bandwidth": bandwidth * 10**9, "element_bytes": element_bytes}

    return st.builds(
        build, st.integers(1, 400), st.integers(1, 9), st.integers(10, 5_000), st.sampled_from([1, 2, 4, 8])
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
        Mistake("inverted", "A faster memory needs less reuse. What does yours say?", inverted),
    ),
    hints=(
        "While one element is on its way, how much could have been computed?",
        "FLOP per byte is `flop_rate / bandwidth`; then per element, then in multiply-adds, then rounded up.",
        "`math.ceil(flop_rate / bandwidth * element_bytes / 2)`, and at least 1",
    ),
    shown=(
        {"flop_rate": 73_000_000_000, "bandwidth": 16_600_000_000, "element_bytes": 4},
        {"flop_rate": 990_000_000_000_000, "bandwidth": 4_800_000_000_000, "element_bytes": 2},
    ),
    outputs="an int, multiply-adds",
    forbidden=("memlessons.cost.roofline.ridge",),
)
