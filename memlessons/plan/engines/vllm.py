"""What vLLM reserves (v1/kv_cache_interface.py, v1/core/kv_cache_utils.py, as of 2026): blocks of groups.

Layers of one kind form groups of equal size; all groups draw blocks from one pool, so all pages must be
equally large. What is smaller is given longer blocks, or padded. The log's "GPU KV cache size: N tokens" is
concurrency times the longest request, not a number of slots.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, gathered, kept
from memlessons.plan.engines.divided import refuse_uneven
from memlessons.plan.engines.ideal import on_device
from memlessons.plan.engines.packed import served_rows
from memlessons.plan.errors import whole
from memlessons.plan.store import Store
from memlessons.units import GIB

RULES = {
    "vllm: heads are divided": "ModelConfig.get_num_kv_heads: max(1, kv_heads // tp) on each device",
    "vllm: heads come out even": "ModelConfig.verify_with_parallel_config: query heads % tp == 0; "
    "QKVParallelLinear: kv heads % tp == 0, or tp % kv heads == 0 and each is repeated",
    "vllm: attention blocks as large as a state": "model_executor/models/config.py: block = ceil16(state "
    "page / bytes a token), mode align",
    "vllm: two blocks a group of states": "MambaSpec, mode align: 2 + speculative blocks for each request",
    "vllm: groups share one pool": "kv_cache_utils.py: blocks = available // (page x layers of a group)",
    "vllm: tokens are concurrency times length": "kv_cache_utils.py: int(max_concurrency * max_model_len)",
    "vllm: blocks of a window": "SlidingWindowSpec: cdiv(min(W - 1 + batched tokens, L), block) + 1",
    "vllm: blocks of a chunk": "ChunkedLocalAttentionSpec: cdiv(min(chunk + batched tokens, L), block)",
    "vllm: short pages get longer blocks": "unify_kv_cache_spec_page_size: the block grows by the ratio",
    "vllm: fp8_ds_mla": "MLAAttentionSpec: 656 bytes a token: 512 of fp8, 4 scales, 64 x 2 for the position",
    "vllm: 8 bits beside an indexer are packed": "flashmla_sparse.py (2025-09): fp8 is another name for "
    "fp8_ds_mla there",
    "vllm: index keys have 8 bits": "DeepseekV32IndexerCache (2025-09): head_dim + head_dim // 128 * 4 "
    "bytes, whatever --kv-cache-dtype",
}
Mode = Literal["full", "hybrid", "hybrid_mamba_align"]


@dataclass(frozen=True, slots=True)
class Group:
    """Layers of one kind: how many, bytes a token of one of them, and the stores that say what they need."""

    name: str
    layers: int
    token_bytes: int
    store: Store
    state_bytes: int = 0


def vllm(
    asked: Asked,
    *,
    available_gib: float | None = None,
    mode: Mode | None = None,
    max_model_len: int | None = None,
    block_size: int = 16,
    max_num_batched_tokens: int = 8192,
    speculative_blocks: int = 0,
) -> Allocation:
    """Bytes of blocks that requests of `context_tokens` hold; or, with memory given, the tokens that fit.

    `mode="full"` charges every layer as seeing everything (the log's tokens are then slots); "hybrid" forms
    groups by kind. Unless said, it is "hybrid" where `max_model_len` is given or a layer keeps a state.
    """
    for name, value in (("block_size", block_size), ("max_num_batched_tokens", max_num_batched_tokens)):
        whole(name, value, least=1)
    whole("speculative_blocks", speculative_blocks)
    if mode not in (None, "full", "hybrid", "hybrid_mamba_align"):
        raise BadEngineArgument(f"mode={mode!r}: must be 'full', 'hybrid' or 'hybrid_mamba_align'")
    length = asked.context_tokens if max_model_len is None else max_model_len
    whole("max_model_len", length, least=1)
    refuse_uneven(asked, "vllm")
    plan = on_device(asked.plan, asked.tp if asked.on("vllm: heads are divided") else 1)
    groups = list(_groups(asked, list(kept(plan))))
    if not any(g.token_bytes for g in groups):
        return _states_only(asked, groups, available_gib, length)
    hybrid = mode != "full" and (
        max_model_len is not None or any(g.state_bytes for g in groups) or mode is not None
    )
    pool = _Pool(asked, groups, block_size, max_num_batched_tokens, speculative_blocks, hybrid)
    if available_gib is not None:
        return Allocation("vllm", (), tokens=pool.tokens(int(available_gib * GIB), length), notes=pool.notes)
    return gathered("vllm", pool.pieces(length, asked.batch), notes=pool.notes)


def _states_only(asked: Asked, groups: list[Group], available_gib: float | None, length: int) -> Allocation:
    """A model that never attends: one block of state a request, however long it is."""
    one = sum(group.layers * group.state_bytes for group in groups)
    if available_gib is not None:
        return Allocation("vllm", (), tokens=int(available_gib * GIB) // one * length if one else 0)
    states = [
        ("rs", 0, 0, g.layers * g.state_bytes * asked.batch, "a block of state a request") for g in groups
    ]
    return gathered("vllm", states)


def _ceil(amount: int, size: int) -> int:
    return -(-amount // size)


def _groups(asked: Asked, found: list[tuple[str, Store]]) -> Iterator[Group]:
    """Layers of equal page and reach together, in order of first appearance."""
    counted: dict[tuple[object, ...], list[tuple[str, Store]]] = {}
    for name, store in found:
        if name == "rs":
            key: tuple[object, ...] = ("rs", store.state_bytes)
        else:
            key = (name, _token_bytes(asked, store), store.window, store.block)
        counted.setdefault(key, []).append((name, store))
    for stores in counted.values():
        name, store = stores[0]
        if name == "rs":
            yield Group(name, len(stores), 0, store, store.state_bytes)
        else:
            yield Group(name, len(stores), _token_bytes(asked, store), store)


def _token_bytes(asked: Asked, store: Store) -> int:
    return sum(served_rows(asked, store, "vllm"))


class _Pool:
    """The one pool that all groups draw blocks from."""

    def __init__(
        self, asked: Asked, groups: list[Group], block: int, batched: int, speculative: int, hybrid: bool
    ) -> None:
        self.asked, self.groups, self.batched, self.speculative = asked, groups, batched, speculative
        self.hybrid = hybrid
        self.block = block
        attention = [g for g in groups if g.token_bytes]
        state = max((g.state_bytes for g in groups), default=0)
        widest = max(g.token_bytes for g in attention)
        notes = []
        if state and asked.on("vllm: attention blocks as large as a state"):
            self.block = max(block, 16 * _ceil(_ceil(state, widest), 16))
            notes.append(f"blocks of {self.block:,} tokens, so that a page holds a state of {state:,} bytes")
        self.page = self.block * widest
        sizes = [g.layers for g in groups]
        least, most = min(sizes), max(sizes)
        self.group_layers = most if most < 1.5 * least else least
        if not asked.on("vllm: groups share one pool"):
            self.group_layers = most
        self.notes = tuple(notes)

    def tokens(self, available: int, length: int) -> int:
        """What the log would print for so many bytes."""
        if not self.hybrid:
            a_token = sum(g.layers * g.token_bytes for g in self.groups)
            return available // (a_token * self.block) * self.block
        blocks = available // (self.page * self.group_layers)
        needed = sum(self.blocks(group, length) * self.copies(group) for group in self.groups)
        if not self.asked.on("vllm: tokens are concurrency times length"):
            return blocks * self.block
        return int(blocks / needed * length)

    def copies(self, group: Group) -> int:
        """Groups of the pool's size that layers of one kind fill, the last one padded."""
        return _ceil(group.layers, self.group_layers)

    def blocks(self, group: Group, length: int) -> int:
        """Blocks that one request of `length` tokens holds in one group."""
        if group.state_bytes:
            two = 2 if self.asked.on("vllm: two blocks a group of states") else 1
            return two + self.speculative
        block = self.block
        if self.hybrid and self.asked.on("vllm: short pages get longer blocks"):
            block = self.page // group.token_bytes
        store = group.store
        if self.hybrid and store.window is not None and self.asked.on("vllm: blocks of a window"):
            return _ceil(min(store.window - 1 + self.batched, length), block) + 1
        if self.hybrid and store.block is not None and self.asked.on("vllm: blocks of a chunk"):
            return _ceil(min(store.block + self.batched, length), block)
        return _ceil(length, block)

    def pieces(self, length: int, batch: int) -> Iterator[tuple[str, int, int, int, str]]:
        """Bytes of the blocks that `batch` requests hold, one piece for each group of layers."""
        for group in self.groups:
            blocks = self.blocks(group, length) * batch
            if self.hybrid:
                size = blocks * self.copies(group) * self.group_layers * self.page
                rule = "blocks of groups of layers"
            else:
                size = blocks * group.layers * self.block * group.token_bytes
                rule = "blocks of every layer"
            cells = 0 if group.state_bytes else blocks * self.block
            yield group.name, cells, 0 if group.state_bytes else size, size if group.state_bytes else 0, rule
