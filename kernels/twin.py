"""The CPU twin of the Triton kernel: the same algorithm, the same names, compiled by Numba.

One program per (sequence b, head of memory hk, split s) reads its tiles of K and V once, for all G query
heads that share them:

    T ──────────────────────────────────────────►
    │ tile │ tile │ tile │ tile │ tile │ tile │▒▒▒      ▒ slots beyond the length: never read
    └── split 0 ──┴── split 1 ──┴── split 2 ──┘

and leaves a partial answer (o, lse). A second loop merges the splits.
"""

from typing import Any

import numpy as np
from numba import njit, prange

from memlessons.kernels.cpu_exp import exp2, largest
from memlessons.kernels.cpu_prefetch import prefetch
from memlessons.kernels.cpu_tile import TILE_HEADS, mix_tile, score_tile

# Sums may be reordered, or no loop below could be vectorised; -inf keeps its meaning.
FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}, "nogil": True}
LOG2E = 1.4426950408889634


@njit(**FAST)
def split_range(L, s, splits, chunk, block_n):
    """First and last slot of split s: whole tiles, shared out evenly; or chunks of a fixed size."""
    if chunk > 0:
        return min(s * chunk, L), min((s + 1) * chunk, L)
    tiles = (L + block_n - 1) // block_n
    return tiles * s // splits * block_n, min(tiles * (s + 1) // splits * block_n, L)


@njit(inline="always", **FAST)
def score(qs, k, b, hk, first, last, x):
    """x[g, j] = q of head g · k of slot first + j, all heads while a slot's key is near."""
    G, DK = qs.shape
    for n in range(first, last):
        prefetch(k, b, hk, n)
        for g in range(G):
            dot = qs.dtype.type(0)
            for d in range(DK):
                dot += qs[g, d] * k[b, hk, n, d]
            x[g, n - first] = dot


@njit(inline="always", **FAST)
def mix(p, v, b, hk, first, last, acc):
    """acc[g] += sum over j of p[g, j] * v of slot first + j."""
    G, DV = acc.shape
    for n in range(first, last):
        prefetch(v, b, hk, n)
        for g in range(G):
            share = p[g, n - first]
            for d in range(DV):
                acc[g, d] += share * v[b, hk, n, d]


@njit(inline="always", **FAST)
def renew(x, count, m, l, acc):
    """Online softmax: scores x[g, :count] become shares relative to the largest score so far.

    What was summed before was relative to the old maximum: it is rescaled by 2 ** (old - new).
    """
    G, DV = acc.shape
    for g in range(G):
        mn = largest(x, g, count, m[g])
        base = mn if mn > -np.inf else x.dtype.type(0)  # all scores -inf: -inf minus -inf is no number
        a = exp2(m[g] - base) if m[g] > -np.inf else x.dtype.type(0)
        total = x.dtype.type(0)
        for j in range(count):
            p = exp2(x[g, j] - base)
            x[g, j] = p
            total += p
        l[g] = l[g] * a + total
        for d in range(DV):
            acc[g, d] *= a
        m[g] = mn


@njit(inline="always", **FAST)
def attend(q, k, v, b, hk, lo, hi, qk_scale, softcap, block_n, part, lse, s):
    """The partial answer of one program: slots lo ... hi - 1 of memory (b, hk), for its G query heads."""
    G, DK, DV = q.shape[1] // k.shape[1], q.shape[2], v.shape[3]
    qs = np.empty((G, DK), q.dtype)
    for g in range(G):
        for d in range(DK):
            qs[g, d] = q[b, hk * G + g, d] * qk_scale
    m = np.full(G, -np.inf, q.dtype)
    l = np.zeros(G, q.dtype)
    acc = np.zeros((G, DV), q.dtype)
    x = np.empty((G, block_n), q.dtype)
    for first in range(lo, hi, block_n):
        last = min(first + block_n, hi)
        if G >= TILE_HEADS:
            score_tile(qs, k, b, hk, first, last, x)
        else:
            score(qs, k, b, hk, first, last, x)
        if softcap > 0:
            for g in range(G):
                for j in range(last - first):
                    x[g, j] = softcap * np.tanh(x[g, j] / softcap)
        renew(x, last - first, m, l, acc)
        if G >= TILE_HEADS:
            mix_tile(x, v, b, hk, first, last, acc)
        else:
            mix(x, v, b, hk, first, last, acc)
    for g in range(G):
        empty = l[g] == 0
        whole = q.dtype.type(1) if empty else l[g]
        for d in range(DV):
            part[b, hk * G + g, s, d] = acc[g, d] / whole
        lse[b, hk * G + g, s] = -np.inf if empty else m[g] + np.log2(l[g])


@njit(**FAST)
def merge(part, lse, b, h, o, o_lse):
    """The S partial answers of one query head become one."""
    S, DV = part.shape[2], part.shape[3]
    m = lse[b, h, 0]
    for s in range(1, S):
        m = max(m, lse[b, h, s])
    base = m if m > -np.inf else part.dtype.type(0)
    total = part.dtype.type(0)
    for d in range(DV):
        o[b, h, d] = 0
    for s in range(S):
        share = exp2(lse[b, h, s] - base)
        if share != 0:  # an empty part holds nothing; a NaN must not be passed over
            total += share
            for d in range(DV):
                o[b, h, d] += share * part[b, h, s, d]
    if total == 0:
        o_lse[b, h] = -np.inf
        return
    for d in range(DV):
        o[b, h, d] /= total
    o_lse[b, h] = (base + np.log2(total)) / part.dtype.type(LOG2E)


def decode_kernel(q, k, v, lengths, splits, chunk, qk_scale, softcap, block_n, part, lse, o, o_lse):
    """All programs side by side, then all merges."""
    B, HQ, HKV = q.shape[0], q.shape[1], k.shape[1]
    for program in prange(B * HKV * splits):
        s = program % splits
        hk = program // splits % HKV
        b = program // splits // HKV
        lo, hi = split_range(lengths[b], s, splits, chunk, block_n)
        attend(q, k, v, b, hk, lo, hi, qk_scale, softcap, block_n, part, lse, s)
    for row in prange(B * HQ):
        merge(part, lse, row // HQ, row % HQ, o, o_lse)
