"""A projection that uses all cores also for a single token."""

import torch
from torch import Tensor
from torch.nn import functional

# More parts than most machines have cores, and every width of a language model is a multiple of it.
_PARTS = 16


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
        """The projection of `x`."""
        if self._blocks is None or x.numel() != self._inputs:
            return functional.linear(x, self.weight)
        token = x.reshape(1, 1, self._inputs).expand(_PARTS, 1, self._inputs)
        return torch.bmm(token, self._blocks).view(*x.shape[:-1], self._outputs)
