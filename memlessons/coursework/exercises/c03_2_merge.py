"""03.2: one attention result out of two, each over its own part of the tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

State = tuple[Tensor, Tensor]


def merge(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    """Attention over all tokens, from its results over two separate parts of them, a and b.

    For each of H heads: `o_a` [H, D] is the softmax-weighted average of the values of part a, `lse_a` [H]
    the natural logarithm of its sum of exp(score), which may be in the hundreds or thousands; `o_b`,
    `lse_b` likewise; all float64. A part without tokens is the pair of zeros and -inf. Returns (o, lse) of
    both parts together, [H, D] and [H]; two empty parts give an empty one.
    """
    highest = torch.maximum(lse_a, lse_b)
    highest = torch.where(highest == -math.inf, 0.0, highest)  # both empty: -inf - -inf would be NaN
    weight_a, weight_b = (lse_a - highest).exp(), (lse_b - highest).exp()
    total = weight_a + weight_b
    o = weight_a[:, None] * o_a + weight_b[:, None] * o_b
    return o / torch.where(total == 0, 1.0, total)[:, None], highest + total.log()


def _plain_average(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    return (o_a + o_b) / 2, torch.logaddexp(lse_a, lse_b)


def _overflow(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    weight_a, weight_b = lse_a.exp(), lse_b.exp()
    total = weight_a + weight_b
    o = weight_a[:, None] * o_a + weight_b[:, None] * o_b
    return o / torch.where(total == 0, 1.0, total)[:, None], total.log()


def _base_2(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    highest = torch.maximum(lse_a, lse_b)
    highest = torch.where(highest == -math.inf, 0.0, highest)
    weight_a, weight_b = (lse_a - highest).exp2(), (lse_b - highest).exp2()
    total = weight_a + weight_b
    o = weight_a[:, None] * o_a + weight_b[:, None] * o_b
    return o / torch.where(total == 0, 1.0, total)[:, None], highest + total.log2()


def _maximum_as_lse(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    highest = torch.maximum(lse_a, lse_b)
    shift = torch.where(highest == -math.inf, 0.0, highest)
    weight_a, weight_b = (lse_a - shift).exp(), (lse_b - shift).exp()
    total = weight_a + weight_b
    o = weight_a[:, None] * o_a + weight_b[:, None] * o_b
    return o / torch.where(total == 0, 1.0, total)[:, None], highest


def _weights_are_lse(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    o = lse_a[:, None] * o_a + lse_b[:, None] * o_b
    return o / (lse_a + lse_b)[:, None], torch.logaddexp(lse_a, lse_b)


def _two_empties_give_nan(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    highest = torch.maximum(lse_a, lse_b)
    weight_a, weight_b = (lse_a - highest).exp(), (lse_b - highest).exp()
    total = weight_a + weight_b
    o = weight_a[:, None] * o_a + weight_b[:, None] * o_b
    return o / total[:, None], highest + total.log()


def _two_empties_give_nan_in_o(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> State:
    # The same mistake, written shorter: here the lse comes out right.
    lse = torch.logaddexp(lse_a, lse_b)
    return (lse_a - lse).exp()[:, None] * o_a + (lse_b - lse).exp()[:, None] * o_b, lse


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        dice = torch.Generator().manual_seed(pick(st.integers(0, 2**32 - 1)))
        heads, width = pick(st.integers(1, 4)), pick(st.integers(1, 5))
        level = pick(st.sampled_from([0.0, 0.0, 5.0, 800.0, 900.0, 3000.0]))
        lse = level + 2 * torch.randn(2, heads, generator=dice, dtype=torch.float64)
        o = torch.randn(2, heads, width, generator=dice, dtype=torch.float64)
        # Some heads have an empty part. Both parts empty is left to the pin, so that whoever forgets only
        # that is told about that, and whoever forgets something else as well is told about the other.
        for head in range(heads):
            empty = pick(st.sampled_from([None] * 6 + [0, 1]))
            if empty is not None:
                lse[empty, head], o[empty, head] = -math.inf, 0.0
        return {"o_a": o[0], "lse_a": lse[0], "o_b": o[1], "lse_b": lse[1]}

    return inputs()


def _inputs(o_a: list[list[float]], lse_a: list[float], o_b: list[list[float]], lse_b: list[float]) -> Inputs:
    arguments = {"o_a": o_a, "lse_a": lse_a, "o_b": o_b, "lse_b": lse_b}
    return {name: torch.tensor(rows, dtype=torch.float64) for name, rows in arguments.items()}


EXERCISE = Exercise(
    id="03.2",
    title="Merge",
    kind="build",
    reference=merge,
    draw=_draw,
    mistakes=(
        Mistake(
            "plain average",
            "3 tokens against 3,000: should both parts count the same?",
            _plain_average,
        ),
        Mistake("overflow", "What is exp(800)? Try your function with an lse of 800.", _overflow),
        Mistake("base 2", "Which logarithm came in?", _base_2),
        Mistake(
            "maximum as lse",
            "What do two equal halves weigh together? More than one of them.",
            _maximum_as_lse,
        ),
        Mistake(
            "weights are lse",
            "lse is a logarithm. What is a part's own sum of exp(score)?",
            _weights_are_lse,
        ),
        Mistake(
            "two empties give NaN",
            "What is 0/0 here, and -inf minus -inf? Merge two parts without tokens.",
            _two_empties_give_nan,
            pins=(
                _inputs([[0.0, 0.0]], [-math.inf], [[0.0, 0.0]], [-math.inf]),
                _inputs([[0.0]] * 3, [-math.inf] * 3, [[0.0]] * 3, [-math.inf] * 3),
            ),
        ),
        Mistake(
            "two empties give NaN in o",
            "What is -inf minus -inf? Your lse survives two parts without tokens; what does your o become?",
            _two_empties_give_nan_in_o,
            pins=(_inputs([[0.0]] * 2, [-math.inf] * 2, [[0.0]] * 2, [-math.inf] * 2),),
        ),
    ),
    hints=(
        "Each part's output was divided by its own sum of exponentials. By what should it have been divided?",
        "exp(lse) is a part's weight. Take the larger lse off both before you exponentiate, and think of a "
        "weight of none.",
        "`weight_a = (lse_a - torch.maximum(lse_a, lse_b)).exp()`, and the same for b",
    ),
    shown=(_inputs([[8.0, 0.0]], [math.log(3)], [[0.0, 4.0]], [0.0]),),
    outputs="a pair (o, lse): tensors [H, D] and [H]",
    forbidden=("memlessons.kernels.combine.merge_states", "memlessons.kernels.combine.combine"),
)
