"""What vLLM reserves (v1/kv_cache_interface.py, v1/core/kv_cache_utils.py, as of 2026): blocks of groups.

Layers of one kind form groups of equal size; all groups draw blocks from one pool, so all pages must be
equally large. What is smaller is given longer blocks, or padded. The log's "GPU KV cache size: N tokens" is
concurrency times the longest request, not a number of slots.
"""

from collections.abc import Iterator
from typing import Literal

from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, Options, Piece, gathered, kept
from memlessons.plan.engines.divided import refuse_uneven
from memlessons.plan.engines.groups import Group, groups_of
from memlessons.plan.engines.ideal import on_device
from memlessons.plan.engines.packed import served_words
from memlessons.plan.engines.reasons import blocks_said, groups_said
from memlessons.plan.errors import whole
from memlessons.units import GIB, bytes_text

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
    groups = list(groups_of(asked, list(kept(plan))))
    if not any(g.token_bytes for g in groups):
        return _states_only(asked, groups, available_gib, length)
    hybrid = mode != "full" and (
        max_model_len is not None or any(g.state_bytes for g in groups) or mode is not None
    )
    pool = _Pool(asked, groups, block_size, max_num_batched_tokens, speculative_blocks, hybrid)
    if available_gib is not None:
        return Allocation("vllm", (), tokens=pool.tokens(int(available_gib * GIB), length), notes=pool.notes)
    pieces = pool.pieces(length, asked.batch)
    return gathered("vllm", pieces, notes=pool.notes, assumed=pool.assumed(block_size))


def _states_only(asked: Asked, groups: list[Group], available_gib: float | None, length: int) -> Allocation:
    """A model that never attends: one block of state a request, however long it is."""
    one = sum(group.layers * group.state_bytes for group in groups)
    if available_gib is not None:
        return Allocation("vllm", (), tokens=int(available_gib * GIB) // one * length if one else 0)
    rule = "a block of state a request"
    states = [
        Piece("rs", 0, 0, g.layers * g.state_bytes * asked.batch, rule, layers=g.layers) for g in groups
    ]
    return gathered("vllm", states)


def _ceil(amount: int, size: int) -> int:
    return -(-amount // size)


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
        block, store = self.block_of(group), group.store
        if self.hybrid and store.window is not None and self.asked.on("vllm: blocks of a window"):
            return _ceil(min(store.window - 1 + self.batched, length), block) + 1
        if self.hybrid and store.block is not None and self.asked.on("vllm: blocks of a chunk"):
            return _ceil(min(store.block + self.batched, length), block)
        return _ceil(length, block)

    def block_of(self, group: Group) -> int:
        """Tokens of a block of one group: where its page is shorter than the widest, more of them."""
        if self.hybrid and group.token_bytes and self.asked.on("vllm: short pages get longer blocks"):
            return self.page // group.token_bytes
        return self.block

    def pieces(self, length: int, batch: int) -> Iterator[Piece]:
        """Bytes of the blocks that `batch` requests hold, one piece for each group of layers."""
        for group in self.groups:
            each = self.blocks(group, length)
            blocks = each * batch
            if self.hybrid:
                size = blocks * self.copies(group) * self.group_layers * self.page
            else:
                size = blocks * group.layers * self.block * group.token_bytes
            keys, state = (0, size) if group.state_bytes else (size, 0)
            cells = 0 if group.state_bytes else blocks * self.block_of(group)
            yield Piece(group.name, cells, keys, state, *self.said(group, each, length), group.layers)

    def said(self, group: Group, blocks: int, length: int) -> tuple[str, str]:
        """What one request holds in one group of layers, and why."""
        if group.state_bytes:
            page, state = bytes_text(self.page), bytes_text(group.state_bytes)
            rule, why = f"{blocks:,} blocks a request", f"a page of {page} for each state of {state}"
        else:
            on = {k: self.hybrid and self.asked.on(f"vllm: blocks of a {k}") for k in ("window", "chunk")}
            window = group.store.window if on["window"] else None
            chunk = group.store.block if on["chunk"] else None
            rule = f"{blocks:,} blocks of {self.block_of(group):,} a request"
            why = blocks_said(length, self.batched, window, chunk)
        if self.hybrid and len(self.groups) > 1:
            rule += groups_said(group.layers, self.copies(group), self.group_layers)
        packed = "" if group.state_bytes else served_words(self.asked, group.store, "vllm")
        return rule, why + (f", {packed}" if packed else "")

    def assumed(self, block_size: int) -> Options:
        """The options that the count depends on, with their values."""
        near = self.hybrid and any(g.store.window or g.store.block for g in self.groups if g.token_bytes)
        used = [("max_num_batched_tokens", self.batched)] if near else []
        used += [("block_size", block_size)] if self.block == block_size else []
        states = any(g.state_bytes for g in self.groups)
        return tuple(used + ([("speculative_blocks", self.speculative)] if states else []))
