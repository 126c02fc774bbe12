"""The shapes that the kernel race measures, in order of importance, and how many inputs each needs."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

COLD = 5
"""A pool of inputs this many times the last cache: when a set's turn comes again, it was driven out."""
MOST_SETS = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """One decode call: B sequences of T tokens each, HQ query heads over HKV heads of width D."""

    name: str
    B: int
    HQ: int
    HKV: int
    T: int
    D: int = 128

    def kv_bytes(self, element_bytes: int) -> int:
        """Bytes of all keys and values."""
        return 2 * self.B * self.HKV * self.T * self.D * element_bytes

    def bytes_moved(self, element_bytes: int) -> int:
        """Bytes that no kernel can avoid: each key and value, q and the output once; no partial results."""
        return self.kv_bytes(element_bytes) + 2 * self.B * self.HQ * self.D * element_bytes

    def tiny(self) -> "Shape":
        """The same kind of call, as small as an interpreter likes it: the same heads per memory, up to 4."""
        heads = min(2, self.HKV)
        each = min(4, self.HQ // self.HKV)
        return replace(self, B=min(2, self.B), HQ=heads * each, HKV=heads, T=24, D=16)


LARGE = Shape("gqa B32 T4096", 32, 32, 8, 4096)
ALONE = (Shape("gqa B1 T8192", 1, 32, 8, 8192), Shape("gqa B1 T32768", 1, 32, 8, 32768))
SHORT = (Shape("short B1 T1024", 1, 32, 8, 1024), Shape("short B1 T128", 1, 32, 8, 128))
MHA = Shape("mha 256 MiB", 4, 32, 32, 4096)
MQA = Shape("mqa 256 MiB", 32, 32, 1, 16384)
MQA_AS_MHA = replace(MHA, name="mqa B4 T4096", HKV=1)
"""As many tokens as MHA has, in one head: what is lost when it is copied for every query head?"""
SPLITS = (1, 2, 4, 8, 16, 32, 64)


class Inputs(NamedTuple):
    """One set of inputs of a call, and the place for its answer."""

    q: Tensor
    k: Tensor
    v: Tensor
    lengths: Tensor
    out: Tensor


def sets_needed(set_bytes: int, cache_bytes: int, most: int = MOST_SETS) -> int:
    """How many sets of inputs a pool needs so that none is found in the cache: one, if it is large enough."""
    return max(1, min(most, -(-COLD * cache_bytes // set_bytes)))


def pool(shape: Shape, sets: int, dtype: torch.dtype, where: torch.device, seed: int) -> list[Inputs]:
    """`sets` sets of random inputs, never zeros: memory of zeros costs less power, and runs faster."""
    g = torch.Generator(where).manual_seed(seed)
    made = []
    for _ in range(sets):
        q, k, v = (
            torch.randn(size, generator=g, dtype=dtype, device=where)
            for size in (
                (shape.B, shape.HQ, shape.D),
                (shape.B, shape.HKV, shape.T, shape.D),
                (shape.B, shape.HKV, shape.T, shape.D),
            )
        )
        lengths = torch.full((shape.B,), shape.T, dtype=torch.int32, device=where)
        made.append(Inputs(q, k, v, lengths, torch.full_like(q, float("nan"))))
    return made
