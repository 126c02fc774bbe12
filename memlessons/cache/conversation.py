"""The plan, live: one memory for each store of each layer, moved together or not at all."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from memlessons.cache.codecs import codec_of
from memlessons.cache.errors import CacheFull, FormNotBuilt, NotHeld
from memlessons.cache.full import FullMemory
from memlessons.cache.protocol import TokenMemory
from memlessons.plan import Layer, MemoryPlan


class ConversationState:
    """The memory of a batch of conversations; each method applies to all layers or to none.

    Rows are sequences. A forward writes into every layer and then commits once: a forward that fails
    halfway was never there.
    """

    def __init__(self, layers: tuple[tuple[TokenMemory, ...], ...], capacity: int) -> None:
        self.layers = layers
        self.capacity = capacity

    def memories(self) -> Iterator[TokenMemory]:
        """All memories, layer by layer."""
        for layer in self.layers:
            yield from layer

    @property
    def lengths(self) -> list[int]:
        """Committed tokens of each row."""
        return list(next(self.memories()).host_lengths)

    @property
    def held_bytes(self) -> int:
        """Bytes of all valid slots, counted from live shapes."""
        return sum(m.held_bytes for m in self.memories())

    @property
    def allocated_bytes(self) -> int:
        """Bytes of all storages, each counted once."""
        storages = (t.untyped_storage() for m in self.memories() for t in m.tensors())
        return sum({s.data_ptr(): s.nbytes() for s in storages}.values())

    def reserve(self, counts: Sequence[int]) -> None:
        """Raise CacheFull unless every row has room for `counts` more; called before anything is written."""
        if len(counts) != len(self.lengths):
            raise ValueError(f"counts has {len(counts)} entries, this state {len(self.lengths)} rows")
        for row, (length, count) in enumerate(zip(self.lengths, counts, strict=True)):
            if length + count > self.capacity:
                raise CacheFull(
                    f"row {row}: {length} tokens held and {count} more, but room for {self.capacity}; "
                    "allocate with a larger capacity"
                )

    def commit(self, counts: Sequence[int]) -> None:
        """Let the tokens written since the last commit count, in every layer."""
        self.reserve(counts)
        for m in self.memories():
            m.commit(counts)

    def truncate(self, lengths: Sequence[int]) -> list[int]:
        """Take tokens back; every layer keeps what the layer that can keep least does."""
        kept = list(lengths)
        for m in self.memories():
            kept = [min(pair) for pair in zip(kept, m.keepable(kept), strict=True)]
        for m in self.memories():
            m.truncate(kept)
        return kept

    def export(self, row: int, tokens: range) -> dict[str, Tensor]:
        """Copies of these tokens' memory, by "layer.store.part"; NotHeld if any layer lacks them."""
        self._row(row)
        parts = {}
        for name, memory in self._named():
            parts.update({f"{name}.{part}": t for part, t in memory.export(row, tokens).items()})
        return parts

    def load(self, row: int, tokens: range, parts: Mapping[str, Tensor]) -> None:
        """Take in what `export` gave; every layer is checked before the first one changes."""
        self._row(row)
        taken = []
        for name, memory in self._named():
            own = {k.rsplit(".", 1)[1]: t for k, t in parts.items() if k.rsplit(".", 1)[0] == name}
            memory.check_load(row, tokens, own)
            taken.append((memory, own))
        for memory, own in taken:
            memory.load(row, tokens, own)

    def fork(self, row: int, into: int) -> None:
        """Make row `into` remember what `row` does."""
        self._row(row)
        self._row(into)
        for m in self.memories():
            m.fork(row, into)

    def clear(self, rows: Sequence[int]) -> None:
        """Forget all of these rows."""
        for row in rows:
            self._row(row)
        for m in self.memories():
            m.clear(rows)

    def _row(self, row: int) -> None:
        if not 0 <= row < len(self.lengths):
            raise NotHeld(f"row {row}: this state has rows 0 to {len(self.lengths) - 1}")

    def _named(self) -> Iterator[tuple[str, TokenMemory]]:
        for i, layer in enumerate(self.layers):
            for j, memory in enumerate(layer):
                yield f"{i}.{j}", memory


def allocate(
    plan: MemoryPlan,
    batch: int,
    capacity: int,
    dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
) -> ConversationState:
    """Live memory for `batch` sequences of up to `capacity` tokens, as the plan says, layer by layer.

    `dtype` overrides the plan's 16-, 32- or 64-bit formats, never codes (a float64 test of a bf16 plan).
    Raises FormNotBuilt for stores that have no live form yet, ValueError for a size below one.
    """
    if batch < 1 or capacity < 1:
        raise ValueError(f"batch={batch}, capacity={capacity}: both must be at least 1")
    if plan.page_tokens != 1:
        raise FormNotBuilt(
            f"page_tokens={plan.page_tokens}: paged memory is not built yet; use with_pages(1)"
        )
    for i, layer in enumerate(plan.layers):
        _check_built(i, layer)
    layers = tuple(
        tuple(
            FullMemory(
                store,
                batch,
                capacity,
                codec_of(store.key_format, dtype),
                codec_of(store.value_format, dtype),
                device,
            )
            for store in layer.stores
        )
        for layer in plan.layers
    )
    return ConversationState(layers, capacity)


def _check_built(index: int, layer: Layer) -> None:
    if layer.reads_from is not None:
        raise FormNotBuilt(f"layer {index} reads layer {layer.reads_from}'s memory: sharing is not built yet")
    for store in layer.stores:
        full = store.role == "self" and store.grows_with == "tokens" and store.stride == 1 and not store.state
        if not full or store.window is not None or store.block is not None or store.rope == "on_read":
            raise FormNotBuilt(
                f"layer {index}: no live form yet for {store}; full self-attention stores have one"
            )
