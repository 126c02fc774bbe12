"""The truth: attention as the formula has it, in float64, row by row."""

import torch
from torch import Tensor

from memlessons.kernels.problem import Problem


def decode_reference(p: Problem) -> tuple[Tensor, Tensor]:
    """Attention of one query token per sequence over the slots of its memory that it sees.

    Returns o float64 `[B, HQ, DV]` and lse float64 `[B, HQ]` (natural logarithm); (0, -inf) where nothing is
    seen. Slots that are not seen are never looked at.
    """
    o = p.q.new_zeros(p.B, p.HQ, p.DV, dtype=torch.float64)
    lse = p.q.new_full((p.B, p.HQ), float("-inf"), dtype=torch.float64)
    for b, L in enumerate(p.lengths.clamp(0, p.T).tolist()):
        n = seen(p, L).to(p.q.device)
        for h in range(p.HQ if L else 0):
            hk = h // p.G  # consecutive query heads share one memory
            k = stored(p, p.k, p.k_scale, b, hk, n)
            v = k[:, : p.DV] if p.v is None else stored(p, p.v, p.v_scale, b, hk, n)
            x = k @ p.q[b, h].double() * p.scale
            if p.softcap is not None:
                x = p.softcap * torch.tanh(x / p.softcap)
            lse[b, h] = torch.logsumexp(x, dim=0)
            o[b, h] = torch.softmax(x, dim=0) @ v
            if p.sink_logits is not None:  # one more score, that has no value: a share of the softmax is lost
                o[b, h] *= torch.sigmoid(lse[b, h] - p.sink_logits[h].double())
    return o, lse


def seen(p: Problem, L: int) -> Tensor:
    """The slots that a row of L tokens sees, int64, in order."""
    n = torch.arange(L)
    return n if p.window is None else n[(n >= L - p.window) | (n < p.sink_tokens)]


def stored(p: Problem, memory: Tensor, scale: Tensor | None, b: int, hk: int, n: Tensor) -> Tensor:
    """What lies in slots n of row b, head hk, as float64 `[len(n), width]`."""
    page = torch.full_like(n, b) if p.table is None else p.table[b, n // p.PG].long()
    rows = memory[page, hk, n % p.PG].double()
    return rows if scale is None else rows * scale[page, hk, n % p.PG, None].double()
