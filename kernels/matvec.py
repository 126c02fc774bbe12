"""A few tokens times a matrix whose numbers are kept in eight bits: read as codes, widened on the way.

    codes [O, I]   ──────► one row: 8 bits a number        y[n, o] = scale[o] * sum of x[n, i] * codes[o, i]
    x     [N, I]   ──────► every row meets all N tokens while it is near

A decode step is such products: each weight is read for every token that is made, and used N times. With a
quarter of the bytes of float32 the reading takes a quarter of the time, if widening keeps up.
"""

from typing import Literal

import torch
from torch import Tensor

from memlessons.kernels.arguments import what
from memlessons.kernels.errors import BackendCannot, BadArgument

MOST_TOKENS = 8
"""Tokens up to which reading codes wins; more of them share one widened copy of the matrix."""


def product_int8(
    x: Tensor,
    codes: Tensor,
    scale: Tensor,
    *,
    out: Tensor | None = None,
    backend: Literal["auto", "cpu", "reference"] = "auto",
) -> Tensor:
    """x `[N, I]` float32 times the transpose of codes int8 `[O, I]` with scale float32 `[O]`: `[N, O]`.

    `backend`: "cpu" (Numba) reads the codes as they are; "reference" widens them and leaves the product to
    torch, in x's type; "auto" takes the first for up to MOST_TOKENS tokens in float32 on a CPU. Raises
    BadArgument naming what does not fit, BackendCannot where the loop cannot run.
    """
    if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point():
        raise BadArgument(f"x must be a float tensor [N, I], got {what(x)}")
    if not isinstance(codes, Tensor) or codes.dtype != torch.int8 or codes.dim() != 2:
        raise BadArgument(f"codes must be an int8 tensor [O, I], got {what(codes)}")
    O, I = codes.shape
    if x.shape[1] != I:
        raise BadArgument(f"x is {x.shape[1]} wide, codes {tuple(codes.shape)} need {I}")
    if not isinstance(scale, Tensor) or scale.dtype != torch.float32 or tuple(scale.shape) != (O,):
        raise BadArgument(f"scale must be a float32 tensor [O]=[{O}], got {what(scale)}")
    if out is not None and (
        tuple(out.shape) != (x.shape[0], O) or out.dtype != x.dtype or not out.is_contiguous()
    ):
        raise BadArgument(f"out must be a contiguous {x.dtype} tensor {(x.shape[0], O)}, got {what(out)}")
    for name, tensor in (("x", x), ("scale", scale), ("out", out)):
        if tensor is not None and tensor.device != codes.device:
            raise BadArgument(f"{name} is on {tensor.device}, codes on {codes.device}: bring them together")
    if backend not in ("auto", "cpu", "reference"):
        raise BadArgument(f"backend={backend!r}: must be 'auto', 'cpu' or 'reference'")
    fits = x.device.type == "cpu" and x.dtype == torch.float32
    if backend == "cpu" or (backend == "auto" and fits and x.shape[0] <= MOST_TOKENS):
        if not fits:
            raise BackendCannot(f"backend='cpu' computes in float32 on a CPU, not {what(x)}; use 'reference'")
        return _on_cpu(x, codes, scale, out)
    # The scale first: sums of codes pass what 16 bits can hold.
    y = torch.nn.functional.linear(x, (codes * scale[:, None]).to(x.dtype))
    return y if out is None else out.copy_(y)


def _on_cpu(x: Tensor, codes: Tensor, scale: Tensor, out: Tensor | None) -> Tensor:
    try:
        from memlessons.kernels.block_twin import product_kernel
        from memlessons.kernels.cpu import array, run
    except ImportError as error:
        raise BackendCannot(
            f"backend='cpu' needs the package {error.name}, which is not installed here; 'reference' does not"
        ) from error
    y = torch.empty(x.shape[0], codes.shape[0]) if out is None else out
    run(product_kernel, array(x.contiguous()), array(codes.contiguous()), array(scale.contiguous()), array(y))
    return y
