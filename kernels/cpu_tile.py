"""Inner loops of the CPU twin: a tile's scores, and its values mixed.

    x [G, slots]  = qs [G, DK]  ·  K [slots, DK] of one page           score, score_tile
    acc [G, DV]  += p [G, slots] · V [slots, DV] of one page           mix, mix_tile

The first of each pair is the plain loop: with few query heads a memory a core waits for bytes. From four
heads on it waits for arithmetic as well, each number of K and V being used G times. There the second keeps
eight sums, or eight shares, in registers at once:

    score_tile: 4 heads x 2 slots        score_codes, mix_tile: 1 head x 8 slots

Codes of eight bits always wait for arithmetic, which widens them first.
"""

from typing import Any

from numba import njit

from memlessons.kernels.cpu_prefetch import prefetch

TILE_HEADS = 4
"""Query heads per memory from which the unrolled loops win."""
# Sums may be reordered, or no loop below could be vectorised; -inf keeps its meaning.
FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "nogil": True}


@njit(inline="always", **FAST)
def score(qs, k, page, after, hk, t, count, x, j):
    """x[g, j + i] = q of head g · k of slot t + i of a page, all heads while a slot's key is near.

    `after` is the page that is read next.
    """
    G, DK = qs.shape
    for i in range(count):
        prefetch(k, page, after, hk, t + i)
        for g in range(G):
            dot = qs.dtype.type(0)
            for d in range(DK):
                dot += qs[g, d] * qs.dtype.type(k[page, hk, t + i, d])
            x[g, j + i] = dot


@njit(inline="always", **FAST)
def mix(p, v, page, after, hk, t, count, acc, j):
    """acc[g] += sum over i of p[g, j + i] * v of slot t + i of a page; `after` as in `score`."""
    G, DV = acc.shape
    for i in range(count):
        prefetch(v, page, after, hk, t + i)
        for g in range(G):
            share = p[g, j + i]
            for d in range(DV):
                acc[g, d] += share * acc.dtype.type(v[page, hk, t + i, d])


@njit(inline="always", **FAST)
def weigh(x, scale, page, hk, t, count, j):
    """x[g, j + i] *= the scale of slot t + i of a page, for all heads."""
    for g in range(x.shape[0]):
        for i in range(count):
            x[g, j + i] *= x.dtype.type(scale[page, hk, t + i])


@njit(inline="always", **FAST)
def score_tile(qs, k, page, after, hk, t, count, x, j):
    """As `score`, four heads and two slots at a time."""
    G, DK = qs.shape
    number, zero = qs.dtype.type, qs.dtype.type(0)
    for i in range(0, count - 1, 2):
        n = t + i
        prefetch(k, page, after, hk, n)
        prefetch(k, page, after, hk, n + 1)
        for g in range(0, G - 3, 4):
            a0, a1, a2, a3, b0, b1, b2, b3 = zero, zero, zero, zero, zero, zero, zero, zero
            for d in range(DK):
                a, b = number(k[page, hk, n, d]), number(k[page, hk, n + 1, d])
                a0 += qs[g, d] * a
                a1 += qs[g + 1, d] * a
                a2 += qs[g + 2, d] * a
                a3 += qs[g + 3, d] * a
                b0 += qs[g, d] * b
                b1 += qs[g + 1, d] * b
                b2 += qs[g + 2, d] * b
                b3 += qs[g + 3, d] * b
            x[g, j + i], x[g + 1, j + i], x[g + 2, j + i], x[g + 3, j + i] = a0, a1, a2, a3
            x[g, j + i + 1], x[g + 1, j + i + 1], x[g + 2, j + i + 1], x[g + 3, j + i + 1] = b0, b1, b2, b3
    odd = count // 2 * 2
    for g in range(G):
        for i in range(odd if g < G // 4 * 4 else 0, count):
            dot = zero
            for d in range(DK):
                dot += qs[g, d] * number(k[page, hk, t + i, d])
            x[g, j + i] = dot


@njit(inline="always", **FAST)
def score_codes(qs, k, page, after, hk, t, count, x, j):
    """As `score`, one head and eight slots at a time."""
    G, DK = qs.shape
    number, zero = qs.dtype.type, qs.dtype.type(0)
    for i in range(0, count - 7, 8):
        n = t + i
        for ahead in range(8):
            prefetch(k, page, after, hk, n + ahead)
        for g in range(G):
            x0, x1, x2, x3, x4, x5, x6, x7 = zero, zero, zero, zero, zero, zero, zero, zero
            for d in range(DK):
                q = qs[g, d]
                x0 += q * number(k[page, hk, n, d])
                x1 += q * number(k[page, hk, n + 1, d])
                x2 += q * number(k[page, hk, n + 2, d])
                x3 += q * number(k[page, hk, n + 3, d])
                x4 += q * number(k[page, hk, n + 4, d])
                x5 += q * number(k[page, hk, n + 5, d])
                x6 += q * number(k[page, hk, n + 6, d])
                x7 += q * number(k[page, hk, n + 7, d])
            x[g, j + i], x[g, j + i + 1], x[g, j + i + 2], x[g, j + i + 3] = x0, x1, x2, x3
            x[g, j + i + 4], x[g, j + i + 5], x[g, j + i + 6], x[g, j + i + 7] = x4, x5, x6, x7
    rest = count // 8 * 8
    score(qs, k, page, after, hk, t + rest, count - rest, x, j + rest)


@njit(inline="always", **FAST)
def mix_tile(p, v, page, after, hk, t, count, acc, j):
    """As `mix`, eight slots at a time."""
    G, DV = acc.shape
    number = acc.dtype.type
    for i in range(0, count - 7, 8):
        n = t + i
        for ahead in range(8):
            prefetch(v, page, after, hk, n + ahead)
        for g in range(G):
            p0, p1, p2, p3 = p[g, j + i], p[g, j + i + 1], p[g, j + i + 2], p[g, j + i + 3]
            p4, p5, p6, p7 = p[g, j + i + 4], p[g, j + i + 5], p[g, j + i + 6], p[g, j + i + 7]
            for d in range(DV):
                acc[g, d] += (
                    p0 * number(v[page, hk, n, d])
                    + p1 * number(v[page, hk, n + 1, d])
                    + p2 * number(v[page, hk, n + 2, d])
                    + p3 * number(v[page, hk, n + 3, d])
                ) + (
                    p4 * number(v[page, hk, n + 4, d])
                    + p5 * number(v[page, hk, n + 5, d])
                    + p6 * number(v[page, hk, n + 6, d])
                    + p7 * number(v[page, hk, n + 7, d])
                )
    rest = count // 8 * 8
    mix(p, v, page, after, hk, t + rest, count - rest, acc, j + rest)
