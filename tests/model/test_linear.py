"""The projection for one token is the projection for many."""

import pytest
import torch

from memlessons.model.linear import Int8Linear, Linear, in_eight_bits, projection


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 40)])
def test_in_eight_bits_it_is_the_product_with_the_widened_codes(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    stream = torch.Generator().manual_seed(0)
    x = torch.randn(*shape, 24, generator=stream, dtype=dtype)
    weight = torch.randn(50, 24, generator=stream)
    kept = in_eight_bits({"w": weight, "norm": weight[0]})
    made = projection(kept, "w")
    assert isinstance(made, Int8Linear) and kept["norm"] is not None and set(kept) == {"w", "w.scale", "norm"}
    widened = made.codes.double() * made.scale[:, None].double()
    assert torch.allclose(made(x).double(), x.double() @ widened.T, rtol=1e-5, atol=1e-5)
    assert (widened - weight).abs().max() <= 0.5001 * weight.abs().max() / 127
