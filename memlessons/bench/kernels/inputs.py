"""Random inputs of a decode call, and how many sets of them a race needs so that no cache helps."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from memlessons.bench.kernels.shapes import Shape

COLD = 5
"""A pool of inputs this many times the last cache: when a set's turn comes again, it was driven out."""
MOST_SETS = 1024
LATENT_SCALE = (128 + 64) ** -0.5
"""Of a model whose heads are 128 wide and 64 more for positions, whatever its latent's width."""


class Inputs(NamedTuple):
    """One set of inputs of a call, the place for its answer, and the call's other arguments by name."""

    q: Tensor
    k: Tensor
    v: Tensor | None
    lengths: Tensor
    out: Tensor
    options: dict[str, Any] = {}  # noqa: RUF012 (never written to)

    @property
    def kv(self) -> tuple[Tensor, Tensor]:
        """Keys and values, for calls that know no latent; ValueError for one."""
        if self.v is None:
            raise ValueError("a latent memory has no values of its own")
        return self.k, self.v


def sets_needed(set_bytes: int, cache_bytes: int, most: int = MOST_SETS) -> int:
    """How many sets of inputs a pool needs so that none is found in the cache: one, if it is large enough."""
    return max(1, min(most, -(-COLD * cache_bytes // set_bytes)))


def pool(shape: Shape, sets: int, dtype: torch.dtype, where: torch.device, seed: int) -> list[Inputs]:
    """`sets` sets of random inputs, never zeros: memory of zeros costs less power, and runs faster.

    Pages lie in a random order, each sequence's among those of all others.
    """
    g = torch.Generator(where).manual_seed(seed)
    return [_one(shape, dtype, where, g) for _ in range(sets)]


def _one(shape: Shape, dtype: torch.dtype, where: torch.device, g: torch.Generator) -> Inputs:
    B, latent = shape.B, shape.value_width is not None
    options: dict[str, Any] = {"window": shape.window, "sink_tokens": shape.sink_tokens}
    if latent:
        options |= {"value_width": shape.value_width, "scale": LATENT_SCALE}
    if shape.sink_logits:
        options["sink_logits"] = torch.randn(shape.HQ, generator=g, device=where)
    q = torch.randn(B, shape.HQ, shape.D, generator=g, dtype=dtype, device=where)
    slots = (B, shape.HKV, shape.T)
    if shape.page:
        pages = B * shape.pages
        slots = (pages, shape.HKV, shape.page)
        options["table"] = torch.randperm(pages, generator=g, device=where).int().view(B, shape.pages)
    memories = []
    for name, width in (("k", shape.D),) if latent else (("k", shape.D), ("v", shape.D)):
        if shape.int8:
            size = (*slots, width)
            memories.append(torch.randint(-127, 128, size, generator=g, dtype=torch.int8, device=where))
            # Codes spread over all of -127 ... 127 have a deviation of 73: values of about 1.
            scale = torch.rand(slots, generator=g, device=where).add_(0.5).div_(73)
            options[f"{name}_scale"] = scale
        else:
            memories.append(torch.randn(*slots, width, generator=g, dtype=dtype, device=where))
    lengths = torch.full((B,), shape.T, dtype=torch.int32, device=where)
    out = torch.full((B, shape.HQ, shape.DV), float("nan"), dtype=dtype, device=where)
    return Inputs(q, memories[0], memories[1] if len(memories) > 1 else None, lengths, out, options)
