"""The ceilings of a GPU: how fast it copies, and how fast it reads. Every fraction is one of the larger."""

import torch

from memlessons.bench.kernel_race import Contender
from memlessons.units import GIB


def ceilings(where: torch.device, free_bytes: int, processors: int, seed: int) -> list[Contender]:
    """Copying and reading a block of 4 GiB, or of an eighth of what is free; bytes read plus written."""
    from memlessons.kernels.roof import BLOCK, PROGRAMS_EACH, read

    g = torch.Generator(where).manual_seed(seed)
    count = 2 * PROGRAMS_EACH * processors * BLOCK  # at least two tiles for each program
    count *= max(1, min(4 * GIB, free_bytes // 8) // (4 * count))
    block = torch.empty(count, device=where).normal_(generator=g)
    source, target = block[: count // 2], torch.empty(count // 2, device=where)
    reading, total = read(block, processors), torch.empty((), device=where)
    reading.run()
    if not torch.allclose(
        reading.sums.double().sum(), block.sum(dtype=torch.float64), atol=1e-3 * count**0.5
    ):
        raise ArithmeticError("the reading kernel does not add up what torch.sum adds up")
    return [
        Contender("copy", [lambda: target.copy_(source)], 4 * count),
        Contender("read", [reading.run], reading.bytes_read),
        Contender("read torch.sum", [lambda: torch.sum(block, 0, out=total)], 4 * count),
    ]
