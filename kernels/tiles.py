"""What the Triton kernels of this folder share: base 2, sums of products, online softmax, seen tiles."""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def times(a, b, USE_DOT: tl.constexpr, PREC: tl.constexpr):
    """a [M, K] times b [K, N]; sums by hand where a matrix unit is missing and M is small."""
    if USE_DOT:
        return tl.dot(a, b, input_precision=PREC)
    else:
        return tl.sum(a[:, :, None].to(tl.float32) * b[None, :, :].to(tl.float32), axis=1)


@triton.jit
def renew(x, m, l, acc):
    """Online softmax: scores x [M, N] become shares p relative to the largest score so far.

    m [M] is that largest score, l [M] the sum of the shares, acc [M, DV] the values mixed by them. What was
    summed before was relative to the old maximum: it is rescaled by 2 ** (old - new).
    """
    mn = tl.maximum(m, tl.max(x, 1))
    base = tl.where(mn == float("-inf"), 0.0, mn)  # all scores -inf: -inf minus -inf is no number
    p = tl.math.exp2(x - base[:, None])
    a = tl.math.exp2(m - base)
    return p, mn, l * a + tl.sum(p, 1), acc * a[:, None]


@triton.jit
def finished(m, l, acc):
    """The mixed values and log2 of the whole sum; (0, -inf) where nothing was seen."""
    empty = l == 0
    whole = tl.where(empty, 1.0, l)
    return acc / whole[:, None], tl.where(empty, float("-inf"), m + tl.math.log2(whole))


@triton.jit
def without_sink(lse, sink):
    """The share of the softmax that is left for real tokens beside a sink logit; lse in base 2.

    1 / (1 + 2 ** (sink - lse)) is stable wherever the sink lies; lse itself stays that of the tokens.
    """
    return tl.where(lse == float("-inf"), 0.0, 1 / (1 + tl.math.exp2(sink * LOG2E - lse)))


@triton.jit
def seen_tiles(L, window, sink_tokens, BLOCK_N: tl.constexpr, WINDOW: tl.constexpr):
    """Which tiles a row of L slots sees: oldest slot of its window, tiles of sinks, tiles left out, all seen.

    Tiles are counted as if those between the sinks and the window were not there: the i-th that is seen is
    tile i, or i + left out once the sinks are passed.
    """
    if WINDOW:
        oldest = tl.maximum(L - window, 0)
        start = oldest // BLOCK_N
        of_sinks = tl.minimum(tl.cdiv(sink_tokens, BLOCK_N), start)
        return oldest, of_sinks, start - of_sinks, tl.cdiv(L, BLOCK_N) - start + of_sinks
    else:
        return 0, 0, 0, tl.cdiv(L, BLOCK_N)


@triton.jit
def split_range(tiles, s, S, BLOCK_N: tl.constexpr, CHUNK: tl.constexpr):
    """First and last of the seen tiles of split s: shared out evenly, or as many as a fixed chunk has."""
    if CHUNK:
        lo = tl.minimum(s * (CHUNK // BLOCK_N), tiles)
        hi = tl.minimum((s + 1) * (CHUNK // BLOCK_N), tiles)
    else:
        lo = tiles * s // S
        hi = tiles * (s + 1) // S
    return lo, hi


@triton.jit
def nth_tile(i, of_sinks, left_out, WINDOW: tl.constexpr):
    """The tile of a row's memory that is the i-th it sees."""
    if WINDOW:
        return i + tl.where(i >= of_sinks, left_out, 0)
    else:
        return i
