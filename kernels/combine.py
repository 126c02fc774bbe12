"""Two partial answers become one: attention over a split past, put together again.

A partial answer is a pair: `o`, the values mixed in shares that add up to one, and `lse`, the natural
logarithm of the sum of exp(score) that these shares were divided by. Part a holds the share
exp(lse_a) / (exp(lse_a) + exp(lse_b)) of the whole. A part that saw nothing is (0, -inf).
"""

import torch
from torch import Tensor


def merge_states(o_a: Tensor, lse_a: Tensor, o_b: Tensor, lse_b: Tensor) -> tuple[Tensor, Tensor]:
    """Attention over both parts, from attention over each: o `[..., DV]`, lse `[...]`.

    Two empty parts merge to an empty one, (0, -inf). The formula is online softmax's, M. Milakov and
    N. Gimelshein, arXiv:1805.02867, applied to parts instead of single scores.
    """
    o, lse = combine(torch.stack((o_a, o_b), dim=-2), torch.stack((lse_a, lse_b), dim=-1))
    return o, lse


def combine(part: Tensor, lse: Tensor, sink_logits: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The whole answer from S parts: part `[..., S, DV]`, lse `[..., S]`; returns `[..., DV]`, `[...]`.

    Only the parts' lse say how much each counts; a part of lse -inf counts nothing, whatever it holds.
    `sink_logits`, of the answer's `[...]` or of its last dim, are scores of no token: they take their share
    of the softmax once, and stay out of the lse that is returned.
    """
    m = lse.amax(-1, keepdim=True)
    m = torch.where(m == float("-inf"), 0.0, m)  # all parts empty: -inf minus -inf is no number
    share = torch.exp(lse - m)
    total = share.sum(-1)
    mixed = (torch.where(share[..., None] > 0, part, 0.0) * share[..., None]).sum(-2)
    o, whole = mixed / torch.where(total > 0, total, 1.0)[..., None], m[..., 0] + torch.log(total)
    if sink_logits is not None:
        left = torch.where(total > 0, torch.sigmoid(whole - sink_logits), 0.0)
        o = o * left[..., None]
    return o, whole
