"""How rows of numbers are kept: as they are, or as codes with a scale."""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from memlessons.cache.errors import FormNotBuilt
from memlessons.kernels.append import quantised
from memlessons.plan import Format

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


class Codec(Protocol):
    """One way to keep rows `[..., width]`; its parts come in one order: codes, then scales."""

    def empty(self, slots: tuple[int, ...], width: int, device: torch.device | str) -> tuple[Tensor, ...]:
        """Room for rows, by part: `[*slots, width]`, and scales `[*slots]` if there are any."""
        ...

    def encode(self, x: Tensor) -> tuple[Tensor, ...]:
        """The parts of rows `x` `[..., width]`."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """Rows as they are, in one float type."""

    dtype: torch.dtype

    def empty(self, slots: tuple[int, ...], width: int, device: torch.device | str) -> tuple[Tensor, ...]:
        return (torch.empty(*slots, width, dtype=self.dtype, device=device),)

    def encode(self, x: Tensor) -> tuple[Tensor, ...]:
        return (x,)


@dataclass(frozen=True, slots=True)
class Int8:
    """Codes of eight bits, and a float32 scale for each row: the largest number of a row becomes 127."""

    def empty(self, slots: tuple[int, ...], width: int, device: torch.device | str) -> tuple[Tensor, ...]:
        codes = torch.empty(*slots, width, dtype=torch.int8, device=device)
        return codes, torch.empty(slots, dtype=torch.float32, device=device)

    def encode(self, x: Tensor) -> tuple[Tensor, ...]:
        return quantised(x)


def codec_of(format: Format, dtype: torch.dtype | None = None) -> Codec:
    """How a plan's format is kept; `dtype` takes the place of its float formats. FormNotBuilt if unknown."""
    if format.name == "int8":
        return Int8()
    if format.name in DTYPES:
        return Plain(dtype or DTYPES[format.name])
    known = ", ".join([*DTYPES, "int8"])
    raise FormNotBuilt(f"format {format.name!r} has no live form yet; {known} have")
