"""Attention kernels: a Triton kernel, its CPU twin, and the float64 reference that both must match.

This folder imports nothing else of memlessons, so it can be lifted out. It imports without Triton, Numba
and a GPU; each is asked for when its backend first runs. Everywhere: q `[B, HQ, DK]`, K and V heads first
`[B, HKV, T, D]`, lengths int32 `[B]`; B sequences, HQ query heads, HKV heads of keys and values,
G = HQ / HKV query heads that share one, T slots, widths DK and DV.
"""

from memlessons.kernels.append import append_kv
from memlessons.kernels.combine import combine, merge_states
from memlessons.kernels.decode import decode
from memlessons.kernels.errors import BackendCannot, BadArgument
from memlessons.kernels.latent import mla_decode
from memlessons.kernels.scratch import Scratch

__all__ = [
    "BackendCannot", "BadArgument", "Scratch", "append_kv", "combine", "decode", "merge_states", "mla_decode",
]  # fmt: skip
