"""The projection for one token is the projection for many."""

import pytest
import torch

from memlessons.model.linear import Linear


@pytest.mark.parametrize("outputs", [16, 48, 160, 17, 1])
@pytest.mark.parametrize("shape", [(1, 1), (), (3, 1), (1, 5)])
def test_it_is_the_product_with_the_transposed_matrix(outputs: int, shape: tuple[int, ...]) -> None:
    stream = torch.Generator().manual_seed(0)
    x = torch.randn(*shape, 24, generator=stream, dtype=torch.float64)
    weight = torch.randn(outputs, 24, generator=stream, dtype=torch.float64)
    by_hand = torch.stack([(x * row).sum(-1) for row in weight], dim=-1)
    got = Linear(weight)(x)
    assert got.shape == (*shape, outputs)
    assert torch.allclose(got, by_hand, atol=1e-12)


def test_it_takes_inputs_that_are_not_contiguous() -> None:
    x = torch.randn(24, 2, dtype=torch.float64).T[:1]
    weight = torch.randn(32, 24, dtype=torch.float64)
    assert torch.allclose(Linear(weight)(x), x @ weight.T, atol=1e-12)
