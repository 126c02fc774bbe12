"""New tokens into a memory: written as they are, or as codes of eight bits with a scale for each head.

    k_new [N, HKV, DK]   token 0 │ token 1 │ token 2 │ ...
    slots [N]               37        -1        12              slot = page * PG + offset; below 0: nowhere
    k [P, HKV, PG, DK]   ... page 0 ... │ ... page 2, offset 5 = 37 (PG 16) ...

A contiguous memory `[B, HKV, T, D]` is a pool whose pages are its rows: slot n of row b is b * T + n.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from memlessons.kernels.arguments import what
from memlessons.kernels.errors import BackendCannot, BadArgument

Writer = Callable[[Tensor, Tensor, Tensor, Tensor | None], None]
SMALLEST = 1e-12
"""The largest number of a row counts as at least this: a row of zeros has a scale all the same."""


def append_kv(
    k_new: Tensor,
    v_new: Tensor | None,
    k: Tensor,
    v: Tensor | None,
    slots: Tensor,
    *,
    k_scale: Tensor | None = None,
    v_scale: Tensor | None = None,
    backend: Literal["auto", "triton", "cpu", "reference"] = "auto",
) -> None:
    """Write N tokens into k `[P, HKV, PG, DK]` and v `[P, HKV, PG, DV]`, in place.

    k_new `[N, HKV, DK]`, v_new `[N, HKV, DV]`; both v's are None for a latent memory. `slots` int64 `[N]`
    says where each token goes, page * PG + offset; below 0 it goes nowhere. No two tokens may go to one slot.

    With `k_scale` (and `v_scale`) f32 `[P, HKV, PG]` the memory is int8: each token and head gets the scale
    max(|x|) / 127 and codes x / scale, rounded half to even. Quantise, then attend: what is written is what
    every later step reads.

    `backend`: "triton" on a GPU and in the interpreter, "cpu" (Numba) for codes from float32 in C order,
    "reference" is torch; "auto" goes by the device. Raises BackendCannot, and BadArgument naming what does
    not fit, before anything is written; on a CPU also for a slot beyond the pool, which a GPU skips.
    """
    if (v_new is None) != (v is None):
        raise BadArgument("v_new and v belong together: give both, or neither for a latent memory")
    pairs = [("k", k_new, k, k_scale)]
    if v_new is not None and v is not None:
        pairs.append(("v", v_new, v, v_scale))
    elif v_scale is not None:
        raise BadArgument("v_scale was given without v: a latent memory has one scale, k_scale")
    for name, new, pool, scale in pairs:
        _check(name, new, pool, scale, k_new, k)
    _check_slots(slots, k_new, k)
    if not k_new.shape[0]:
        return
    if backend not in ("auto", "triton", "cpu", "reference"):
        raise BadArgument(f"backend={backend!r}: must be 'auto', 'triton', 'cpu' or 'reference'")
    writes = [_writer(backend, new, pool, scale) for _, new, pool, scale in pairs]
    for write, (_, new, pool, scale) in zip(writes, pairs, strict=True):
        write(new, pool, slots, scale)


def _writer(backend: str, new: Tensor, pool: Tensor, scale: Tensor | None) -> Writer:
    on_cpu = (
        pool.device.type == "cpu" and scale is not None and new.dtype == torch.float32
        and pool.is_contiguous() and scale.is_contiguous()
    )  # fmt: skip
    if backend == "cpu" and not on_cpu:
        raise BackendCannot(
            f"backend='cpu' writes codes from float32 into memory in C order, not {what(new)} into "
            f"{what(pool)}; backend='reference' does"
        )
    try:
        if backend == "triton" or (backend == "auto" and pool.is_cuda):
            from memlessons.kernels.append_triton import append_one

            return append_one
        if backend == "cpu" or (backend == "auto" and on_cpu):
            from memlessons.kernels.cpu import append_on_cpu

            return append_on_cpu
    except ImportError as error:
        if backend == "auto":
            return _append_one
        raise BackendCannot(
            f"backend={backend!r} needs the package {error.name}, which is not installed here; "
            "backend='reference' needs nothing but torch"
        ) from error
    return _append_one


def quantised(x: Tensor) -> tuple[Tensor, Tensor]:
    """Codes int8 `[..., D]` of a tensor, and scales f32 `[...]`: one for each row of D numbers."""
    x = x.float()
    scale = x.abs().amax(-1).clamp(min=SMALLEST) / 127
    return (x / scale[..., None]).round().clamp(-127, 127).to(torch.int8), scale


def _append_one(new: Tensor, pool: Tensor, slots: Tensor, scale: Tensor | None) -> None:
    kept = slots >= 0
    slots, new = slots[kept], new[kept]
    page, offset = slots // pool.shape[2], slots % pool.shape[2]
    if scale is not None:
        new, scale[page, :, offset] = quantised(new)
    pool[page, :, offset] = new.to(pool.dtype)


def _check(name: str, new: Tensor, pool: Tensor, scale: Tensor | None, k_new: Tensor, k: Tensor) -> None:
    width = "DK" if name == "k" else "DV"
    if not isinstance(new, Tensor) or new.dim() != 3 or not new.is_floating_point():
        raise BadArgument(f"{name}_new must be a float tensor [N, HKV, {width}], got {what(new)}")
    if not isinstance(pool, Tensor) or pool.dim() != 4:
        raise BadArgument(f"{name} must be a tensor [P, HKV, PG, {width}], got {what(pool)}")
    P, HKV, PG, D = pool.shape
    if tuple(new.shape[1:]) != (HKV, D) or new.shape[0] != k_new.shape[0]:
        need = (k_new.shape[0], HKV, D)
        raise BadArgument(f"{name}_new has shape {tuple(new.shape)}; {name} {tuple(pool.shape)} needs {need}")
    if tuple(k.shape[:3]) != (P, HKV, PG):
        raise BadArgument(
            f"v has shape {tuple(pool.shape)}: k has {tuple(k.shape)}, and only widths may differ"
        )
    if min(P, HKV, PG, D) < 1:
        raise BadArgument(f"{name} has shape {tuple(pool.shape)}: a pool without room")
    for other in (new, pool, scale):
        if other is not None and other.device != k.device:
            raise BadArgument(f"{name} and what goes with it are on {other.device}, k on {k.device}")
    for what_name, tensor in ((f"{name}_new", new), (name, pool)):
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise BadArgument(f"{what_name}: its last dim has stride {tensor.stride(-1)}; it must be 1")
    if (pool.dtype == torch.int8) != (scale is not None) or not (
        pool.dtype == torch.int8 or pool.is_floating_point()
    ):
        raise BadArgument(
            f"{name} is {pool.dtype} and {name}_scale {what(scale)}: int8 needs one, floats none"
        )
    if scale is not None and (scale.dtype != torch.float32 or tuple(scale.shape) != (P, HKV, PG)):
        raise BadArgument(f"{name}_scale must be a float32 tensor {[P, HKV, PG]}, got {what(scale)}")


def _check_slots(slots: Tensor, k_new: Tensor, k: Tensor) -> None:
    N, most = k_new.shape[0], k.shape[0] * k.shape[2]
    if not isinstance(slots, Tensor) or slots.dtype != torch.int64 or tuple(slots.shape) != (N,):
        raise BadArgument(f"slots must be an int64 tensor [N]=[{N}], got {what(slots)}")
    if slots.device != k.device:
        raise BadArgument(f"slots is on {slots.device}, k on {k.device}: bring them together")
    if slots.device.type == "cpu" and N and int(slots.max()) >= most:
        raise BadArgument(f"slots holds {int(slots.max())}: the pool has {most}, numbered from 0")
