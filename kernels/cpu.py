"""Launching the CPU twin: contiguous arrays, how many splits, one call at a time."""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from memlessons.kernels.arguments import Problem
from memlessons.kernels.errors import BackendCannot, BadArgument
from memlessons.kernels.scratch import Scratch
from memlessons.kernels.twin import FAST, LOG2E, decode_kernel

BLOCK_SCORES = 4096
"""Scores in a tile, of all heads together: a memory is read fastest in long runs, and 16 KiB stay near."""

_config: Any = numba.config
# Numba's default threading layer aborts the process when two Python threads enter it.
_one_at_a_time = threading.Lock()


@cache
def compiled() -> Callable[..., None]:
    """The twin, compiled at its first call for float32 or float64, and kept in the user's cache folder."""
    if not _config.CACHE_DIR:
        try:
            from platformdirs import user_cache_dir

            _config.CACHE_DIR = user_cache_dir("memlessons/numba", appauthor=False)
        except ImportError:
            pass  # Numba's own choice: __pycache__ beside this file
    kernel: Callable[..., None] = numba.njit(parallel=True, cache=True, **FAST)(decode_kernel)
    return kernel


def decode_cpu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    lengths: Tensor,
    p: Problem,
    splits: int | None,
    chunk: int,
    scratch: Scratch,
) -> tuple[Tensor, Tensor]:
    """The same as `decode_reference`, in q's dtype, reading each byte of K and V once."""
    if q.device.type != "cpu":
        raise BackendCannot(f"backend='cpu': tensors are on {q.device}; backend='triton' runs there")
    if q.dtype not in (torch.float32, torch.float64):
        raise BackendCannot(
            f"backend='cpu' computes in float32 and float64, not {q.dtype}; backend='reference' takes it"
        )
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not tensor.is_contiguous():
            raise BadArgument(
                f"{name} must be in C order for backend='cpu', its strides are {tensor.stride()}"
            )
    threads = torch.get_num_threads()
    splits = splits or cpu_splits(p, threads)
    part, lse = scratch.partials((p.B, p.HQ, splits), p.DV, q.device, q.dtype)
    o, o_lse = torch.empty((p.B, p.HQ, p.DV), dtype=q.dtype), torch.empty((p.B, p.HQ), dtype=q.dtype)
    number = np.float32 if q.dtype == torch.float32 else np.float64
    tensors = [(t.detach() if t.requires_grad else t).numpy() for t in (q, k, v)]
    scales = number(p.scale * LOG2E), number((p.softcap or 0) * LOG2E)
    outputs = [t.numpy() for t in (part, lse, o, o_lse)]
    with _one_at_a_time:
        # As many as torch uses. Where both run on one OpenMP, Numba's start would change torch's number.
        numba.set_num_threads(min(threads, int(_config.NUMBA_NUM_THREADS)))
        compiled()(*tensors, lengths.numpy(), splits, chunk, *scales, block_n(p), *outputs)
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    return o, o_lse


def block_n(p: Problem) -> int:
    """Slots in a tile: as many as the scores of its G heads leave room for, and no more than there are."""
    return max(1, min(p.T, max(64, BLOCK_SCORES // p.G)))


def cpu_splits(p: Problem, threads: int) -> int:
    """Enough programs that no thread idles for long, none smaller than a tile."""
    wanted = -(-4 * threads // (p.B * p.HKV))
    return max(1, min(wanted, -(-p.T // block_n(p))))
