"""The checks that stand before every launch: a kernel that reads a wrong address says nothing."""

from typing import NamedTuple

import torch
from torch import Tensor

from memlessons.kernels.errors import BadArgument

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Problem(NamedTuple):
    """One checked call: its sizes by name, `scale` applied to q · k, `softcap` or None."""

    B: int
    HQ: int
    HKV: int
    G: int
    T: int
    DK: int
    DV: int
    scale: float
    softcap: float | None


def checked(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, scale: float | None, softcap: float | None
) -> Problem:
    """The sizes of a decode call; BadArgument names the first argument that does not fit the others."""
    for name, tensor, dims in (
        ("q", q, "[B, HQ, DK]"),
        ("k", k, "[B, HKV, T, DK]"),
        ("v", v, "[B, HKV, T, DV]"),
    ):
        if not isinstance(tensor, Tensor) or tensor.dim() != dims.count(",") + 1:
            raise BadArgument(f"{name} must be a tensor {dims}, got {_what(tensor)}")
        if tensor.dtype not in DTYPES or tensor.dtype != q.dtype:
            raise BadArgument(
                f"{name}.dtype={tensor.dtype}: q, k and v must share one float dtype, q has {q.dtype}"
            )
        if tensor.device != q.device:
            raise BadArgument(f"{name} is on {tensor.device}, q on {q.device}: bring them together")
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise BadArgument(
                f"{name}: its last dim has stride {tensor.stride(-1)}; it must lie together (stride 1)"
            )
    B, HQ, DK = q.shape
    _, HKV, T, DV = v.shape
    if tuple(k.shape) != (B, HKV, T, DK):
        raise BadArgument(
            f"k has shape {tuple(k.shape)}; q {tuple(q.shape)} and v {tuple(v.shape)} need {(B, HKV, T, DK)}"
        )
    if v.shape[0] != B:
        raise BadArgument(f"v has {v.shape[0]} sequences, q has {B}")
    if min(DK, DV) < 1:
        raise BadArgument(f"head widths DK={DK}, DV={DV}: must be at least 1")
    if HKV < 1 or HQ < 1 or HQ % HKV:
        raise BadArgument(f"q has {HQ} heads, k and v have {HKV}: the first must be a multiple of the second")
    _check_lengths(lengths, B, T, q.device)
    if scale is not None and not 0 < scale < float("inf"):
        raise BadArgument(f"scale={scale!r}: must be a finite number above 0 (None: DK ** -0.5)")
    if softcap is not None and not 0 < softcap < float("inf"):
        raise BadArgument(f"softcap={softcap!r}: must be a finite number above 0, or None")
    return Problem(B, HQ, HKV, HQ // HKV, T, DK, DV, DK**-0.5 if scale is None else float(scale), softcap)


def _check_lengths(lengths: Tensor, B: int, T: int, device: torch.device) -> None:
    if not isinstance(lengths, Tensor) or lengths.dtype != torch.int32 or tuple(lengths.shape) != (B,):
        raise BadArgument(f"lengths must be an int32 tensor [B]=[{B}], got {_what(lengths)}")
    if lengths.device != device:
        raise BadArgument(f"lengths is on {lengths.device}, q on {device}: bring them together")
    # On a GPU a look at the values would wait for everything queued before; there the kernel clamps them.
    if device.type != "cpu" or not B:
        return
    values = lengths.tolist()
    if not 0 <= min(values) <= max(values) <= T:
        raise BadArgument(f"lengths={values}: each must be from 0 to T={T}")


def check_out(out: Tensor | None, q: Tensor, DV: int) -> None:
    """BadArgument unless `out` can take `[B, HQ, DV]` in q's dtype, in order."""
    want = (*q.shape[:2], DV)
    if out is None:
        return
    if tuple(out.shape) != want or out.dtype != q.dtype or out.device != q.device or not out.is_contiguous():
        raise BadArgument(f"out must be a contiguous {q.dtype} tensor {want} on {q.device}, got {_what(out)}")


def _what(thing: object) -> str:
    if isinstance(thing, Tensor):
        return f"{thing.dtype} {tuple(thing.shape)} on {thing.device}"
    return f"{type(thing).__name__} {thing!r}"[:80]
