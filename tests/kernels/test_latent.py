"""Absorbed multi-head latent attention is attention over the heads that the latent expands to."""

import pytest
import torch

from memlessons.kernels import BadArgument, mla_decode


def test_absorbed_equals_expanded() -> None:
    g = torch.Generator().manual_seed(0)
    B, HQ, T, rank, rope, nope, DV = 2, 3, 9, 16, 4, 8, 5
    made = {"dtype": torch.float64, "generator": g}
    latent, k_rope = torch.randn(B, T, rank, **made), torch.randn(B, T, rope, **made)
    w_uk, w_uv = torch.randn(HQ, nope, rank, **made), torch.randn(HQ, DV, rank, **made)
    q_nope, q_rope = torch.randn(B, HQ, nope, **made), torch.randn(B, HQ, rope, **made)
    lengths = torch.tensor([9, 4], dtype=torch.int32)
    scale = (nope + rope) ** -0.5

    expanded = torch.zeros(B, HQ, DV, dtype=torch.float64)
    for b in range(B):
        for h in range(HQ):
            keys = torch.cat((latent[b] @ w_uk[h].T, k_rope[b]), dim=-1)[: lengths[b]]
            shares = torch.softmax(keys @ torch.cat((q_nope[b, h], q_rope[b, h])) * scale, dim=0)
            expanded[b, h] = shares @ (latent[b, : lengths[b]] @ w_uv[h].T)

    q_latent = torch.einsum("bhn,hnr->bhr", q_nope, w_uk)
    cache = torch.cat((latent, k_rope), dim=-1)[:, None].contiguous()
    for backend in ("reference", "cpu"):
        o = mla_decode(q_latent, q_rope, cache, lengths, scale=scale, backend=backend)
        absorbed = torch.einsum("bhr,hvr->bhv", o, w_uv)
        assert torch.allclose(absorbed, expanded, atol=1e-12)


def test_what_does_not_fit_is_named() -> None:
    q, rope, cache = torch.ones(1, 2, 8), torch.ones(1, 2, 4), torch.ones(1, 1, 3, 12)
    lengths = torch.tensor([3], dtype=torch.int32)
    with pytest.raises(BadArgument, match=r"rank \+ rope = 8 \+ 4"):
        mla_decode(q, rope, cache[..., :11], lengths, scale=0.3)
    with pytest.raises(BadArgument, match="q_rope must be"):
        mla_decode(q, torch.ones(1, 3, 4), cache, lengths, scale=0.3)
    with pytest.raises(TypeError, match="scale"):
        mla_decode(q, rope, cache, lengths)
