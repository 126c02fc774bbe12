"""The Triton kernel: split decode attention over any form of memory.

One program per (sequence b, head of memory hk, split s) loads its tiles of K and V once and uses them for
all G query heads that share them (rows of one small matrix product):

    slots  0 ─────────────────────────────────────────► T        BLOCK_H rows: the G query heads
    K, V   │sinks▒│      │      │▒▒ window    │     ▒▒│         BLOCK_N columns: slots of one tile
    pages  └─ page 7 ────┴─ page 2 ────┴─ page 9 ─────┘         ▒ not seen: masked; whole tiles are skipped
    splits   └─ 0 ─┘             └─ 0 ─┴─ 1 ──┴─ 2 ───┘         shares of the tiles that are seen

B sequences, HQ query heads, HKV memories, G = HQ / HKV, T slots, PG slots of a page, DK and DV widths, S
splits. A latent memory has no V: the values are the first DV columns of K, and the DR columns after them,
which carry positions, only take part in the scores. Programs lie in one dimension, so no count of sequences
is too large for a grid; those that share a memory are neighbours, and find it in the cache.
"""

import triton
import triton.language as tl

from memlessons.kernels.tiles import (
    LOG2E,
    finished,
    nth_tile,
    renew,
    seen_tiles,
    split_range,
    times,
    without_sink,
)

# Where a slot lies: in the row's one page; in a page of many tiles, looked up once a tile; in one of several
# pages that a tile touches, looked up for each slot.
CONTIGUOUS, TILE_IN_PAGE, SLOT_BY_SLOT = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


