"""One large block of random numbers, of which every contestant reads pieces in turn.

When a piece's turn comes again, the rest of the block has gone past: it is not in a cache any more, as far
as the block is larger than the caches. The loop that only reads reads this very block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from memlessons.measure import probe
from memlessons.units import MIB

QUICK_BYTES = 32 * MIB
_MOST_PIECES = 64


@dataclass(frozen=True, slots=True)
class Arena:
    """A flat block on a device, in the type that attention computes in; never zeros, which run faster."""

    numbers: Tensor

    @staticmethod
    def of(device: Any, dtype: torch.dtype, size: int, seed: int = 0) -> "Arena":
        """A block of `size` bytes of normal random numbers."""
        g = torch.Generator(device).manual_seed(seed)
        return Arena(torch.randn(size // dtype.itemsize, generator=g, dtype=dtype, device=device))

    @property
    def bytes(self) -> int:
        """Bytes of the block."""
        return self.numbers.numel() * self.numbers.element_size()

    def pieces(self, shapes: Sequence[tuple[int, ...]], int8: bool = False) -> list[tuple[Tensor, ...]]:
        """As many sets of tensors of these shapes as lie in the block side by side, 64 at most.

        `int8`: the same bytes, read as codes. Raises ValueError where not even one set fits.
        """
        flat = self.numbers.view(torch.int8) if int8 else self.numbers
        sizes = [prod(shape) for shape in shapes]
        if sum(sizes) > flat.numel():
            raise ValueError(f"{shapes} do not fit into a block of {self.bytes:,} bytes")
        # Each piece begins at a multiple of 256 numbers: no row starts in the middle of a line of a cache.
        count = max(1, min(_MOST_PIECES, flat.numel() // (-(-sum(sizes) // 256) * 256)))
        apart = flat.numel() // count // 256 * 256
        found = []
        for i in range(count):
            at, parts = i * apart, []
            for shape, size in zip(shapes, sizes, strict=True):
                parts.append(flat[at : at + size].view(shape))
                at += size
            found.append(tuple(parts))
        return found


def arena_bytes(device: Any, quick: bool) -> int:
    """Bytes of the block: beyond the last cache and within an eighth of memory; small if quick."""
    return QUICK_BYTES if quick else probe.room(device, probe.cache_levels(device), quick=False)
