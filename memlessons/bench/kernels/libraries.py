"""Attention libraries as rivals, where they are installed: flash-attn, FlashInfer. None is needed."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor

from memlessons.bench.kernels.contenders import bytes_of
from memlessons.bench.kernels.inputs import Inputs
from memlessons.bench.kernels.race import Contender
from memlessons.bench.kernels.shapes import Shape

PAGE = 64
"""Slots of a page in FlashInfer's own copy of a contiguous memory."""
WORKSPACE_BYTES = 128 * 2**20
TENSOR_CORES_FROM = 4
"""Query heads on a memory from which FlashInfer is asked for its kernel on matrix units."""

Make = Callable[[Shape, Sequence[Inputs]], Contender]


class Library(NamedTuple):
    """What a library is called in records, its module, and how to make a contender of it."""

    name: str
    module: str
    make: Make

    @property
    def is_here(self) -> bool:
        """Whether its module is installed; whether it also works, only calling it shows."""
        try:
            return find_spec(self.module) is not None
        except (ImportError, ValueError):
            return False


def libraries() -> list[Library]:
    """All that are tried; making a contender of one that is missing raises ImportError."""
    attentions = [
        Library(name, module, partial(_flash_attention, name=name, module=module))
        for name, module in (("flash-attn 3", "flash_attn_interface"), ("flash-attn", "flash_attn"))
    ]
    return [*attentions, Library("flashinfer", "flashinfer", flashinfer)]


def _flash_attention(shape: Shape, sets: Sequence[Inputs], name: str, module: str) -> Contender:
    """`flash_attn_with_kvcache` on contiguous memory, seen tokens first as it wants it; nothing is copied."""
    attend: Any = import_module(module).flash_attn_with_kvcache

    def call(one: Inputs) -> Tensor:
        k, v = (t.transpose(1, 2) for t in one.kv)
        answer = attend(one.q[:, None], k, v, cache_seqlens=one.lengths, causal=True)
        # With the logarithms of its denominators in some versions.
        found: Tensor = (answer[0] if isinstance(answer, tuple) else answer)[:, 0]
        return found

    call(sets[0])
    facts = {"version": _version(module)}
    return Contender(name, [partial(call, s) for s in sets], bytes_of(shape, sets), facts, rival=True)


def flashinfer(shape: Shape, sets: Sequence[Inputs]) -> Contender:
    """FlashInfer's decode wrapper, planned once, outside of what is timed.

    It reads pages: a contiguous memory is copied into pages of its own before the race.
    """
    library: Any = import_module("flashinfer")
    where = sets[0].q.device
    cores = shape.HQ // shape.HKV >= TENSOR_CORES_FROM
    workspace = torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=where)
    size = shape.page or PAGE
    pages = -(-shape.T // size)
    starts = torch.arange(shape.B + 1, dtype=torch.int32, device=where) * pages
    last = torch.full((shape.B,), shape.T - (pages - 1) * size, dtype=torch.int32, device=where)

    def ready(one: Inputs) -> Callable[[], Tensor]:
        table = one.options.get("table")
        if table is None:
            k, v = (in_pages(t, size) for t in one.kv)
            table = torch.arange(shape.B * pages, dtype=torch.int32, device=where)
        else:
            k, v = one.kv
        wrapper = library.BatchDecodeWithPagedKVCacheWrapper(workspace, "HND", use_tensor_cores=cores)
        wrapper.plan(
            starts, table.reshape(-1), last, shape.HQ, shape.HKV, shape.D, size,
            q_data_type=one.q.dtype, kv_data_type=k.dtype,
        )  # fmt: skip
        return partial(wrapper.run, one.q, (k, v))

    calls = [ready(one) for one in sets]
    calls[0]()
    facts = {"version": _version("flashinfer"), "use_tensor_cores": cores, "page": size}
    return Contender("flashinfer", calls, bytes_of(shape, sets), facts, rival=True)


def in_pages(memory: Tensor, page: int) -> Tensor:
    """A copy of `[B, HKV, T, D]` in pages `[B * pages, HKV, page, D]`, in order."""
    pages = -(-memory.shape[2] // page)
    padded = torch.nn.functional.pad(memory, (0, 0, 0, pages * page - memory.shape[2]))
    return padded.unflatten(2, (pages, page)).transpose(1, 2).flatten(0, 1).contiguous()


def _version(module: str) -> str:
    return str(getattr(import_module(module), "__version__", "not said"))
