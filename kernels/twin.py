"""The CPU twin of the Triton kernel: the same algorithm, the same names, compiled by Numba.

One program per (sequence b, head of memory hk, split s) reads its tiles of K and V once, for all G query
heads that share them:

    slots  0 ─────────────────────────────────────────► T
    K, V   │sinks│▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒│ window            │▒▒▒      ▒ not seen: never read
    pages  └─ page 7 ────┴─ page 2 ────┴─ page 9 ─────┘         a tile is read page by page
    splits └──────── 0 ────────────┴── 1 ──┴─── 2 ───┘          shares of the slots that are seen

and leaves a partial answer (o, lse). A second loop merges the splits. Codes of eight bits are widened in
registers as they are read; their scales multiply scores and shares.
"""

import numpy as np
from numba import njit, prange

from memlessons.kernels.cpu_exp import exp2, largest
from memlessons.kernels.cpu_tile import (
    FAST,
    TILE_HEADS,
    mix,
    mix_tile,
    score,
    score_codes,
    score_tile,
    weigh,
)

LOG2E = 1.4426950408889634


@njit(**FAST)
def seen_slots(L, window, sink_tokens):
    """(sinks, left out, seen): how many slots before the window are seen, how many between are not, all seen.

    Slots are counted as if those left out were not there: the i-th that is seen is slot i, or i + left out
    once the sinks are passed. window = 0: all are seen.
    """
    oldest = max(L - window, 0) if window > 0 else 0
    sinks = min(sink_tokens, oldest)
    return sinks, oldest - sinks, L - oldest + sinks


@njit(**FAST)
def split_range(seen, s, splits, chunk, block_n):
    """First and last of the seen slots of split s: whole tiles, evenly; or chunks of a fixed size."""
    if chunk > 0:
        return min(s * chunk, seen), min((s + 1) * chunk, seen)
    tiles = (seen + block_n - 1) // block_n
    return tiles * s // splits * block_n, min(tiles * (s + 1) // splits * block_n, seen)


@njit(inline="always", **FAST)
def piece(i, last, sinks, left_out, PG):
    """(slot, count): where the i-th seen slot lies, and how many lie beside it in one page, up to `last`."""
    n = i if i < sinks else i + left_out
    count = min(last - i, PG - n % PG)
    return n, min(count, sinks - i) if i < sinks else count


@njit(inline="always", **FAST)
def page_of(table, b, i):
    """The i-th page of row b; beyond the last, the last: only what is asked for ahead looks there."""
    return table[b, min(i, table.shape[1] - 1)]


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


@njit(**FAST)
def attend(q, k, v, k_scale, v_scale, table, b, hk, lo, hi, sinks, left_out, qk_scale, softcap, block_n,
           part, lse, s):  # fmt: skip
    """The partial answer of one program: the lo-th to the hi-th slot that row b sees of memory hk."""
    G, DK, DV, PG = q.shape[1] // k.shape[1], q.shape[2], part.shape[3], k.shape[2]
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
        count = last - first
        i = first
        while i < last:
            n, run = piece(i, last, sinks, left_out, PG)
            page, after = page_of(table, b, n // PG), page_of(table, b, n // PG + 1)
            if k_scale is not None:
                score_codes(qs, k, page, after, hk, n % PG, run, x, i - first)
                weigh(x, k_scale, page, hk, n % PG, run, i - first)
            elif G >= TILE_HEADS:
                score_tile(qs, k, page, after, hk, n % PG, run, x, i - first)
            else:
                score(qs, k, page, after, hk, n % PG, run, x, i - first)
            i += run
        if softcap > 0:
            for g in range(G):
                for j in range(count):
                    x[g, j] = softcap * np.tanh(x[g, j] / softcap)
        renew(x, count, m, l, acc)
        i = first
        while i < last:
            n, run = piece(i, last, sinks, left_out, PG)
            page, after = page_of(table, b, n // PG), page_of(table, b, n // PG + 1)
            if v_scale is not None:
                weigh(x, v_scale, page, hk, n % PG, run, i - first)
            if G >= TILE_HEADS or v_scale is not None:
                mix_tile(x, v, page, after, hk, n % PG, run, acc, i - first)
            else:
                mix(x, v, page, after, hk, n % PG, run, acc, i - first)
            i += run
    for g in range(G):
        empty = l[g] == 0
        whole = q.dtype.type(1) if empty else l[g]
        for d in range(DV):
            part[b, hk * G + g, s, d] = acc[g, d] / whole
        lse[b, hk * G + g, s] = -np.inf if empty else m[g] + np.log2(l[g])


@njit(**FAST)
def merge(part, lse, sink_logits, b, h, o, o_lse):
    """The S partial answers of one query head become one; a sink logit takes its share of the softmax."""
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
    whole = base + np.log2(total)
    # 1 / (1 + 2 ** (sink - lse)) is stable wherever the sink lies; lse itself stays that of the tokens.
    left = 1 / (total * (1 + np.exp2(sink_logits[h] * part.dtype.type(LOG2E) - whole)))
    for d in range(DV):
        o[b, h, d] *= left
    o_lse[b, h] = whole / part.dtype.type(LOG2E)


def decode_kernel(q, k, v, k_scale, v_scale, lengths, table, sink_logits, window, sink_tokens, splits, chunk,
                  qk_scale, softcap, block_n, part, lse, o, o_lse):  # fmt: skip
    """All programs side by side, then all merges."""
    B, HQ, HKV = q.shape[0], q.shape[1], k.shape[1]
    for program in prange(B * HKV * splits):
        s = program % splits
        hk = program // splits % HKV
        b = program // splits // HKV
        sinks, left_out, seen = seen_slots(lengths[b], window, sink_tokens)
        lo, hi = split_range(seen, s, splits, chunk, block_n)
        attend(q, k, v, k_scale, v_scale, table, b, hk, lo, hi, sinks, left_out, qk_scale, softcap, block_n,
               part, lse, s)  # fmt: skip
    for row in prange(B * HQ):
        merge(part, lse, sink_logits, row // HQ, row % HQ, o, o_lse)
