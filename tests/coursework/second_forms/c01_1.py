"""01.1, wrong answers as a reader might write them."""

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa


def scores_of(q, k, scale):
    return torch.einsum("htd,hsd->hts", q, k) * scale


def hidden(T, S):
    mask = torch.zeros(T, S, dtype=torch.bool)
    for t in range(T):
        for s in range(S):
            mask[t, s] = s > S - T + t
    return mask


def first_positions(q, k, v, scale):
    T, S = q.shape[1], k.shape[1]
    mask = torch.zeros(T, S, dtype=torch.bool)
    for t in range(T):
        mask[t, : t + 1] = True
    return sdpa(q, k, v, attn_mask=mask, scale=scale)


def unscaled(q, k, v, scale):
    return sdpa(q, k, v, attn_mask=~hidden(q.shape[1], k.shape[1]), scale=1.0)


def zeros_afterwards(q, k, v, scale):
    p = torch.softmax(scores_of(q, k, scale), dim=2)
    p[:, hidden(q.shape[1], k.shape[1])] = 0
    return torch.einsum("hts,hsd->htd", p, v)


def over_queries(q, k, v, scale):
    s = scores_of(q, k, scale)
    s[:, hidden(q.shape[1], k.shape[1])] = float("-inf")
    return torch.einsum("hts,hsd->htd", torch.softmax(s, dim=1), v)


def sees_everything(q, k, v, scale):
    return sdpa(q, k, v, scale=scale)


def strictly_before(q, k, v, scale):
    T, S = q.shape[1], k.shape[1]
    query_at = torch.arange(S - T, S)[:, None]
    key_at = torch.arange(S)[None, :]
    s = scores_of(q, k, scale).masked_fill(key_at >= query_at, float("-inf"))
    return torch.einsum("hts,hsd->htd", torch.softmax(s, dim=2), v)


def scale_of_the_width(q, k, v, scale):
    return sdpa(q, k, v, attn_mask=~hidden(q.shape[1], k.shape[1]))


FORMS = {
    "mask from the top left": first_positions,
    "no scale": unscaled,
    "masked after softmax": zeros_afterwards,
    "softmax over queries": over_queries,
    "no mask": sees_everything,
    "blind to itself": strictly_before,
    "scale ignored": scale_of_the_width,
}
