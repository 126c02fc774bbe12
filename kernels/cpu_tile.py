"""Inner loops of the CPU twin for many query heads per memory, unrolled by hand.

From eight heads a memory on, a CPU is no longer waiting for bytes but for arithmetic: each number of K
and V is used G times. The loops of `cpu.py` load a partial sum for each use; these keep four of them, or
four slots, in registers at once.
"""

from typing import Any

from numba import njit

from memlessons.kernels.cpu_prefetch import prefetch

TILE_HEADS = 8
"""Query heads per memory from which these loops win."""
_FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "nogil": True}


@njit(inline="always", **_FAST)
def score_tile(qs, k, b, hk, first, last, x):
    """x[g, j] = q of head g · k of slot first + j, four heads at a time."""
    G, DK = qs.shape
    zero = qs.dtype.type(0)
    for n in range(first, last):
        j = n - first
        prefetch(k, b, hk, n)
        for g in range(0, G - 3, 4):
            x0, x1, x2, x3 = zero, zero, zero, zero
            for d in range(DK):
                key = k[b, hk, n, d]
                x0 += qs[g, d] * key
                x1 += qs[g + 1, d] * key
                x2 += qs[g + 2, d] * key
                x3 += qs[g + 3, d] * key
            x[g, j], x[g + 1, j], x[g + 2, j], x[g + 3, j] = x0, x1, x2, x3
        for g in range(G // 4 * 4, G):
            dot = zero
            for d in range(DK):
                dot += qs[g, d] * k[b, hk, n, d]
            x[g, j] = dot


@njit(inline="always", **_FAST)
def mix_tile(p, v, b, hk, first, last, acc):
    """acc[g] += sum over j of p[g, j] * v of slot first + j, four slots at a time."""
    G, DV = acc.shape
    for n in range(first, last - 3, 4):
        j = n - first
        for ahead in range(4):
            prefetch(v, b, hk, n + ahead)
        for g in range(G):
            p0, p1, p2, p3 = p[g, j], p[g, j + 1], p[g, j + 2], p[g, j + 3]
            for d in range(DV):
                acc[g, d] += (
                    p0 * v[b, hk, n, d]
                    + p1 * v[b, hk, n + 1, d]
                    + p2 * v[b, hk, n + 2, d]
                    + p3 * v[b, hk, n + 3, d]
                )
    for n in range(first + (last - first) // 4 * 4, last):
        for g in range(G):
            share = p[g, n - first]
            for d in range(DV):
                acc[g, d] += share * v[b, hk, n, d]
