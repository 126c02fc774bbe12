"""The loops of `matvec.py`: four rows of codes at a time, each number of x loaded once for all four."""

import numpy as np
from numba import njit, prange

from memlessons.kernels.cpu_tile import FAST

ROWS = 16
"""Rows of one program: enough that starting it costs nothing, few enough to share out evenly."""


@njit(inline="always", **FAST)
def four_rows(x, codes, scale, y, n, o):
    """y[n, o ... o + 3] of one token."""
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for i in range(x.shape[1]):
        number = x[n, i]
        a += number * np.float32(codes[o, i])
        b += number * np.float32(codes[o + 1, i])
        c += number * np.float32(codes[o + 2, i])
        d += number * np.float32(codes[o + 3, i])
    y[n, o], y[n, o + 1] = a * scale[o], b * scale[o + 1]
    y[n, o + 2], y[n, o + 3] = c * scale[o + 2], d * scale[o + 3]


@njit(inline="always", **FAST)
def one_row(x, codes, scale, y, n, o):
    """y[n, o] of one token."""
    a = np.float32(0)
    for i in range(x.shape[1]):
        a += x[n, i] * np.float32(codes[o, i])
    y[n, o] = a * scale[o]


def product_kernel(x, codes, scale, y):
    """All blocks of rows side by side; of each four rows all tokens in turn, while they are near."""
    N, O = x.shape[0], codes.shape[0]
    for block in prange((O + ROWS - 1) // ROWS):
        first = block * ROWS
        last = min(first + ROWS, O)
        for o in range(first, last - 3, 4):
            for n in range(N):
                four_rows(x, codes, scale, y, n, o)
        for o in range(first + (last - first) // 4 * 4, last):
            for n in range(N):
                one_row(x, codes, scale, y, n, o)
