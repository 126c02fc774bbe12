"""Six decode kernels with one fault each, and the truth beside them, for exercise 03.3.

A decode kernel attends from one query position to a batch of caches of different lengths. It reads a cache
in tiles of `tile` slots. Dims: B sequences, HQ query heads, HKV memories (heads of keys and values), T slots
of room, D numbers a head. All calculate in float64, so that only a fault makes a difference.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Rows = Callable[[Tensor, Tensor, Tensor, int, int], Tensor]
"""One sequence: (q [HQ, D], k [HQ, T, D], v [HQ, T, D], length, tile) to out [HQ, D]."""


def softmax_average(scores: Tensor, v: Tensor) -> Tensor:
    """Values [H, n, D] averaged by the softmax of their scores [H, n]: [H, D]; zeros where n is 0."""
    if scores.shape[1] == 0:
        return v.new_zeros(v.shape[0], v.shape[2])
    return torch.einsum("hn,hnd->hd", scores.softmax(-1), v)


def score(q: Tensor, k: Tensor) -> Tensor:
    """Scaled products of queries [H, D] and keys [H, n, D]: [H, n]."""
    return torch.einsum("hd,hnd->hn", q, k) * q.shape[-1] ** -0.5


def right(q: Tensor, k: Tensor, v: Tensor, length: int, tile: int) -> Tensor:
    """Only the first `length` slots exist, whatever the others hold; without any, the output is zero."""
    return softmax_average(score(q, k[:, :length]), v[:, :length])


def tail_dropped(q: Tensor, k: Tensor, v: Tensor, length: int, tile: int) -> Tensor:
    """Reads full tiles only."""
    return right(q, k, v, length // tile * tile, tile)


def tail_read(q: Tensor, k: Tensor, v: Tensor, length: int, tile: int) -> Tensor:
    """Attends to all that the last tile holds."""
    return right(q, k, v, -(-length // tile) * tile, tile)


def weight_0(q: Tensor, k: Tensor, v: Tensor, length: int, tile: int) -> Tensor:
    """Loads the whole last tile and masks its scores; a value that nobody should see is multiplied by 0."""
    end = -(-length // tile) * tile
    scores = score(q, k[:, :end])
    scores[:, length:] = -torch.inf
    return softmax_average(scores, v[:, :end])


def empty_row(q: Tensor, k: Tensor, v: Tensor, length: int, tile: int) -> Tensor:
    """Divides by the sum of weights, also where there are none."""
    scores = score(q, k[:, :length])
    highest = scores.amax(-1, keepdim=True) if length else 0.0
    weights = (scores - highest).exp()
    return torch.einsum("hn,hnd->hd", weights, v[:, :length]) / weights.sum(-1, keepdim=True)


def no_maximum(q: Tensor, k: Tensor, v: Tensor, length: int, tile: int) -> Tensor:
    """Exponentiates scores as they are, in float32 as kernels do, where exp(89) is infinite."""
    if length == 0:
        return right(q, k, v, length, tile)
    weights = score(q, k[:, :length]).float().exp().double()
    return torch.einsum("hn,hnd->hd", weights, v[:, :length]) / weights.sum(-1, keepdim=True)


def decode(rows: Rows, q: Tensor, k: Tensor, v: Tensor, lengths: list[int], tile: int, spread: str) -> Tensor:
    """All sequences, one after the other: q [B, HQ, D], k and v [B, HKV, T, D] to [B, HQ, D].

    `spread` says which memory query head h reads: "grouped", neighbours share one (h // (HQ / HKV)), or
    "interleaved" (h % HKV).
    """
    q, k, v = q.double(), k.double(), v.double()
    q_heads, kv_heads = q.shape[1], k.shape[1]
    head = torch.arange(q_heads)
    memory = head // (q_heads // kv_heads) if spread == "grouped" else head % kv_heads
    return torch.stack([rows(q[b], k[b, memory], v[b, memory], n, tile) for b, n in enumerate(lengths)])


KERNELS: dict[str, tuple[Rows, str]] = {
    "heads interleaved": (right, "interleaved"),
    "tail dropped": (tail_dropped, "grouped"),
    "tail read": (tail_read, "grouped"),
    "weight 0": (weight_0, "grouped"),
    "empty row": (empty_row, "grouped"),
    "no maximum": (no_maximum, "grouped"),
}
"""The six faulty kernels by their fault."""


def exposed(q: Tensor, k: Tensor, v: Tensor, lengths: list[int], tile: int) -> set[str]:
    """The faults that this input shows: a head's output is off by over a thousandth of the true output's
    largest number, or is not finite."""
    truth = decode(right, q, k, v, lengths, tile, "grouped")
    allowed = 1e-3 * truth.abs().amax(-1, keepdim=True)
    found = set()
    for fault, (rows, spread) in KERNELS.items():
        close = (decode(rows, q, k, v, lengths, tile, spread) - truth).abs() <= allowed  # false for NaN
        if not bool(close.all()):
            found.add(fault)
    return found
