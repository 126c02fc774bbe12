"""Writing new tokens into a memory, beside a plain copy of as many bytes."""

from typing import NamedTuple

import torch
from torch import Tensor

from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.check import WrongKernel
from memlessons.bench.kernels.inputs import sets_needed
from memlessons.bench.kernels.race import Contender
from memlessons.bench.kernels.shapes import SCALE_BYTES
from memlessons.kernels import append_kv

JOB = "append 32768 tokens"
TOKENS, KV_HEADS, WIDTH, PAGE = 32768, 8, 128, 64
SLOT_BYTES = 8
MOST_CODES_OFF = 1e-3
"""Share of codes that may differ by one: where a quotient falls between two, its last bit decides."""


class Writing(NamedTuple):
    """Arguments of one `append_kv`: keys and values of new tokens, where they go, and into what."""

    k_new: Tensor
    v_new: Tensor
    slots: Tensor
    k: Tensor
    v: Tensor
    k_scale: Tensor | None
    v_scale: Tensor | None

    def run(self, backend: str = "triton") -> None:
        """Write them."""
        append_kv(
            self.k_new, self.v_new, self.k, self.v, self.slots, k_scale=self.k_scale, v_scale=self.v_scale,
            backend=backend,  # type: ignore[arg-type]
        )  # fmt: skip


def bytes_moved(tokens: int, kv_heads: int, width: int, element_bytes: int, int8: bool) -> int:
    """Each number of new keys and values read once and written once, scales written, slots read."""
    written = width + SCALE_BYTES if int8 else width * element_bytes
    return 2 * tokens * kv_heads * (width * element_bytes + written) + SLOT_BYTES * tokens


def append(bench: Bench) -> None:
    """As they are and in eight bits, to random slots of a pool in pages; each beside a copy of its bytes."""
    device = bench.device
    tokens, width = (12, 16) if device.rehearsal else (TOKENS, WIDTH)
    heads, page = (2, 8) if device.rehearsal else (KV_HEADS, PAGE)
    field = []
    for int8 in (False, True):
        moved = bytes_moved(tokens, heads, width, bench.element_bytes, int8)
        sets = sets_needed(moved, device.cache_bytes, device.most_sets)
        if 2 * sets * moved > 0.6 * device.free_bytes():
            raise MemoryError("not enough memory for a pool and new tokens")
        name = "int8" if int8 else "16-bit"
        made = [writing(bench, tokens, heads, width, page, int8, seed) for seed in range(sets)]
        check(f"{JOB}, {name}", made[0])
        field.append(Contender(name, [one.run for one in made], moved))
        field.append(copying(f"copy of {name}", moved, sets, device.where))
    row = {"tokens": tokens, "kv_heads": heads, "D": width, "page": page}
    bench.finish(JOB, field, "copy of 16-bit", row, pairs=[("int8", "copy of int8")])


def writing(
    bench: Bench, tokens: int, heads: int, width: int, page: int, int8: bool, seed: int
) -> Writing:  # fmt: skip
    """New tokens from a seed, each to a slot of its own in a pool that has as many."""
    where, g = bench.device.where, torch.Generator(bench.device.where).manual_seed(bench.seed + seed)
    new = torch.randn(2, tokens, heads, width, generator=g, dtype=bench.dtype, device=where)
    pages = -(-tokens // page)
    slots = torch.randperm(pages * page, generator=g, device=where)[:tokens]
    kind = torch.int8 if int8 else bench.dtype
    k, v = torch.zeros(2, pages, heads, page, width, dtype=kind, device=where)
    scales = torch.zeros(2, pages, heads, page, device=where).unbind() if int8 else (None, None)
    return Writing(new[0], new[1], slots, k, v, *scales)


def check(what: str, one: Writing) -> None:
    """WrongKernel unless the kernel writes what torch's own lines write."""
    truth = one._replace(
        k=torch.zeros_like(one.k), v=torch.zeros_like(one.v),
        k_scale=None if one.k_scale is None else torch.zeros_like(one.k_scale),
        v_scale=None if one.v_scale is None else torch.zeros_like(one.v_scale),
    )  # fmt: skip
    truth.run("reference")
    one.run()
    for name in ("k", "v"):
        found, right = getattr(one, name), getattr(truth, name)
        off = (found.int() - right.int()).abs() if found.dtype == torch.int8 else (found != right).int()
        most = MOST_CODES_OFF if found.dtype == torch.int8 else 0.0
        if int(off.max()) > 1 or float(off.float().mean()) > most:
            raise WrongKernel(f"{what}: append_kv writes other numbers into {name} than its reference")
        scale, right = getattr(one, f"{name}_scale"), getattr(truth, f"{name}_scale")
        if scale is not None and not torch.allclose(scale, right, rtol=1e-6, atol=0):
            raise WrongKernel(f"{what}: append_kv writes other scales of {name} than its reference")


def copying(name: str, moved: int, sets: int, where: torch.device) -> Contender:
    """Copies of blocks of random bytes: half of `moved` read, half written."""
    blocks = [torch.randint(-127, 128, (2, moved // 2), dtype=torch.int8, device=where) for _ in range(sets)]
    return Contender(name, [lambda b=b: b[1].copy_(b[0]) for b in blocks], 2 * (moved // 2))  # type: ignore[misc]
