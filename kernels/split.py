"""The Triton kernel: split decode attention, and the merge of its splits.

One program per (sequence b, head of memory hk, split s) loads its tiles of K and V once and uses them for
all G query heads that share them (rows of one small matrix product):

         T ──────────────────────────────────────►            BLOCK_H rows: the G query heads
    K    │ tile │ tile │ tile │ tile │ tile │ ti▒▒            BLOCK_N columns: slots of one tile
         └── split 0 ──┴── split 1 ──┴─ split 2 ┘             ▒ beyond the length: masked

B sequences, HQ query heads, HKV memories, G = HQ / HKV, T slots, DK and DV widths, S splits. Programs lie
in one dimension, so no count of sequences is too large for a grid; those that share a memory are
neighbours, and find it in the cache.
"""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def split_range(L, s, S, BLOCK_N: tl.constexpr, CHUNK: tl.constexpr):
    """First and last tile of split s: shared out evenly, or as many as a fixed chunk has."""
    tiles = tl.cdiv(L, BLOCK_N)
    if CHUNK:
        lo = tl.minimum(s * (CHUNK // BLOCK_N), tiles)
        hi = tl.minimum((s + 1) * (CHUNK // BLOCK_N), tiles)
    else:
        lo = tiles * s // S
        hi = tiles * (s + 1) // S
    return lo, hi


@triton.jit
def times(a, b, USE_DOT: tl.constexpr, PREC: tl.constexpr):
    """a [M, K] times b [K, N]; sums by hand where a matrix unit is missing and M is small."""
    if USE_DOT:
        return tl.dot(a, b, input_precision=PREC)
    else:
        return tl.sum(a[:, :, None].to(tl.float32) * b[None, :, :].to(tl.float32), axis=1)


# Counts that grow with every token or request would compile a kernel each: they are not specialised.
@triton.jit(do_not_specialize=["T", "S", "HKV"])
def split_kernel(
    q, k, v, lengths, part, part_lse, o, o_lse,
    q_b: tl.int64, q_h: tl.int64, k_b: tl.int64, k_h: tl.int64, k_t: tl.int64,
    v_b: tl.int64, v_h: tl.int64, v_t: tl.int64,
    T, S, HKV, qk_scale, softcap,
    G: tl.constexpr, DK: tl.constexpr, DV: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_DK: tl.constexpr, BLOCK_DV: tl.constexpr, CHUNK: tl.constexpr, ONE_SPLIT: tl.constexpr,
    SOFTCAP: tl.constexpr, USE_DOT: tl.constexpr, MMA: tl.constexpr, PREC: tl.constexpr,
):  # fmt: skip
    """Attention over the tiles of one split: (o, lse) of its share of the past, in base 2.

    Strides are those of `q [B, HQ, DK]`, `k [B, HKV, T, DK]` and `v [B, HKV, T, DV]`; the last dim is dense.
    `part [B, HQ, S, DV]` and `part_lse [B, HQ, S]` are f32; with ONE_SPLIT the answer goes straight to
    `o [B, HQ, DV]` and `o_lse [B, HQ]`.
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
    d_k, d_v = tl.arange(0, BLOCK_DK), tl.arange(0, BLOCK_DV)
    has_row, in_k, in_v = rows < G, d_k < DK, d_v < DV
    q_at = q + b * q_b + h[:, None] * q_h + d_k[None, :]
    qt = tl.load(q_at, mask=has_row[:, None] & in_k[None, :], other=0.0).to(MMA)

    m = tl.full([BLOCK_H], float("-inf"), tl.float32)  # largest score so far
    l = tl.zeros([BLOCK_H], tl.float32)  # sum of 2 ** (score - m)
    acc = tl.zeros([BLOCK_H, BLOCK_DV], tl.float32)  # sum of 2 ** (score - m) * value
    lo, hi = split_range(L, s, S, BLOCK_N, CHUNK)
    for j in range(lo, hi):
        n = j * BLOCK_N + tl.arange(0, BLOCK_N)
        held = n < L
        slot = n.to(tl.int64)
        k_at = k + b * k_b + hk * k_h + slot[None, :] * k_t + d_k[:, None]
        kt = tl.load(k_at, mask=in_k[:, None] & held[None, :], other=0.0).to(MMA)
        x = times(qt, kt, USE_DOT, PREC) * qk_scale
        if SOFTCAP:
            x = softcap * (2 * tl.sigmoid(2 * x / softcap) - 1)
        x = tl.where(held[None, :], x * LOG2E, float("-inf"))

        mn = tl.maximum(m, tl.max(x, 1))
        base = tl.where(mn == float("-inf"), 0.0, mn)  # -inf minus -inf is no number
        p = tl.math.exp2(x - base[:, None])
        a = tl.math.exp2(m - base)  # everything before was relative to the old maximum
        l = l * a + tl.sum(p, 1)
        # A slot that is not held may be NaN, and 0 times NaN is NaN: V is masked as well.
        v_at = v + b * v_b + hk * v_h + slot[:, None] * v_t + d_v[None, :]
        vt = tl.load(v_at, mask=held[:, None] & in_v[None, :], other=0.0).to(MMA)
        acc = acc * a[:, None] + times(p.to(MMA), vt, USE_DOT, PREC)
        m = mn

    empty = l == 0
    answer = acc / tl.where(empty, 1.0, l)[:, None]
    lse = tl.where(empty, float("-inf"), m + tl.math.log2(tl.where(empty, 1.0, l)))
    row = b * (HKV * G) + h  # int64: partials of a large batch pass 2 ** 31 numbers
    if ONE_SPLIT:
        at = o + row[:, None] * DV + d_v[None, :]
        tl.store(at, answer.to(o.dtype.element_ty), mask=has_row[:, None] & in_v[None, :])
        tl.store(o_lse + row, lse / LOG2E, mask=has_row)
    else:
        # Written also when empty: the merge never reads what an earlier call left behind.
        at = part + (row[:, None] * S + s) * DV + d_v[None, :]
        tl.store(at, answer, mask=has_row[:, None] & in_v[None, :])
        tl.store(part_lse + row * S + s, lse, mask=has_row)


@triton.jit(do_not_specialize=["S"])
def merge_kernel(
    part, part_lse, o, o_lse, S, DV: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_DV: tl.constexpr
):
    """The S partial answers of one query head become one: `part [B·HQ, S, DV]` to `o [B·HQ, DV]`.

    BLOCK_S splits at a time, with the same online rescaling as scores; a fixed block keeps the order of
    the sums, and so the bits, whatever S is.
    """
    TILES: tl.constexpr = tl.cdiv(DV, BLOCK_DV)
    row = (tl.program_id(0) // TILES).to(tl.int64)
    tile = tl.program_id(0) % TILES
    d = tile * BLOCK_DV + tl.arange(0, BLOCK_DV)
    m = tl.full([1], float("-inf"), tl.float32)
    l = tl.zeros([1], tl.float32)
    acc = tl.zeros([BLOCK_DV], tl.float32)
    for first in range(0, S, BLOCK_S):
        s = first + tl.arange(0, BLOCK_S)
        x = tl.load(part_lse + row * S + s, mask=s < S, other=float("-inf"))
        mn = tl.maximum(m, tl.max(x, 0))
        base = tl.where(mn == float("-inf"), 0.0, mn)
        p = tl.math.exp2(x - base)
        a = tl.math.exp2(m - base)
        full = x > float("-inf")
        at = part + (row * S + s)[:, None] * DV + d[None, :]
        y = tl.load(at, mask=full[:, None] & (d < DV)[None, :], other=0.0)
        l = l * a + tl.sum(p, 0)
        acc = acc * a + tl.sum(p[:, None] * y, 0)
        m = mn
    empty = l == 0
    answer = acc / tl.where(empty, 1.0, l)
    tl.store(o + row * DV + d, answer.to(o.dtype.element_ty), mask=d < DV)
    lse = tl.where(empty, float("-inf"), m + tl.math.log2(tl.where(empty, 1.0, l))) / LOG2E
    if tile == 0:
        tl.store(o_lse + row + tl.arange(0, 1), lse)
