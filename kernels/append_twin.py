"""The loop of `append.py` on a CPU: one program for each token, all its heads."""

import numpy as np
from numba import prange

from memlessons.kernels.append import SMALLEST


def append_kernel(new, codes, scale, slots):
    """codes, scale of new [N, HKV, D] into a pool [P, HKV, PG, D], [P, HKV, PG]; rounded half to even."""
    N, HKV, D = new.shape
    PG = codes.shape[2]
    for n in prange(N):
        slot = slots[n]
        if slot >= 0:
            page, offset = slot // PG, slot % PG
            for h in range(HKV):
                most = np.float32(SMALLEST)
                for d in range(D):
                    most = max(most, abs(new[n, h, d]))
                s = most / np.float32(127)
                for d in range(D):
                    codes[page, h, offset, d] = np.int8(min(max(np.rint(new[n, h, d] / s), -127), 127))
                scale[page, h, offset] = s
