"""01.5, wrong answers as a reader might write them."""

import torch


def turned(x, positions, frequency, pair, sign=1):
    out = torch.empty_like(x)
    half = x.shape[1] // 2
    for t, p in enumerate(positions.tolist()):
        for i in range(half):
            angle = torch.tensor(sign * p * frequency(i), dtype=torch.float64)
            c, s = angle.cos().item(), angle.sin().item()
            a, b = pair(i, half)
            out[t, a] = x[t, a] * c - x[t, b] * s
            out[t, b] = x[t, a] * s + x[t, b] * c
    return out


def halves(i, half):
    return i, i + half


def always_from_zero(x, positions, base):
    D = x.shape[1]
    return turned(x, torch.arange(len(x)), lambda i: base ** (-2 * i / D), halves)


def neighbours(x, positions, base):
    D = x.shape[1]
    return turned(x, positions, lambda i: base ** (-2 * i / D), lambda i, half: (2 * i, 2 * i + 1))


def too_fast(x, positions, base):
    D = x.shape[1]
    return turned(x, positions, lambda i: base ** (-i / D), halves)


def backwards(x, positions, base):
    D = x.shape[1]
    return turned(x, positions, lambda i: base ** (-2 * i / D), halves, sign=-1)


def faster_and_faster(x, positions, base):
    D = x.shape[1]
    return turned(x, positions, lambda i: base ** (2 * i / D), halves)


FORMS = {
    "positions from zero": always_from_zero,
    "neighbouring pairs": neighbours,
    "wrong frequency": too_fast,
    "exponent's sign": faster_and_faster,
    "sign": backwards,
}
