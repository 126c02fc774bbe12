"""2 to the power x for the CPU twin, in a form that a compiler can do for eight numbers at once."""

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

# 2**f on -0.5 ... 0.5, a polynomial through the Chebyshev nodes: off by 3e-9 of the value at most.
C1, C2, C3 = np.float32(0.69314718), np.float32(0.24022651), np.float32(0.05550327)
C4, C5, C6 = np.float32(0.009618025), np.float32(0.0013400433), np.float32(0.00015469732)
HALF, ONE, SMALLEST = np.float32(0.5), np.float32(1.0), np.float32(-126.0)


@intrinsic
def _as_float32(typingctx, bits):
    """The float32 whose bits these are."""

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(signature.return_type))

    return types.float32(types.int32), generate


@njit(fastmath={"reassoc", "contract"})
def _exp2_float32(x):
    """2**x = 2**whole * 2**f; a power of two is its exponent's bits. 0 below 2**-126, for x <= 0 only."""
    tiny = x < SMALLEST  # False for NaN, which stays what it is
    y = SMALLEST if tiny else x
    whole = np.floor(y + HALF)
    f = y - whole
    power = ONE + f * (C1 + f * (C2 + f * (C3 + f * (C4 + f * (C5 + f * C6)))))
    two = _as_float32((np.int32(whole) + np.int32(127)) << np.int32(23))
    return np.float32(0.0) if tiny else power * two


def exp2(x):
    """2**x inside compiled code, for x <= 0 (a score minus the largest score)."""
    raise NotImplementedError("exp2 is for compiled code only")


@overload(exp2)
def _exp2(x):
    if x == types.float32:
        return lambda x: _exp2_float32(x)
    return lambda x: np.exp2(x)


@njit(fastmath={"nnan", "nsz", "reassoc"})
def largest(x, g, count, m):
    """The largest of m and x[g, :count]; a NaN among them may be passed over.

    A function of its own, since only here the compiler may assume that there is no NaN, as it must to
    compare eight numbers at once. The NaN is not lost: its share will be NaN.
    """
    for j in range(count):
        m = max(m, x[g, j])
    return m
