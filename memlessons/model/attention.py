"""Attention over a View: grouped queries, no copy of the past, K and V never expanded to all heads."""

from importlib.util import find_spec

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from memlessons.cache import View
from memlessons.kernels import Scratch, decode

TWIN_SLOTS = 512
"""Tokens in a CPU's memory from which its decode kernel is faster than two products of torch."""


def attend(
    q: Tensor,
    view: View,
    counts: list[int],
    *,
    scale: float,
    kernels: bool = True,
    scratch: Scratch | None = None,
) -> Tensor:
    """Causal attention of the newest tokens of each row over all that its row may see.

    `q` is `[B, query_heads, T, key_width]`; the queries of row b are the *last* `counts[b]` tokens of
    the view. Returns `[B, query_heads, T, value_width]`, zero beyond `counts[b]`. A slot that is not valid
    is never read, whatever it holds. With `kernels`, one token a row goes to the decode kernel where that is
    the faster way; of a chunk, rows of different lengths are attended one by one.
    """
    if view.v is None or view.table is not None or view.positions is not None or view.fresh is not None:
        raise NotImplementedError("attend: only contiguous views of keys and values are built yet")
    lengths = view.host_lengths or tuple(view.lengths.tolist())
    if kernels and q.shape[2] == 1 and min(counts) == 1 and _has_kernel(q, view, max(lengths)):
        return attend_next(q, view, scale=scale, scratch=scratch)
    if len(set(lengths)) == 1 and len(set(counts)) == 1 and counts[0] == q.shape[2]:
        return _aligned(q, *_rows(view, slice(None), lengths[0], q.dtype), scale)
    out = q.new_zeros(*q.shape[:3], view.v.shape[-1])
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        if count:
            k, v = _rows(view, slice(row, row + 1), length, q.dtype)
            out[row, :, :count] = _aligned(q[row : row + 1, :, :count], k, v, scale)[0]
    return out


def attend_next(q: Tensor, view: View, *, scale: float, scratch: Scratch | None = None) -> Tensor:
    """Attention of one new token a row, q `[B, query_heads, 1, key_width]`, by the decode kernel alone.

    Never asks the host for a length, so that it can be captured in a CUDA graph.
    """
    o = decode(
        q[:, :, 0].contiguous(), view.k, view.v, view.lengths, k_scale=view.k_scale, v_scale=view.v_scale,
        scale=scale, scratch=scratch,
    )  # fmt: skip
    assert isinstance(o, Tensor)
    return o[:, :, None]


def kernel_takes(dtype: torch.dtype, k: Tensor, v: Tensor | None) -> bool:
    """Whether the decode kernel of the memory's device reads it with queries of this type."""
    if v is None or v.dtype != k.dtype or k.dtype not in (dtype, torch.int8):
        return False
    if k.device.type == "cpu":
        return dtype in (torch.float32, torch.float64) and find_spec("numba") is not None
    if k.device.type != "cuda" or find_spec("triton") is None:
        return False
    narrow = dtype in (torch.float16, torch.float32)
    return narrow or (dtype == torch.bfloat16 and torch.cuda.get_device_capability(k.device) >= (8, 0))


def _has_kernel(q: Tensor, view: View, longest: int) -> bool:
    """Whether the decode kernel of this device takes the call, and wins."""
    if not kernel_takes(q.dtype, view.k, view.v):
        return False
    return q.device.type == "cuda" or view.k.dtype == torch.int8 or longest >= TWIN_SLOTS


def _rows(view: View, rows: slice, length: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Keys and values of some rows, their first `length` slots, as numbers of the queries' type."""
    found = []
    assert view.v is not None
    for stored, scale in ((view.k, view.k_scale), (view.v, view.v_scale)):
        x = stored[rows, :, :length].to(dtype)
        found.append(x if scale is None else x * scale[rows, :, :length, None].to(dtype))
    return found[0], found[1]


def _aligned(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """`q` are the last T of the S tokens in `k` and `v`, in every row."""
    return _one(q, k, v, scale) if q.shape[2] == 1 else _many(q, k, v, scale)


def _one(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """One query a row: the heads of a group are the rows of one matrix, and share each key read."""
    rows, heads, _, width = q.shape
    grouped = (q * scale).reshape(rows, k.shape[1], -1, width)
    weights = torch.softmax(grouped @ k.transpose(-1, -2), dim=-1)
    return (weights @ v).reshape(rows, heads, 1, v.shape[-1])


def _many(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """A chunk of queries: causal from the bottom right, the last query sees all keys."""
    count, tokens = q.shape[2], k.shape[2]
    mask = None
    if count != tokens:
        mask = torch.ones(count, tokens, dtype=torch.bool, device=q.device).tril(tokens - count)
    return attend_all(q, k, v, mask, scale=scale)


def attend_all(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, scale: float) -> Tensor:
    """Torch's fused attention: queries `[B, query_heads, T, D]`, keys and values `[B, kv_heads, S, D]`.

    `mask` is bool `[T, S]`, True where a query may look; None is causal and needs T = S. The group is a
    dimension of stride 0, so K and V are read as they lie, not repeated for each query head.
    """
    rows, heads, count, width = q.shape
    kv_heads, tokens = k.shape[1], k.shape[2]
    q = q.reshape(rows * kv_heads, heads // kv_heads, count, width)
    k, v = (t.reshape(rows * kv_heads, 1, tokens, -1).expand(-1, q.shape[1], -1, -1) for t in (k, v))
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, scale=scale)
    return out.reshape(rows, heads, count, -1)
