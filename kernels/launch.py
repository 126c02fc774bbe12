"""Launching the Triton kernel: which tiles, how many splits, and the memory between its two steps."""

import os
from functools import cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from memlessons.kernels.arguments import Problem
from memlessons.kernels.choose import (
    Chip,
    Config,
    block_h,
    config_for,
    gpu_splits,
    power_of_two,
    shared_bytes,
)
from memlessons.kernels.errors import BackendCannot
from memlessons.kernels.scratch import Scratch
from memlessons.kernels.split import merge_kernel, split_kernel

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
MERGE_SPLITS, MERGE_NUMBERS = 16, 8192
"""Splits that a merge takes at once, and the most numbers in a tile: more would not fit in registers."""

_TRITON = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32}
# The interpreter has no shared memory; small tiles keep it quick and cover tails.
_INTERPRETER = Chip(80, 1 << 30, 1, 1 << 30)


def decode_triton(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    lengths: Tensor,
    p: Problem,
    splits: int | None,
    chunk: int,
    out: Tensor | None,
    scratch: Scratch,
) -> tuple[Tensor, Tensor]:
    """The same as `decode_reference`, in q's dtype, on a GPU or in Triton's interpreter."""
    if q.dtype not in _TRITON:
        raise BackendCannot(f"backend='triton' has no {q.dtype}; backend='cpu' and 'reference' do")
    if q.device.type == "cpu" and not INTERPRETED:
        raise BackendCannot(
            "backend='triton' got CPU tensors: set TRITON_INTERPRET=1 before Triton is first imported "
            "(memlessons.lesson() does), or use backend='cpu'"
        )
    chip = _INTERPRETER if q.device.type == "cpu" else chip_of(q.device.index or 0)
    if chip.arch == 75 and q.dtype == torch.bfloat16:
        raise BackendCannot("this GPU (sm_75) has no bfloat16; use float16")
    config = config_for(chip, p.G, p.DK, p.DV, q.element_size())
    if q.device.type == "cpu":
        config = Config(16, 4, 1, config.use_dot)
    rows = block_h(p.G, config.use_dot)
    work = p.B * p.HKV * -(-p.G // rows)
    if splits is None:
        shared = shared_bytes(config, p.G, p.DK, p.DV, q.element_size())
        splits = gpu_splits(chip, config, work, p.T, shared)
    o = torch.empty((p.B, p.HQ, p.DV), dtype=q.dtype, device=q.device) if out is None else out
    o_lse = torch.empty((p.B, p.HQ), dtype=torch.float32, device=q.device)
    # With one split the answer goes straight out; the pointers must be something all the same.
    part, part_lse = (o, o_lse) if splits == 1 else scratch.partials((p.B, p.HQ, splits), p.DV, q.device)
    arguments, options = split_arguments(q, k, v, lengths, p, config, splits, chunk)
    split_kernel[(work * splits,)](*arguments[:4], part, part_lse, o, o_lse, *arguments[4:], **options)
    if splits > 1:
        width = min(power_of_two(p.DV), MERGE_NUMBERS // MERGE_SPLITS)
        grid = (p.B * p.HQ * -(-p.DV // width),)
        merge_kernel[grid](part, part_lse, o, o_lse, splits, p.DV, MERGE_SPLITS, width, num_warps=4)
    return o, o_lse


def split_arguments(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, p: Problem, config: Config, splits: int, chunk: int
) -> tuple[list[object], dict[str, object]]:
    """Arguments of `split_kernel` in order, without its four outputs, and the options of its launch."""
    # The interpreter adds bfloat16 as if they were integers: there, operands become float32 once loaded.
    mma = tl.float32 if INTERPRETED and q.dtype == torch.bfloat16 else _TRITON[q.dtype]
    arguments: list[object] = [q, k, v, lengths, *q.stride()[:2], *k.stride()[:3], *v.stride()[:3]]
    arguments += [p.T, splits, p.HKV, p.scale, p.softcap or 1.0]
    options: dict[str, object] = {
        "G": p.G,
        "DK": p.DK,
        "DV": p.DV,
        "BLOCK_H": block_h(p.G, config.use_dot),
        "BLOCK_N": config.block_n,
        "BLOCK_DK": max(16, power_of_two(p.DK)),
        "BLOCK_DV": max(16, power_of_two(p.DV)),
        "CHUNK": chunk,
        "ONE_SPLIT": splits == 1,
        "SOFTCAP": p.softcap is not None,
        "USE_DOT": config.use_dot,
        "MMA": mma,
        # The default would round float32 inputs to ten bits of mantissa.
        "PREC": "ieee" if mma == tl.float32 else "tf32",
        "num_warps": config.warps,
        "num_stages": config.stages,
    }
    return arguments, options


@cache
def chip_of(index: int) -> Chip:
    """What a launch must know of GPU number `index`."""
    properties = torch.cuda.get_device_properties(index)
    arch: int | str = properties.major * 10 + properties.minor
    if torch.version.hip:
        arch = properties.gcnArchName.partition(":")[0]
    limits = triton.runtime.driver.active.utils.get_device_properties(index)
    per_processor = getattr(properties, "shared_memory_per_multiprocessor", limits["max_shared_mem"])
    return Chip(arch, limits["max_shared_mem"], properties.multi_processor_count, per_processor)
