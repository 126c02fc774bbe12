"""How fast a GPU reads: the ceiling under which every kernel that only reads is judged.

x   |tile 0|tile 1|tile 2|tile 3|tile 4|tile 5|      program p of P adds up tiles p, p + P, p + 2P ...:
     p 0    p 1    p 2    p 0    p 1    p 2          neighbours read neighbours at the same time
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 4096
PROGRAMS_EACH = 8
"""Programs for each multiprocessor: 256 threads with 64 bytes each on their way, 128 KiB in all."""


@triton.jit
def read_kernel(x, out, tiles, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """out[p] = the sum of the tiles of program p; `x` holds P · tiles · BLOCK numbers."""
    p = tl.program_id(0)
    programs = tl.num_programs(0)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(tiles):
        tile = (p + i * programs).to(tl.int64)
        total += tl.load(x + tile * BLOCK + tl.arange(0, BLOCK))
    tl.store(out + p, tl.sum(total, 0))


class Read(NamedTuple):
    """A call that reads `bytes_read` bytes; `sums` f32 [P] add up to the sum of what it reads."""

    run: Callable[[], Any]
    bytes_read: int
    sums: Tensor


def read(x: Tensor, processors: int) -> Read:
    """Reading a contiguous float32 tensor with 8 programs for each of `processors` multiprocessors.

    Only whole tiles are read, as many by each program: `bytes_read` says how much of `x` that is.
    """
    programs = PROGRAMS_EACH * processors
    tiles = x.numel() // (programs * BLOCK)
    sums = torch.empty(programs, device=x.device)

    def run() -> None:
        read_kernel[(programs,)](x, sums, tiles, BLOCK, num_warps=8)

    return Read(run, programs * tiles * BLOCK * x.element_size(), sums)
