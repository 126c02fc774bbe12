"""Launching the Triton kernel: which tiles, how many splits, and the memory between its two steps."""

import os
from functools import cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from memlessons.kernels.choose import (
    Chip,
    Config,
    Form,
    block_h,
    config_for,
    gpu_splits,
    power_of_two,
    shared_bytes,
)
from memlessons.kernels.errors import BackendCannot
from memlessons.kernels.launched import on_device
from memlessons.kernels.merge import merge_kernel
from memlessons.kernels.problem import Problem
from memlessons.kernels.scratch import Scratch
from memlessons.kernels.split import CONTIGUOUS, SLOT_BY_SLOT, TILE_IN_PAGE, split_kernel

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
MERGE_SPLITS, MERGE_NUMBERS = 16, 8192
"""Splits that a merge takes at once, and the most numbers in a tile: more would not fit in registers."""

_TRITON = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32}
# The interpreter has no shared memory; small tiles keep it quick and cover tails.
_INTERPRETER = Chip(80, 1 << 30, 1, 1 << 30)


def decode_triton(
    p: Problem, splits: int | None, chunk: int, out: Tensor | None, scratch: Scratch
) -> tuple[Tensor, Tensor]:
    """The same as `decode_reference`, in q's dtype, on a GPU or in Triton's interpreter."""
    q = p.q
    if q.dtype not in _TRITON:
        raise BackendCannot(f"backend='triton' has no {q.dtype}; backend='cpu' and 'reference' do")
    if q.device.type == "cpu" and not INTERPRETED:
        raise BackendCannot(
            "backend='triton' got CPU tensors: set TRITON_INTERPRET=1 before Triton is first imported "
            "(memlessons.lesson() does), or use backend='cpu'"
        )
    chip = _INTERPRETER if q.device.type == "cpu" else chip_of(q.device.index or 0)
    if not chip.has_matrix_unit and q.dtype == torch.bfloat16:
        raise BackendCannot(f"this GPU (sm_{chip.arch}) has no bfloat16; use float16")
    form = form_of(p)
    config = config_for(chip, form)
    if q.device.type == "cpu":
        config = Config(16, 4, 1, config.use_dot, config.rows)
    rows = block_h(p.G, config)
    work = p.B * p.HKV * -(-p.G // rows)
    if splits is None:
        splits = gpu_splits(chip, config, work, p.most_visible, shared_bytes(config, form))
    o = torch.empty((p.B, p.HQ, p.DV), dtype=q.dtype, device=q.device) if out is None else out
    o_lse = torch.empty((p.B, p.HQ), dtype=torch.float32, device=q.device)
    # With one split the answer goes straight out; the pointers must be something all the same.
    part, part_lse = (o, o_lse) if splits == 1 else scratch.partials((p.B, p.HQ, splits), p.DV, q.device)
    arguments, options = split_arguments(p, config, splits, chunk, (part, part_lse, o, o_lse))
    with on_device(q.device):
        split_kernel[(work * splits,)](*arguments, **options)
        if splits > 1:
            arguments, options = merge_arguments(p, splits, (part, part_lse, o, o_lse))
            width = options["BLOCK_DV"]
            merge_kernel[(p.B * p.HQ * -(-p.DV // width),)](*arguments, **options)
    return o, o_lse


def form_of(p: Problem) -> Form:
    """What the choice of tiles depends on."""
    return Form(p.G, p.DK, p.DV, p.q.element_size(), p.k.element_size(), p.v is None)


def split_arguments(
    p: Problem, config: Config, splits: int, chunk: int, outputs: tuple[Tensor, Tensor, Tensor, Tensor]
) -> tuple[list[object], dict[str, Any]]:
    """Arguments of `split_kernel` in order, and the options of its launch; outputs are part ... o_lse."""
    q, k, latent = p.q, p.k, p.v is None
    v = k if p.v is None else p.v
    k_scale, v_scale = p.k_scale, p.v_scale
    # The interpreter adds bfloat16 as if they were integers: there, operands become float32 once loaded.
    mma = tl.float32 if INTERPRETED and q.dtype == torch.bfloat16 else _TRITON[q.dtype]
    DR = p.DK - p.DV if latent else 0
    arguments: list[object] = [
        q,
        k,
        v,
        k_scale,
        v_scale,
        p.lengths.contiguous(),
        p.table,
        _dense(p.sink_logits),
        *outputs,
    ]
    arguments += [*q.stride()[:2], *k.stride()[:3], *v.stride()[:3]]
    arguments += [0, 0, 0] if k_scale is None else k_scale.stride()
    arguments += [0, 0, 0] if v_scale is None else v_scale.stride()
    arguments += [
        0 if p.table is None else p.table.stride(0),
        p.T,
        splits,
        p.HKV,
        min(p.window or 0, max(p.T, 1)),
    ]
    arguments += [min(p.sink_tokens, p.T), p.scale, float(p.softcap or 1.0)]
    DK = p.DK - DR
    options: dict[str, Any] = {
        "G": p.G,
        "DK": DK,
        "DV": p.DV,
        "DR": DR,
        "PG": 1 if p.table is None else p.PG,
        "BLOCK_H": block_h(p.G, config),
        "BLOCK_N": config.block_n,
        "BLOCK_DK": max(16, power_of_two(DK)),
        "BLOCK_DV": max(16, power_of_two(p.DV)),
        "BLOCK_DR": max(16, power_of_two(DR)),
        "PAGES": _pages(p, config),
        "LATENT": latent,
        "QUANT": k_scale is not None,
        "WINDOW": p.window is not None,
        "SOFTCAP": p.softcap is not None,
        "SINK": p.sink_logits is not None,
        "CHUNK": chunk,
        "ONE_SPLIT": splits == 1,
        "USE_DOT": config.use_dot,
        "MMA": mma,
        # The default would round float32 inputs to ten bits of mantissa, and most AMD chips refuse it.
        "PREC": "ieee",
        "num_warps": config.warps,
        "num_stages": config.stages,
    }
    return arguments, options


def merge_arguments(
    p: Problem, splits: int, outputs: tuple[Tensor, Tensor, Tensor, Tensor]
) -> tuple[list[object], dict[str, Any]]:
    """Arguments of `merge_kernel` in order, and the options of its launch."""
    part, part_lse, o, o_lse = outputs
    width = min(power_of_two(p.DV), MERGE_NUMBERS // MERGE_SPLITS)
    options: dict[str, Any] = {
        "DV": p.DV, "BLOCK_S": MERGE_SPLITS, "BLOCK_DV": width, "SINK": p.sink_logits is not None,
        "num_warps": 4,
    }  # fmt: skip
    return [part, part_lse, _dense(p.sink_logits), o, o_lse, splits, p.HQ], options


def _dense(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _pages(p: Problem, config: Config) -> int:
    if p.table is None:
        return int(CONTIGUOUS.value)
    return int((SLOT_BY_SLOT if p.PG % config.block_n else TILE_IN_PAGE).value)


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
