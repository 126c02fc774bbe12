"""The Triton kernel that writes new tokens into a pool: one program for each token and head.

new [N, HKV, D] ──► max |x| ──► scale = max / 127 ──► codes = x / scale, half to even ──► pool
"""

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from memlessons.kernels.append import SMALLEST
from memlessons.kernels.choose import power_of_two
from memlessons.kernels.launched import on_device

# Adding and taking away 1.5 * 2 ** 23 leaves a float32 no room for a fraction: it is rounded half to even.
ROUNDER = tl.constexpr(12582912.0)


# A contiguous memory is one page a row: as a constant, PG would compile a kernel for each capacity.
@triton.jit(do_not_specialize=["HKV", "most", "PG"])
def append_kernel(
    new, pool, slots, scale, new_n: tl.int64, new_h: tl.int64, pool_p: tl.int64, pool_h: tl.int64,
    pool_t: tl.int64, s_p: tl.int64, s_h: tl.int64, s_t: tl.int64, HKV, most, PG, SMALLEST,
    D: tl.constexpr, BLOCK_D: tl.constexpr, QUANT: tl.constexpr,
):  # fmt: skip
    """Strides are those of `new [N, HKV, D]`, `pool [P, HKV, PG, D]` and `scale [P, HKV, PG]`."""
    n = (tl.program_id(0) // HKV).to(tl.int64)
    hk = tl.program_id(0) % HKV
    slot = tl.load(slots + n)
    d = tl.arange(0, BLOCK_D)
    goes = (slot >= 0) & (slot < most)
    page, offset = slot // PG, slot % PG
    x = tl.load(new + n * new_n + hk * new_h + d, mask=d < D, other=0.0)
    at = pool + page * pool_p + hk * pool_h + offset * pool_t + d
    if QUANT:
        x = x.to(tl.float32)
        s = tl.maximum(tl.max(tl.abs(x), 0), SMALLEST) / 127
        code = (x / s + ROUNDER) - ROUNDER
        code = tl.minimum(tl.maximum(code, -127.0), 127.0)
        tl.store(at, code.to(tl.int8), mask=(d < D) & goes)
        tl.store(scale + page * s_p + hk * s_h + offset * s_t, s, mask=goes)
    else:
        tl.store(at, x.to(pool.dtype.element_ty), mask=(d < D) & goes)


def append_arguments(
    new: Tensor, pool: Tensor, slots: Tensor, scale: Tensor | None
) -> tuple[list[object], dict[str, Any]]:
    """Arguments of `append_kernel` in order, and the options of its launch."""
    P, HKV, PG, D = pool.shape
    strides = (0, 0, 0) if scale is None else scale.stride()
    arguments: list[object] = [
        new, pool, slots.contiguous(), scale, *new.stride()[:2], *pool.stride()[:3], *strides, HKV, P * PG,
        PG, SMALLEST,
    ]  # fmt: skip
    return arguments, {"D": D, "BLOCK_D": power_of_two(D), "QUANT": scale is not None, "num_warps": 1}


def append_one(new: Tensor, pool: Tensor, slots: Tensor, scale: Tensor | None) -> None:
    """Launch it; the arguments were checked."""
    arguments, options = append_arguments(new, pool, slots, scale)
    with on_device(pool.device):
        append_kernel[(new.shape[0] * pool.shape[1],)](*arguments, **options)
