"""Inner loops of the CPU twin: a tile's scores, and its values mixed.

    x [G, slots]  = qs [G, DK]  ·  K [slots, DK] of one page           score, score_tile
    acc [G, DV]  += p [G, slots] · V [slots, DV] of one page           mix, mix_tile

The first of each pair is the plain loop: with few query heads a memory a core waits for bytes. From eight
heads on it waits for arithmetic, each number of K and V being used G times. There the second keeps eight
sums, or eight shares, in registers at once:

    score_tile: 4 heads x 2 slots        mix_tile: 2 heads x 4 slots
"""

from typing import Any

from numba import njit

from memlessons.kernels.cpu_prefetch import prefetch

TILE_HEADS = 8
"""Query heads per memory from which the unrolled loops win."""
# Sums may be reordered, or no loop below could be vectorised; -inf keeps its meaning.
FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "nogil": True}


@njit(inline="always", **FAST)
def score(qs, k, page, hk, t, count, x, j):
    """x[g, j + i] = q of head g · k of slot t + i of a page, all heads while a slot's key is near."""
    G, DK = qs.shape
    for i in range(count):
        prefetch(k, page, hk, t + i)
        for g in range(G):
            dot = qs.dtype.type(0)
            for d in range(DK):
                dot += qs[g, d] * k[page, hk, t + i, d]
            x[g, j + i] = dot


@njit(inline="always", **FAST)
def mix(p, v, page, hk, t, count, acc, j):
    """acc[g] += sum over i of p[g, j + i] * v of slot t + i of a page."""
    G, DV = acc.shape
    for i in range(count):
        prefetch(v, page, hk, t + i)
        for g in range(G):
            share = p[g, j + i]
            for d in range(DV):
                acc[g, d] += share * v[page, hk, t + i, d]


@njit(inline="always", **FAST)
def widen(codes, scale, page, hk, t, count, wide, j):
    """wide[0, 0, j + i, d] = code * scale, for `count` slots from slot t of a page."""
    width = codes.shape[3]
    for i in range(count):
        prefetch(codes, page, hk, t + i)
        s = wide.dtype.type(scale[page, hk, t + i])
        for d in range(width):
            wide[0, 0, j + i, d] = wide.dtype.type(codes[page, hk, t + i, d]) * s


@njit(inline="always", **FAST)
def score_tile(qs, k, page, hk, t, count, x, j):
    """As `score`, four heads and two slots at a time."""
    G, DK = qs.shape
    zero = qs.dtype.type(0)
    for i in range(0, count - 1, 2):
        n = t + i
        prefetch(k, page, hk, n)
        prefetch(k, page, hk, n + 1)
        for g in range(0, G - 3, 4):
            a0, a1, a2, a3, b0, b1, b2, b3 = zero, zero, zero, zero, zero, zero, zero, zero
            for d in range(DK):
                key, after = k[page, hk, n, d], k[page, hk, n + 1, d]
                a0 += qs[g, d] * key
                a1 += qs[g + 1, d] * key
                a2 += qs[g + 2, d] * key
                a3 += qs[g + 3, d] * key
                b0 += qs[g, d] * after
                b1 += qs[g + 1, d] * after
                b2 += qs[g + 2, d] * after
                b3 += qs[g + 3, d] * after
            x[g, j + i], x[g + 1, j + i], x[g + 2, j + i], x[g + 3, j + i] = a0, a1, a2, a3
            x[g, j + i + 1], x[g + 1, j + i + 1], x[g + 2, j + i + 1], x[g + 3, j + i + 1] = b0, b1, b2, b3
    odd = count // 2 * 2
    for g in range(G):
        for i in range(odd if g < G // 4 * 4 else 0, count):
            dot = zero
            for d in range(DK):
                dot += qs[g, d] * k[page, hk, t + i, d]
            x[g, j + i] = dot


@njit(inline="always", **FAST)
def mix_tile(p, v, page, hk, t, count, acc, j):
    """As `mix`, two heads and four slots at a time."""
    G, DV = acc.shape
    for i in range(0, count - 3, 4):
        n = t + i
        for ahead in range(4):
            prefetch(v, page, hk, n + ahead)
        for g in range(0, G - 1, 2):
            a0, a1, a2, a3 = p[g, j + i], p[g, j + i + 1], p[g, j + i + 2], p[g, j + i + 3]
            b0, b1, b2, b3 = p[g + 1, j + i], p[g + 1, j + i + 1], p[g + 1, j + i + 2], p[g + 1, j + i + 3]
            for d in range(DV):
                v0, v1 = v[page, hk, n, d], v[page, hk, n + 1, d]
                v2, v3 = v[page, hk, n + 2, d], v[page, hk, n + 3, d]
                acc[g, d] += a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
                acc[g + 1, d] += b0 * v0 + b1 * v1 + b2 * v2 + b3 * v3
    rest = count // 4 * 4
    for g in range(G):
        for i in range(rest if g < G // 2 * 2 else 0, count):
            share = p[g, j + i]
            for d in range(DV):
                acc[g, d] += share * v[page, hk, t + i, d]
