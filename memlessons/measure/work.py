"""Two pieces of work that a machine finds differently hard: adding numbers up, and multiplying matrices."""

from typing import Any, NamedTuple

import torch

from memlessons.measure.timing import Run, Timing, timed


class Work(NamedTuple):
    """Something to run, with the arithmetic and the traffic it cannot do without."""

    what: str
    run: Run
    flops: int
    bytes_moved: int
    device: str

    def timed(self, *, repetitions: int | None = None, seconds: float | None = None) -> Timing:
        """Time it on its device, fairly (see `memlessons.measure.timing.timed`)."""
        return timed(self.run, device=self.device, repetitions=repetitions, seconds=seconds)


def adding(count: int = 64 * 2**20, device: Any = "cpu") -> Work:
    """Add up `count` float32 numbers: an addition each, 4 bytes each, read once."""
    numbers = torch.ones(count, device=device)
    out = torch.empty((), device=device)
    return Work(
        f"add {count:,} numbers", lambda: torch.sum(numbers, 0, out=out), count, 4 * count, str(device)
    )


def multiplying(width: int = 1024, device: Any = "cpu", dtype: torch.dtype = torch.float32) -> Work:
    """Multiply two matrices of `width` x `width`: width^3 multiply-adds, 2 FLOP each; read two, write one."""
    left, right = (torch.randn(width, width, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    return Work(
        f"multiply two {width:,} x {width:,} matrices",
        lambda: torch.mm(left, right, out=out),
        2 * width**3,
        3 * width**2 * left.element_size(),
        str(device),
    )
