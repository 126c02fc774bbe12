"""The truth: attention as the formula has it, in float64, row by row."""

import torch
from torch import Tensor

from memlessons.kernels.arguments import Problem


def decode_reference(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, p: Problem) -> tuple[Tensor, Tensor]:
    """Attention of one query token per sequence over the first `lengths[b]` slots of its memory.

    Returns o float64 `[B, HQ, DV]` and lse float64 `[B, HQ]` (natural logarithm); (0, -inf) for length 0.
    Slots beyond a length are never looked at.
    """
    o = q.new_zeros(p.B, p.HQ, p.DV, dtype=torch.float64)
    lse = q.new_full((p.B, p.HQ), float("-inf"), dtype=torch.float64)
    for b, L in enumerate(lengths.clamp(0, p.T).tolist()):
        for h in range(p.HQ if L else 0):
            hk = h // p.G  # consecutive query heads share one memory
            x = k[b, hk, :L].double() @ q[b, h].double() * p.scale
            if p.softcap is not None:
                x = p.softcap * torch.tanh(x / p.softcap)
            lse[b, h] = torch.logsumexp(x, dim=0)
            o[b, h] = torch.softmax(x, dim=0) @ v[b, hk, :L].double()
    return o, lse
