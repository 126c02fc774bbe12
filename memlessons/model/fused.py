"""A layer's work around attention, for a few tokens on a CPU, in two compiled calls instead of two dozen."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from memlessons.model.linear import Int8Linear, Linear, Projection

MOST_TOKENS = 8
"""Tokens of one call up to which it wins: beyond, matrix products of torch use each weight more often."""


class FusedLayer:
    """The projections, norms and the feed-forward of one Llama-like layer in float32.

    Computes what `Decoder._project` and `Decoder._finish` do, to the order of sums, and copies no weight.
    """

    def __init__(
        self, attn_norm: Tensor, qkv: Projection, out: Projection, ffn_norm: Tensor, gate_up: Projection,
        down: Projection, eps: float,
    ) -> None:  # fmt: skip
        self._rows = len(_matrix(qkv)[0])
        # As numpy sees them, once: asking for each of them in each call costs as much as computing.
        small = np.float32(eps)
        self._before = (attn_norm.numpy(), small, *_arrays(qkv))
        self._after = (*_arrays(out), ffn_norm.numpy(), small, *_arrays(gate_up), *_arrays(down))

    def project(self, x: Tensor, cos: Tensor, sin: Tensor, turned: int) -> Tensor:
        """Heads `[N, heads, D]` of x `[N, hidden]`, the first `turned` rotated by cos and sin `[N, D]`."""
        from memlessons.kernels.block_twin import project_kernel
        from memlessons.kernels.cpu import run

        y = torch.empty(x.shape[0], self._rows // cos.shape[-1], cos.shape[-1])
        run(project_kernel, x.numpy(), *self._before, cos.numpy(), sin.numpy(), turned, y.numpy())
        return y

    def finish(self, x: Tensor, heads: Tensor) -> Tensor:
        """What the layer hands on, `[N, hidden]`, from x and the outputs of its heads `[N, HQ * D]`."""
        from memlessons.kernels.block_twin import finish_kernel
        from memlessons.kernels.cpu import run

        y = torch.empty_like(x)
        run(finish_kernel, x.numpy(), heads.numpy(), *self._after, y.numpy())
        return y


def _matrix(projection: Projection) -> tuple[Tensor, Tensor]:
    """A weight `[out, in]`, float32 or codes, and the factor of each row."""
    if isinstance(projection, Int8Linear):
        return projection.codes, projection.scale
    assert isinstance(projection, Linear)
    return projection.weight, torch.ones(len(projection.weight))


def _arrays(projection: Projection) -> Iterator[Any]:
    return (t.numpy() for t in _matrix(projection))
