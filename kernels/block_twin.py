"""Everything of a Llama-like layer but its attention, for a few tokens, in two compiled calls.

    x ──► norm ──► W_qkv ──► rope ──► q, k, v                                   project_kernel
    heads ──► W_out ──► + x ──► norm ──► W_gate, W_up ──► silu · ──► W_down ──► + ──► next x     finish_kernel

A decode step of a small model is hundreds of small operations: what each call costs before it computes
anything is as much as the reading. Weights are float32 or codes int8, with a scale for each of their rows.
"""

import numpy as np
from numba import njit, prange

from memlessons.kernels.cpu_tile import FAST

ROWS = 16
"""Rows of a matrix in one program: enough that starting it costs nothing, few enough to share out evenly."""


@njit(inline="always", **FAST)
def product(x, n, weight, scale, o):
    """Row o of a matrix times x[n], in the order in which the row lies."""
    total = np.float32(0)
    for i in range(x.shape[1]):
        total += x[n, i] * np.float32(weight[o, i])
    return total * scale[o]


@njit(inline="always", **FAST)
def normalised(x, weight, eps):
    """Root-mean-square norm of each row: x / sqrt(mean(x ** 2) + eps) * weight."""
    y = np.empty_like(x)
    for n in range(x.shape[0]):
        total = np.float32(0)
        for i in range(x.shape[1]):
            total += x[n, i] * x[n, i]
        factor = np.float32(1 / np.sqrt(total / x.shape[1] + eps))
        for i in range(x.shape[1]):
            y[n, i] = x[n, i] * factor * weight[i]
    return y


def product_kernel(x, weight, scale, y):
    """y [N, O] = x [N, I] times the rows of weight [O, I]; each row meets all tokens while it is near."""
    N, O = x.shape[0], weight.shape[0]
    for block in prange((O + ROWS - 1) // ROWS):
        for o in range(block * ROWS, min((block + 1) * ROWS, O)):
            for n in range(N):
                y[n, o] = product(x, n, weight, scale, o)


def project_kernel(x, norm, eps, qkv, scale, cos, sin, turned, y):
    """y [N, heads, D] = the heads of W_qkv · norm(x), the first `turned` rotated by cos, sin [N, D]."""
    N, heads, D = y.shape
    half = D // 2
    inner = normalised(x, norm, eps)
    for h in prange(heads):
        for d in range(D):
            for n in range(N):
                y[n, h, d] = product(inner, n, qkv, scale, h * D + d)
        if h < turned:
            for n in range(N):
                for d in range(half):
                    a, b = y[n, h, d], y[n, h, d + half]
                    y[n, h, d] = a * cos[n, d] + b * sin[n, d]
                    y[n, h, d + half] = b * cos[n, d + half] + a * sin[n, d + half]


def finish_kernel(x, heads, out, out_scale, norm, eps, gate_up, gate_scale, down, down_scale, y):
    """y [N, hidden] = what a layer hands on, from x [N, hidden] and the outputs of its heads [N, HQ * D]."""
    N, hidden = x.shape
    F = gate_up.shape[0] // 2
    middle = np.empty_like(x)
    for block in prange((hidden + ROWS - 1) // ROWS):
        for o in range(block * ROWS, min((block + 1) * ROWS, hidden)):
            for n in range(N):
                middle[n, o] = x[n, o] + product(heads, n, out, out_scale, o)
    inner = normalised(middle, norm, eps)
    act = np.empty((N, F), np.float32)
    for block in prange((F + ROWS - 1) // ROWS):
        for o in range(block * ROWS, min((block + 1) * ROWS, F)):
            for n in range(N):
                gate = product(inner, n, gate_up, gate_scale, o)
                up = product(inner, n, gate_up, gate_scale, F + o)
                act[n, o] = gate / (1 + np.exp(-gate)) * up
    for block in prange((hidden + ROWS - 1) // ROWS):
        for o in range(block * ROWS, min((block + 1) * ROWS, hidden)):
            for n in range(N):
                y[n, o] = middle[n, o] + product(act, n, down, down_scale, o)
