"""Decode attention: one new token per sequence looks at everything its sequence remembers."""

from typing import Literal

import torch
from torch import Tensor

from memlessons.kernels.arguments import check_out, checked
from memlessons.kernels.errors import BackendCannot, BadArgument
from memlessons.kernels.problem import Problem
from memlessons.kernels.reference import decode_reference
from memlessons.kernels.scratch import Scratch

Backend = Literal["auto", "triton", "cpu", "reference"]

CHUNK = 1024
"""Tokens in one split when the split must not depend on the batch (`deterministic=True`)."""
MOST_SPLITS = 4096


def decode(
    q: Tensor,
    k: Tensor,
    v: Tensor | None,
    lengths: Tensor,
    *,
    table: Tensor | None = None,
    window: int | None = None,
    sink_tokens: int = 0,
    sink_logits: Tensor | None = None,
    k_scale: Tensor | None = None,
    v_scale: Tensor | None = None,
    value_width: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    splits: int | None = None,
    deterministic: bool = False,
    backend: Backend = "auto",
    out: Tensor | None = None,
    scratch: Scratch | None = None,
    return_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of the newest token of each sequence over what its memory holds.

    q `[B, HQ, DK]`, k `[B, HKV, T, DK]`, v `[B, HKV, T, DV]` in one float dtype, lengths int32 `[B]`: how
    many of its T slots a row has filled. Query head h reads memory h // (HQ / HKV). HKV = HQ is multi-head,
    HKV = 1 multi-query, between them grouped attention. Returns o `[B, HQ, DV]` in q's dtype, with
    `return_lse` also lse f32 `[B, HQ]`, the natural logarithm of the softmax's denominator. A row of length
    0 gives (0, -inf). What lies in slots that are not seen is never read into the result, NaN included.

    Forms of memory, in any combination:
    `table` int32 `[B, MP]`: k and v are pools of pages, `[P, HKV, PG, D]`; slot n of row b lies in page
    `table[b, n // PG]`. Entries of pages that are not seen may be anything.
    `window`: only the newest so many slots are seen, and the first `sink_tokens`. (A memory that holds no
    more than its window needs neither.)
    `k_scale`, `v_scale` f32 `[B, HKV, T]` or `[P, HKV, PG]`: k and v are int8, value = code * scale.
    `v=None`: the values are the first `value_width` columns of k, as in MLA's latent; `scale` must be given.
    `sink_logits` f32 `[HQ]`: a score for each query head that has no value, and takes a share of the softmax;
    lse leaves it out.

    `scale` multiplies q · k (DK ** -0.5 if not given); `softcap` c replaces a score x by c tanh(x / c).
    `splits` cuts each past into so many parts that are attended to side by side and then merged; None
    chooses. `deterministic` cuts by the row's own length only: a row's bits do not depend on its batch.
    `out` takes the result; `scratch` keeps the partial results' memory between calls.

    `backend`: "triton" (CUDA, ROCm, or Triton's interpreter on CPU tensors), "cpu" (Numba, float32 and
    float64), "reference" (float64); "auto" goes by the tensors' device. On a CPU, a length outside 0 ... T
    and a page outside the pool raise; on a GPU, where looking would mean waiting, lengths are clamped and
    tables trusted.

    Raises BadArgument (a ValueError), naming the argument and its value, and BackendCannot, naming a backend
    that can.
    """
    p = checked(
        q, k, v, lengths, table=table, window=window, sink_tokens=sink_tokens, sink_logits=sink_logits,
        k_scale=k_scale, v_scale=v_scale, value_width=value_width, scale=scale, softcap=softcap,
    )  # fmt: skip
    check_out(out, p)
    if splits is not None and not (isinstance(splits, int) and 1 <= splits <= MOST_SPLITS):
        raise BadArgument(f"splits={splits!r}: must be a whole number from 1 to {MOST_SPLITS}, or None")
    if splits is not None and deterministic:
        raise BadArgument("splits and deterministic exclude each other: deterministic splits by length alone")
    if p.B == 0:
        o, lse = q.new_empty(0, p.HQ, p.DV), q.new_empty(0, p.HQ, dtype=torch.float32)
    else:
        o, lse = _run(_chosen(backend, q), p, splits, deterministic, out, scratch or Scratch())
    if out is not None and o is not out:
        out.copy_(o)
    o = o.to(q.dtype) if out is None else out
    return (o, lse.to(torch.float32)) if return_lse else o


def _chosen(backend: Backend, q: Tensor) -> Backend:
    if backend not in ("auto", "triton", "cpu", "reference"):
        raise BadArgument(f"backend={backend!r}: must be 'auto', 'triton', 'cpu' or 'reference'")
    if backend != "auto":
        return backend
    if q.device.type == "cuda":
        return "triton"
    if q.device.type == "cpu":
        return "cpu" if q.dtype in (torch.float32, torch.float64) else "reference"
    raise BackendCannot(
        f"no kernel for tensors on {q.device}; use backend='reference', or torch's own attention"
    )


def _run(
    backend: Backend,
    p: Problem,
    splits: int | None,
    deterministic: bool,
    out: Tensor | None,
    scratch: Scratch,
) -> tuple[Tensor, Tensor]:
    """Backends are imported when they first run, so that this folder needs none of them to import."""
    if backend == "reference":
        return decode_reference(p)
    chunk = CHUNK if deterministic else 0
    if deterministic:
        # Whole tiles: those at both ends of a window reach beyond it, by less than a chunk together.
        splits = max(1, -(-p.most_visible // CHUNK) + (p.window is not None))
    try:
        if backend == "cpu":
            from memlessons.kernels.cpu import decode_cpu

            return decode_cpu(p, splits, chunk, out, scratch)
        from memlessons.kernels.launch import decode_triton
    except ImportError as error:
        raise BackendCannot(
            f"backend={backend!r} needs the package {error.name}, which is not installed here; "
            "backend='reference' needs nothing but torch"
        ) from error
    return decode_triton(p, splits, chunk, out, scratch)
