"""Insufficient answers to 03.3 as readers write them."""

import torch

NAN = float("nan")


def _case(seed, lengths, q_heads=4, kv_heads=2, slots=50, width=8, loud=1.0, padding=NAN):
    random = torch.Generator().manual_seed(seed)
    q = loud * torch.randn(len(lengths), q_heads, width, generator=random, dtype=torch.float64)
    k = torch.randn(len(lengths), kv_heads, slots, width, generator=random, dtype=torch.float64)
    v = torch.randn(len(lengths), kv_heads, slots, width, generator=random, dtype=torch.float64)
    for row, length in enumerate(lengths):
        k[row, :, length:] = padding
        v[row, :, length:] = padding
    return q, k, v, list(lengths)


def whole_tiles_only():
    # 32 and everything that divides it: each length ends with a tile.
    return [_case(1, [64, 32, 0], slots=64), _case(2, [32, 64, 0], slots=64, loud=2000.0)]


def as_many_memories_as_heads():
    return [
        _case(3, [37, 45, 0], q_heads=3, kv_heads=3),
        _case(4, [45, 37, 0], q_heads=3, kv_heads=3, loud=2000.0),
    ]


def unused_slots_hold_sevens():
    return [_case(5, [37, 45, 0], padding=7.0), _case(6, [45, 37, 0], padding=7.0, loud=2000.0)]


def everybody_has_tokens():
    return [_case(7, [37, 45]), _case(8, [45, 41], loud=2000.0)]


def one_loud_case():
    q, k, v, lengths = _case(9, [37, 45, 0])
    # All queries point one way, and so does the first key: it takes all, a thousand times over.
    q = q.abs() + 1
    k[:2, :, 0] = 1000.0
    return [(q, k, v, lengths)]


def whispers():
    return [_case(10, [37, 45, 0]), _case(11, [45, 0, 41])]


FORMS = {
    "round lengths": whole_tiles_only,
    "one head per memory": as_many_memories_as_heads,
    "finite padding": unused_slots_hold_sevens,
    "no empty row": everybody_has_tokens,
    "huge logits only": one_loud_case,
    "small scores": whispers,
}
