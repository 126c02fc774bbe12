"""Multi-head latent attention at decode time: all heads over one latent, without expanding it.

    cache [B, 1, T, rank + rope]    │ latent ........................ │ position │      one row for each token
    q_latent [B, HQ, rank]          │ = q_nope · W_UK, head by head     │                what is compared
    q_rope   [B, HQ, rope]                                              │ rotated  │
    o_latent [B, HQ, rank]          │ = shares · latent │ ──► · W_UV, head by head: the heads' outputs

A score is q_nope · (W_UK c) = (q_nope W_UK) · c: the projection that would expand each token's latent c is
applied to the one query instead (absorbed).
"""

from typing import Any

import torch
from torch import Tensor

from memlessons.kernels.decode import decode
from memlessons.kernels.errors import BadArgument


def mla_decode(
    q_latent: Tensor, q_rope: Tensor, cache: Tensor, lengths: Tensor, *, scale: float, **options: Any
) -> Tensor | tuple[Tensor, Tensor]:
    """o_latent `[B, HQ, rank]` of absorbed MLA (DeepSeek-V2, arXiv:2405.04434, section 2.1).

    q_latent `[B, HQ, rank]`, q_rope `[B, HQ, rope]`, cache `[B, 1, T, rank + rope]` (or a pool with `table`):
    the latent first, then the part that carries positions. `scale` is that of the model's own heads,
    (width without rope + rope width) ** -0.5, never (rank + rope) ** -0.5; so it has no default. `options`
    are those of `decode`, such as `table`, `k_scale`, `backend` and `return_lse`.

    Raises BadArgument for shapes that do not fit, and what `decode` raises.
    """
    for name, q in (("q_latent", q_latent), ("q_rope", q_rope)):
        if not isinstance(q, Tensor) or q.dim() != 3 or q.shape[:2] != q_latent.shape[:2]:
            shape = tuple(q.shape) if isinstance(q, Tensor) else type(q).__name__
            raise BadArgument(
                f"{name} must be [B, HQ, width] with the batch and heads of q_latent, got {shape}"
            )
    rank, rope = q_latent.shape[-1], q_rope.shape[-1]
    if cache.dim() != 4 or cache.shape[-1] != rank + rope:
        raise BadArgument(
            f"cache has shape {tuple(cache.shape)}: its rows must be rank + rope = {rank} + {rope} wide"
        )
    q = torch.cat((q_latent, q_rope), dim=-1)
    return decode(q, cache, None, lengths, value_width=rank, scale=scale, **options)
