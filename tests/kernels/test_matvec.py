"""A few tokens times a matrix of eight bits."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.kernels import BackendCannot, BadArgument
from memlessons.kernels.matvec import MOST_TOKENS, product_int8


@given(st.integers(0, 12), st.integers(1, 70), st.integers(1, 90), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_it_is_the_product_with_the_widened_matrix(N: int, rows: int, width: int, seed: int) -> None:
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(N, width, generator=g)
    codes = torch.randint(-127, 128, (rows, width), generator=g, dtype=torch.int8)
    scale = torch.rand(rows, generator=g)
    truth = x.double() @ (codes.double() * scale[:, None].double()).T
    for backend in ("auto", "cpu", "reference"):
        y = product_int8(x, codes, scale, backend=backend)
        assert y.dtype == torch.float32 and tuple(y.shape) == (N, rows)
        assert (y.double() - truth).norm() <= 1e-5 * truth.norm() + 1e-12


def test_the_extreme_codes_are_exact() -> None:
    codes = torch.tensor([[127, -127, -128, 0]], dtype=torch.int8)
    assert product_int8(torch.ones(1, 4), codes, torch.tensor([2.0]), backend="cpu").item() == -256.0


def test_out_takes_the_result() -> None:
    x, codes, out = torch.ones(2, 3), torch.ones(5, 3, dtype=torch.int8), torch.full((2, 5), float("nan"))
    for backend in ("cpu", "reference"):
        assert product_int8(x, codes, torch.ones(5), out=out.fill_(-1), backend=backend) is out
        assert torch.equal(out, torch.full((2, 5), 3.0))


def test_many_tokens_share_one_widened_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    from memlessons.kernels import matvec

    calls = []
    monkeypatch.setattr(matvec, "_on_cpu", lambda x, *rest: calls.append(len(x)))
    for tokens in (1, MOST_TOKENS, MOST_TOKENS + 1):
        product_int8(torch.ones(tokens, 3), torch.ones(5, 3, dtype=torch.int8), torch.ones(5))
    assert calls == [1, MOST_TOKENS]


x, codes, scale = torch.ones(2, 3), torch.ones(5, 3, dtype=torch.int8), torch.ones(5)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "x has a batch": ({"x": x[None]}, r"x must be a float tensor \[N, I\]"),
    "x is whole": ({"x": x.int()}, "x must be"),
    "codes are floats": ({"codes": codes.float()}, r"codes must be an int8 tensor \[O, I\]"),
    "widths differ": ({"x": x[:, :2].contiguous()}, r"x is 2 wide, codes \(5, 3\) need 3"),
    "a scale too few": ({"scale": scale[:4]}, r"scale must be a float32 tensor \[O\]=\[5\]"),
    "scales in float64": ({"scale": scale.double()}, "scale must be"),
    "out of another shape": ({"out": torch.ones(5, 2)}, "out must be"),
    "unknown backend": ({"backend": "triton"}, "backend='triton'"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_argument_is_named(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"x": x, "codes": codes, "scale": scale} | changes
    with pytest.raises(BadArgument, match=message):
        product_int8(given.pop("x"), given.pop("codes"), given.pop("scale"), **given)


def test_the_loop_computes_in_float32_and_says_so() -> None:
    with pytest.raises(BackendCannot, match="float32 on a CPU.*use 'reference'"):
        product_int8(x.double(), codes, scale, backend="cpu")
    assert product_int8(x.double(), codes, scale).dtype == torch.float64


def test_in_sixteen_bits_sums_of_codes_do_not_overflow() -> None:
    tokens, loud = torch.full((1, 512), 8.0).half(), torch.full((3, 512), 127, dtype=torch.int8)
    y = product_int8(tokens, loud, torch.full((3,), 1e-3))
    assert y.dtype == torch.float16 and torch.allclose(y.float(), torch.tensor(8 * 512 * 0.127), rtol=2e-3)
