"""The right answer on large shapes: the formula in float64, one memory with all its query heads at a time.

`memlessons.kernels.reference` goes query head by query head, which is plain, and takes seconds here.
"""

import torch
from torch import Tensor

from memlessons.bench.kernels.inputs import Inputs
from memlessons.kernels.arguments import checked
from memlessons.kernels.problem import Problem


def truth_of(one: Inputs) -> Tensor:
    """The output float64 `[B, HQ, DV]` of a call; zeros where nothing is seen."""
    p = checked(*one[:4], **one.options)
    o = p.q.new_zeros(p.B, p.HQ, p.DV, dtype=torch.float64)
    for b, length in enumerate(p.lengths.clamp(0, p.T).tolist()):
        slots = torch.arange(length, device=p.q.device)
        if p.window is not None:
            slots = slots[(slots >= length - p.window) | (slots < p.sink_tokens)]
        for hk in range(p.HKV if length else 0):
            heads = slice(hk * p.G, (hk + 1) * p.G)
            k = _rows(p, p.k, p.k_scale, b, hk, slots)
            v = k[:, : p.DV] if p.v is None else _rows(p, p.v, p.v_scale, b, hk, slots)
            x = p.q[b, heads].double() @ k.T * p.scale
            if p.softcap is not None:
                x = p.softcap * torch.tanh(x / p.softcap)
            o[b, heads] = torch.softmax(x, dim=-1) @ v
            if p.sink_logits is not None:
                over = torch.logsumexp(x, dim=-1) - p.sink_logits[heads].double()
                o[b, heads] *= torch.sigmoid(over)[:, None]
    return o


def _rows(p: Problem, memory: Tensor, scale: Tensor | None, b: int, hk: int, slots: Tensor) -> Tensor:
    """What lies in these slots of a row's memory, `[n, width]`; pages are laid out one after another."""
    if p.table is None:
        rows, factors = memory[b, hk], None if scale is None else scale[b, hk]
    else:
        pages = p.table[b].long().clamp(0, len(memory) - 1)  # of no matter where nothing is seen
        rows, factors = memory[pages, hk].flatten(0, 1), None if scale is None else scale[pages, hk].flatten()
    found = rows[slots].double()
    return found if factors is None else found * factors[slots, None].double()
