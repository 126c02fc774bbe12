"""Attention over a View: grouped queries, no copy of the past, K and V never expanded to all heads."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from memlessons.cache import View


def attend(q: Tensor, view: View, counts: list[int], *, scale: float) -> Tensor:
    """Causal attention of the newest tokens of each row over all that its row may see.

    `q` is `[B, query_heads, T, key_width]`; the queries of row b are the *last* `counts[b]` tokens of
    the view. Returns `[B, query_heads, T, value_width]`, zero beyond `counts[b]`. Rows of different
    lengths are attended one by one, so a slot that is not valid is never read, whatever it holds.
    """
    if view.v is None or view.table is not None or view.positions is not None or view.fresh is not None:
        raise NotImplementedError("attend: only contiguous views of keys and values are built yet")
    lengths = view.host_lengths or tuple(view.lengths.tolist())
    if len(set(lengths)) == 1 and len(set(counts)) == 1 and counts[0] == q.shape[2]:
        return _aligned(q, view.k[:, :, : lengths[0]], view.v[:, :, : lengths[0]], scale)
    out = q.new_zeros(*q.shape[:3], view.v.shape[-1])
    for row, (length, count) in enumerate(zip(lengths, counts, strict=True)):
        if count:
            k, v = (t[row : row + 1, :, :length] for t in (view.k, view.v))
            out[row, :, :count] = _aligned(q[row : row + 1, :, :count], k, v, scale)[0]
    return out


def _aligned(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """`q` are the last T of the S tokens in `k` and `v`, in every row."""
    k, v = k.to(q.dtype), v.to(q.dtype)
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
