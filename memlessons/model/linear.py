"""Projections that use all cores also for a single token, with weights as they are or in eight bits."""

from collections.abc import Mapping
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from memlessons.kernels.append import quantised
from memlessons.kernels.matvec import product_int8

# More parts than most machines have cores, and every width of a language model is a multiple of it.
_PARTS = 16


class Projection(Protocol):
    """`x` `[..., in]` to `[..., out]`."""

    def __call__(self, x: Tensor) -> Tensor:
        """The projection of `x`."""
        ...


class Linear:
    """`x` `[..., in]` times a weight `[out, in]` transposed: `[..., out]`.

    For one token on a CPU this is a matrix times a vector, which the library below torch computes on one
    core, while the time goes into reading the matrix. Cut into a batch of row blocks it is shared out
    among the cores; the blocks are views, nothing is copied.
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self._outputs, self._inputs = weight.shape
        splits = weight.device.type == "cpu" and self._outputs % _PARTS == 0
        self._blocks = weight.unflatten(0, (_PARTS, -1)).transpose(1, 2) if splits else None

    def __call__(self, x: Tensor) -> Tensor:
        if self._blocks is None or x.numel() != self._inputs:
            return functional.linear(x, self.weight)
        token = x.reshape(1, 1, self._inputs).expand(_PARTS, 1, self._inputs)
        return torch.bmm(token, self._blocks).view(*x.shape[:-1], self._outputs)


class Int8Linear:
    """The same with codes int8 `[out, in]` and a float32 scale for each of their rows."""

    def __init__(self, codes: Tensor, scale: Tensor) -> None:
        self.codes, self.scale = codes, scale

    def __call__(self, x: Tensor) -> Tensor:
        y = product_int8(x.reshape(-1, x.shape[-1]), self.codes, self.scale)
        return y.view(*x.shape[:-1], len(self.codes))


def in_eight_bits(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every matrix as codes of eight bits, its scales under "NAME.scale"; norms as they are."""
    found: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() == 2:
            found[name], found[f"{name}.scale"] = quantised(weight)
        else:
            found[name] = weight
    return found


def projection(weights: Mapping[str, Tensor], name: str) -> Projection:
    """The projection with the weight of that name, in the form in which it is kept."""
    scale = weights.get(f"{name}.scale")
    return Linear(weights[name]) if scale is None else Int8Linear(weights[name], scale)