# Counts that grow with every token or request would compile a kernel each: they are not specialised.
@triton.jit(do_not_specialize=["T", "S", "HKV", "window", "sink_tokens"])
def split_kernel(
    q, k, v, k_scale, v_scale, lengths, table, sink_logits, part, part_lse, o, o_lse,
    q_b: tl.int64, q_h: tl.int64, k_p: tl.int64, k_h: tl.int64, k_t: tl.int64,
    v_p: tl.int64, v_h: tl.int64, v_t: tl.int64, ks_p: tl.int64, ks_h: tl.int64, ks_t: tl.int64,
    vs_p: tl.int64, vs_h: tl.int64, vs_t: tl.int64, table_b: tl.int64,
    T, S, HKV, window, sink_tokens, qk_scale, softcap,
    G: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, DR: tl.constexpr, PG: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr,
    BLOCK_DR: tl.constexpr, PAGES: tl.constexpr, LATENT: tl.constexpr, QUANT: tl.constexpr,
    WINDOW: tl.constexpr, SOFTCAP: tl.constexpr, SINK: tl.constexpr, CHUNK: tl.constexpr,
    ONE_SPLIT: tl.constexpr, USE_DOT: tl.constexpr, MMA: tl.constexpr, PREC: tl.constexpr,
):  # fmt: skip
    """Attention over the tiles of one split: (o, lse) of its share of the past, in base 2.

    Strides are those of `q [B, HQ, DK]`, of `k [P, HKV, PG, DK]`, `v` and their scales `[P, HKV, PG]`, and
    of `table [B, MP]`; last dims are dense. `part [B, HQ, S, DV]` and `part_lse [B, HQ, S]` are f32; with
    ONE_SPLIT the answer goes straight to `o [B, HQ, DV]` and `o_lse [B, HQ]`. DK counts the columns before
    the DR of positions.
    """
    HT: tl.constexpr = tl.cdiv(G, BLOCK_H)
    pid = tl.program_id(0)
    tile = pid % HT
    s = pid // HT % S
    hk = pid // (HT * S) % HKV
    b = (pid // (HT * S) // HKV).to(tl.int64)
    L = tl.minimum(tl.maximum(tl.load(lengths + b), 0), T)

    rows = tile * BLOCK_H + tl.arange(0, BLOCK_H)  # query heads of this memory
    h = hk * G + rows
    d_k, d_v, d_r = tl.arange(0, BLOCK_DK), tl.arange(0, BLOCK_DV), tl.arange(0, BLOCK_DR)
    has_row, in_k, in_v, in_r = rows < G, d_k < DK, d_v < DV, d_r < DR
    q_at = q + b * q_b + h[:, None] * q_h
    qt = tl.load(q_at + d_k[None, :], mask=has_row[:, None] & in_k[None, :], other=0.0).to(MMA)
    if DR:
        qr = tl.load(q_at + DK + d_r[None, :], mask=has_row[:, None] & in_r[None, :], other=0.0).to(MMA)

    m = tl.full([BLOCK_H], float("-inf"), tl.float32)  # largest score so far
    l = tl.zeros([BLOCK_H], tl.float32)  # sum of 2 ** (score - m)
    acc = tl.zeros([BLOCK_H, BLOCK_DV], tl.float32)  # sum of 2 ** (score - m) * value
    oldest, of_sinks, left_out, tiles = seen_tiles(L, window, sink_tokens, BLOCK_N, WINDOW)
    lo, hi = split_range(tiles, s, S, BLOCK_N, CHUNK)
    if PAGES == TILE_IN_PAGE:
        at = nth_tile(lo, of_sinks, left_out, WINDOW) * BLOCK_N // PG
        after = tl.load(table + b * table_b + at, mask=lo < hi, other=0)
    for i in range(lo, hi):
        n = nth_tile(i, of_sinks, left_out, WINDOW) * BLOCK_N + tl.arange(0, BLOCK_N)
        seen = n < L
        if WINDOW:
            seen &= (n >= oldest) | (n < sink_tokens)
        if PAGES == CONTIGUOUS:
            page, slot = b, n.to(tl.int64)
        elif PAGES == TILE_IN_PAGE:
            # The page after this one is looked up now, so that the copies of its tile need not wait for it.
            page = after.to(tl.int64)
            at = nth_tile(i + 1, of_sinks, left_out, WINDOW) * BLOCK_N // PG
            after = tl.load(table + b * table_b + at, mask=i + 1 < hi, other=0)
            slot = (n % PG).to(tl.int64)
        else:
            page = tl.load(table + b * table_b + n // PG, mask=seen, other=0).to(tl.int64)
            slot = (n % PG).to(tl.int64)

        k_at = k + (page * k_p + hk * k_h + slot * k_t)[None, :]
        kt = tl.load(k_at + d_k[:, None], mask=in_k[:, None] & seen[None, :], other=0).to(MMA)
        x = times(qt, kt, USE_DOT, PREC)
        if DR:
            kr = tl.load(k_at + DK + d_r[:, None], mask=in_r[:, None] & seen[None, :], other=0).to(MMA)
            x += times(qr, kr, USE_DOT, PREC)
        x *= qk_scale
        if QUANT:
            ks = tl.load(k_scale + page * ks_p + hk * ks_h + slot * ks_t, mask=seen, other=0.0)
            x *= ks[None, :]
        if SOFTCAP:
            x = softcap * (2 * tl.sigmoid(2 * x / softcap) - 1)
        x = tl.where(seen[None, :], x * LOG2E, float("-inf"))
        p, m, l, acc = renew(x, m, l, acc)
        if QUANT:
            vs = (
                ks
                if LATENT
                else tl.load(v_scale + page * vs_p + hk * vs_h + slot * vs_t, mask=seen, other=0.0)
            )
            # Relative to the tile's largest: shares times small scales would vanish in 16 bits.
            largest = tl.max(vs, 0)
            p *= (vs / tl.where(largest > 0, largest, 1.0))[None, :]
        # A slot that is not seen may be NaN, and 0 times NaN is NaN: V is masked as well.
        if LATENT:
            vt = tl.trans(kt)
        else:
            v_at = v + (page * v_p + hk * v_h + slot * v_t)[:, None]
            vt = tl.load(v_at + d_v[None, :], mask=seen[:, None] & in_v[None, :], other=0).to(MMA)
        mixed = times(p.to(MMA), vt, USE_DOT, PREC)
        acc += mixed * largest if QUANT else mixed

    answer, lse = finished(m, l, acc)
    row = b * (HKV * G) + h  # int64: partials of a large batch pass 2 ** 31 numbers
    mask = has_row[:, None] & in_v[None, :]
    if ONE_SPLIT:
        if SINK:
            answer *= without_sink(lse, tl.load(sink_logits + h, mask=has_row, other=0.0))[:, None]
        tl.store(o + row[:, None] * DV + d_v[None, :], answer.to(o.dtype.element_ty), mask=mask)
        tl.store(o_lse + row, lse / LOG2E, mask=has_row)
    else:
        # Written also when empty: the merge never reads what an earlier call left behind.
        tl.store(part + (row[:, None] * S + s) * DV + d_v[None, :], answer, mask=mask)
        tl.store(part_lse + row * S + s, lse, mask=has_row)
