"""Launching the CPU twin: arrays in C order, how many splits, one call at a time."""

import hashlib
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

from memlessons.kernels.cpu_tile import FAST
from memlessons.kernels.errors import BackendCannot, BadArgument
from memlessons.kernels.problem import Problem
from memlessons.kernels.scratch import Scratch
from memlessons.kernels.twin import LOG2E, decode_kernel

BLOCK_SCORES = 4096
"""Scores in a tile, of all heads together: a memory is read fastest in long runs, and 16 KiB stay near."""

_config: Any = numba.config
# Numba's default threading layer aborts the process when two Python threads enter it.
one_at_a_time = threading.Lock()


@cache
def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """A loop over programs, compiled at its first call for each type, and kept in the user's cache folder.

    Numba looks at the time of one file only to see whether what it kept is old; here the folder's name is
    that of all sources of this folder.
    """
    if not _config.CACHE_DIR:
        try:
            from platformdirs import user_cache_dir

            _config.CACHE_DIR = user_cache_dir(f"memlessons/numba/{_sources()}", appauthor=False)
        except ImportError:
            pass  # Numba's own choice: __pycache__ beside this file
    kernel: Callable[..., None] = numba.njit(parallel=True, cache=True, **FAST)(function)
    return kernel


def _sources() -> str:
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def decode_cpu(
    p: Problem, splits: int | None, chunk: int, out: Tensor | None, scratch: Scratch
) -> tuple[Tensor, Tensor]:
    """The same as `decode_reference`, in q's dtype, reading each byte of K and V once."""
    q, v = p.q, p.k if p.v is None else p.v
    check_on_cpu(q)
    for name, tensor in (("q", q), ("k", p.k), ("v", v), ("k_scale", p.k_scale), ("v_scale", p.v_scale)):
        if tensor is not None and not tensor.is_contiguous():
            raise BadArgument(
                f"{name} must be in C order for backend='cpu', its strides are {tensor.stride()}"
            )
    threads = torch.get_num_threads()
    splits = splits or cpu_splits(p, threads)
    part, lse = scratch.partials((p.B, p.HQ, splits), p.DV, q.device, q.dtype)
    o = torch.empty((p.B, p.HQ, p.DV), dtype=q.dtype) if out is None else out
    table = _own_pages(p.B) if p.table is None else p.table.contiguous().numpy()
    scales = [None if t is None else t.numpy() for t in (p.k_scale, p.value_scale)]
    number = np.float32 if q.dtype == torch.float32 else np.float64
    sinks = (
        _no_sinks(p.HQ, number) if p.sink_logits is None else p.sink_logits.to(q.dtype).contiguous().numpy()
    )
    o_lse = np.empty((p.B, p.HQ), number)
    factors = number(p.scale * LOG2E), number((p.softcap or 0) * LOG2E)
    run(
        decode_kernel, array(q), array(p.k), array(v), *scales, p.lengths.contiguous().numpy(), table, sinks,
        p.window or 0, p.sink_tokens, splits, chunk, *factors, block_n(p), part.numpy(), lse.numpy(),
        o.numpy(), o_lse,
    )  # fmt: skip
    return o, torch.from_numpy(o_lse)


@lru_cache(maxsize=64)
def _own_pages(rows: int) -> Any:
    """The table of a contiguous memory: row b lies in page b."""
    return np.arange(rows, dtype=np.int32)[:, None]


@lru_cache(maxsize=64)
def _no_sinks(heads: int, number: Any) -> Any:
    return np.full(heads, -np.inf, number)


def append_on_cpu(new: Tensor, pool: Tensor, slots: Tensor, scale: Tensor | None) -> None:
    """Codes and scales of `new [N, HKV, D]` into their slots; the arguments were checked."""
    from memlessons.kernels.append_twin import append_kernel

    assert scale is not None
    run(append_kernel, array(new.contiguous()), array(pool), array(scale), array(slots.contiguous()))


def check_on_cpu(q: Tensor) -> None:
    """BackendCannot unless the twin computes where these queries are, in their type."""
    if q.device.type != "cpu":
        raise BackendCannot(f"backend='cpu': tensors are on {q.device}; backend='triton' runs there")
    if q.dtype not in (torch.float32, torch.float64):
        raise BackendCannot(
            f"backend='cpu' computes in float32 and float64, not {q.dtype}; backend='reference' takes it"
        )


def array(tensor: Tensor) -> Any:
    """The same memory for Numba."""
    return (tensor.detach() if tensor.requires_grad else tensor).numpy()


def run(function: Callable[..., None], *arguments: Any) -> None:
    """Run a compiled loop with as many threads as torch has, while no other such loop runs."""
    threads = torch.get_num_threads()
    with one_at_a_time:
        # Where both run on one OpenMP, Numba's start would change torch's number.
        numba.set_num_threads(min(threads, int(_config.NUMBA_NUM_THREADS)))
        compiled(function)(*arguments)
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)


def block_n(p: Problem) -> int:
    """Slots in a tile: as many as the scores of its G heads leave room for, and no more than there are."""
    return max(1, min(p.T, max(64, BLOCK_SCORES // p.G)))


def cpu_splits(p: Problem, threads: int) -> int:
    """Enough programs that no thread idles for long, none smaller than a tile."""
    wanted = -(-4 * threads // (p.B * p.HKV))
    return max(1, min(wanted, -(-p.most_visible // block_n(p))))
