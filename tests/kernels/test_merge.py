"""Partial answers put together: the algebra that splits rest on."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from memlessons.kernels import combine, merge_states

INF = float("inf")


def state(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Attention over these scores [n] and values [n, D] as one partial answer."""
    if len(scores) == 0:
        return torch.zeros(values.shape[-1], dtype=torch.float64), torch.tensor(-INF, dtype=torch.float64)
    weights = torch.exp(scores - scores.max())
    return (weights @ values) / weights.sum(), scores.max() + torch.log(weights.sum())


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 2**31), st.sampled_from([1.0, 30.0, 700.0]))
def test_merging_two_parts_is_attention_over_both(a: int, b: int, seed: int, scale: float) -> None:
    g = torch.Generator().manual_seed(seed)
    scores = torch.randn(a + b, generator=g, dtype=torch.float64) * scale
    values = torch.randn(a + b, 3, generator=g, dtype=torch.float64)
    o, lse = merge_states(*state(scores[:a], values[:a]), *state(scores[a:], values[a:]))
    whole, whole_lse = state(scores, values)
    assert torch.allclose(o, whole, atol=1e-12)
    assert torch.allclose(lse, whole_lse, atol=1e-12)


def test_two_empty_parts_are_an_empty_part() -> None:
    zero, none = torch.zeros(2, 3), torch.full((2,), -INF)
    o, lse = merge_states(zero, none, zero, none)
    assert torch.equal(o, zero) and torch.equal(lse, none)


@pytest.mark.parametrize("lse", [800.0, -800.0, 0.0])
def test_an_empty_part_changes_nothing_whatever_it_holds(lse: float) -> None:
    o, rubbish = torch.tensor([1.0, -2.0]), torch.tensor([float("nan"), INF])
    for pair in ((o, lse, rubbish, -INF), (rubbish, -INF, o, lse)):
        merged, merged_lse = merge_states(pair[0], torch.tensor(pair[1]), pair[2], torch.tensor(pair[3]))
        assert torch.equal(merged, o) and float(merged_lse) == lse


def test_equal_halves_weigh_twice_as_much_together() -> None:
    o, lse = merge_states(torch.tensor([1.0]), torch.tensor(800.0), torch.tensor([3.0]), torch.tensor(800.0))
    assert o.item() == 2.0
    assert lse.item() == pytest.approx(800.0 + math.log(2))


@given(st.integers(1, 6), st.integers(0, 2**31))
def test_the_order_in_which_parts_are_merged_does_not_matter(parts: int, seed: int) -> None:
    g = torch.Generator().manual_seed(seed)
    part = torch.randn(2, parts, 3, generator=g, dtype=torch.float64)
    lse = torch.randn(2, parts, generator=g, dtype=torch.float64) * 50
    o, total = combine(part, lse)
    one, one_lse = part[:, 0], lse[:, 0]
    for s in range(1, parts):
        one, one_lse = merge_states(one, one_lse, part[:, s], lse[:, s])
    assert torch.allclose(o, one, atol=1e-12) and torch.allclose(total, one_lse, atol=1e-12)
