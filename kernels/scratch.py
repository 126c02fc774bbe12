"""Memory for the halves of an answer: kept between calls, so that a captured graph finds it in place."""

import torch
from torch import Tensor


class Scratch:
    """Partial results of split kernels: `part` f32 `[B, HQ, S, DV]` and their `lse` f32 `[B, HQ, S]`.

    Grows to the largest call it has seen and hands out views of that. What it holds between calls means
    nothing: every program of a kernel writes its own slot, also when it had nothing to read.
    """

    def __init__(self) -> None:
        self._part: Tensor | None = None
        self._lse: Tensor | None = None

    def partials(
        self, rows: tuple[int, int, int], width: int, device: torch.device, dtype: torch.dtype = torch.float32
    ) -> tuple[Tensor, Tensor]:
        """`part` `[*rows, width]` and `lse` `[*rows]`, not initialised; rows is (B, HQ, S)."""
        count = rows[0] * rows[1] * rows[2]
        self._part = _large_enough(self._part, count * width, device, dtype)
        self._lse = _large_enough(self._lse, count, device, dtype)
        return self._part[: count * width].view(*rows, width), self._lse[:count].view(*rows)

    @property
    def allocated_bytes(self) -> int:
        """Bytes this scratch holds."""
        return sum(t.numel() * t.element_size() for t in (self._part, self._lse) if t is not None)


def _large_enough(had: Tensor | None, count: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    if had is not None and had.numel() >= count and had.device == device and had.dtype == dtype:
        return had
    return torch.empty(count, dtype=dtype, device=device)
