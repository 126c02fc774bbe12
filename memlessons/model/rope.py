"""Rotary position embedding: a key remembers where it stood by being turned."""

import torch
from torch import Tensor

from memlessons.errors import MemlessonsError


class PositionOutOfRange(MemlessonsError, ValueError):
    """A position beyond the longest one the rotation table was built for."""


class Rope:
    """Rotations for positions 0 to `longest` - 1: pairs (i, i + D/2) turn by position * base^(-2i/D).

    Su et al., RoFormer, arXiv:2104.09864. The *half-split* layout of pairs is that of Hugging Face
    checkpoints; GGUF files of llama models store neighbouring pairs and are permuted when read.
    Angles are computed in float64: in float32 the angle of a late position is off by whole percents.
    """

    def __init__(
        self, width: int, base: float, longest: int, dtype: torch.dtype, device: torch.device | str = "cpu"
    ) -> None:
        if width % 2:
            raise ValueError(f"width={width}: RoPE turns pairs, the width must be even")
        frequency = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angle = torch.outer(torch.arange(longest, dtype=torch.float64), frequency)
        self.longest = longest
        self.cos = torch.cat((angle.cos(), angle.cos()), dim=-1).to(dtype=dtype, device=device)
        # The first half takes minus the second, the second plus the first.
        self.sin = torch.cat((-angle.sin(), angle.sin()), dim=-1).to(dtype=dtype, device=device)

    def after(self, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines `[B, 1, 1, D]` of the token that follows so many, without a look at the numbers.

        Beyond `longest` the last position is taken: who may not go there must have been stopped before.
        """
        rows = lengths.long().clamp(max=self.longest - 1)
        return self.cos[rows][:, None, None], self.sin[rows][:, None, None]

    def check(self, tokens: int) -> None:
        """PositionOutOfRange unless there is an angle for so many tokens."""
        if tokens > self.longest:
            raise PositionOutOfRange(f"position {tokens - 1}: the model reads up to {self.longest - 1}")

    def at(self, starts: list[int], count: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines `[B or 1, 1, count, D]` for `count` positions from each start."""
        self.check(max(starts) + count)
        if len(set(starts)) == 1:
            span = slice(starts[0], starts[0] + count)
            return self.cos[None, None, span], self.sin[None, None, span]
        rows = torch.tensor(starts)[:, None] + torch.arange(count)
        rows = rows.to(self.cos.device)
        return self.cos[rows][:, None], self.sin[rows][:, None]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn `x` `[B, heads, T, D]` by the rotations of `Rope.at`."""
    half = x.shape[-1] // 2
    swapped = torch.cat((x[..., half:], x[..., :half]), dim=-1)
    return torch.addcmul(x * cos, swapped, sin)
