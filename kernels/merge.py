"""The Triton kernel that puts the splits of one query head together.

    part   │ split 0 │ split 1 │ split 2 │ ... │ split S-1 │      each [DV], with its lse
              ×         ×         ×               ×              2 ** (lse - largest lse): its share
    o      └──────────── their sum, over the sum of the shares

BLOCK_S splits at a time, with the same online rescaling as scores.
"""

import triton
import triton.language as tl

from memlessons.kernels.tiles import LOG2E, without_sink


@triton.jit(do_not_specialize=["S", "HQ"])
def merge_kernel(
    part, part_lse, sink_logits, o, o_lse, S, HQ, DV: tl.constexpr, BLOCK_S: tl.constexpr,
    BLOCK_DV: tl.constexpr, SINK: tl.constexpr,
):  # fmt: skip
    """The S partial answers of one query head become one: `part [B·HQ, S, DV]` to `o [B·HQ, DV]`.

    A fixed block keeps the order of the sums, and so the bits, whatever S is. A sink logit `[HQ]` takes its
    share of the softmax here, once; the lse that is handed out is that of the tokens.
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
    lse = tl.where(empty, float("-inf"), m + tl.math.log2(tl.where(empty, 1.0, l)))
    if SINK:
        answer *= without_sink(lse, tl.load(sink_logits + row % HQ + tl.arange(0, 1)))
    tl.store(o + row * DV + d, answer.to(o.dtype.element_ty), mask=d < DV)
    if tile == 0:
        tl.store(o_lse + row + tl.arange(0, 1), lse / LOG2E)
