"""The plan: which state each layer keeps; its bytes, what a step reads, and how it divides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm
from typing import Protocol

from memlessons.plan import edits, serial, text
from memlessons.plan.errors import InvalidPlan, PlanMismatch, whole
from memlessons.plan.formats import Format
from memlessons.plan.layer import Layer
from memlessons.plan.store import Store
from memlessons.plan.text import LayerGroup
from memlessons.units import bytes_text


class HasShapes(Protocol):
    """What a checkpoint fixes, as far as a plan must agree with it."""

    @property
    def layers(self) -> int: ...
    @property
    def query_heads(self) -> int: ...
    @property
    def kv_heads(self) -> int: ...
    @property
    def head_width(self) -> int: ...


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """What a model remembers: one `Layer` each, and the page in which memory is handed out.

    All byte counts are exact whole numbers. `contexts` is one length or one length per sequence of a
    ragged batch, in tokens; `encoder_tokens` is the length a cross-attention store holds.
    """

    layers: tuple[Layer, ...]
    page_tokens: int = 1

    def __post_init__(self) -> None:
        whole("MemoryPlan.page_tokens", self.page_tokens, least=1)
        if not self.layers:
            raise InvalidPlan("MemoryPlan.layers is empty: a plan needs at least one layer")
        for i, layer in enumerate(self.layers):
            owner = layer.reads_from
            if owner is None:
                continue
            if not 0 <= owner < len(self.layers) or owner == i:
                raise InvalidPlan(f"layer {i} reads_from={owner}: no other layer of that number")
            if self.layers[owner].reads_from is not None or not self.layers[owner].stores:
                raise InvalidPlan(f"layer {i} reads_from={owner}: that layer keeps nothing of its own")

    def bytes(self, contexts: int | Sequence[int], *, encoder_tokens: int = 0) -> int:
        """Bytes held for these sequences; whole pages, each store counted in the layer that owns it."""
        return sum(self.layer_bytes(i, contexts, encoder_tokens) for i in range(len(self.layers)))

    def layer_bytes(self, index: int, contexts: int | Sequence[int], encoder_tokens: int = 0) -> int:
        """Bytes that one layer's own stores hold for these sequences."""
        stores = self.layers[index].stores
        return sum(self.store_bytes(s, n, encoder_tokens) for s in stores for n in _lengths(contexts))

    def store_bytes(self, store: Store, tokens: int, encoder_tokens: int = 0) -> int:
        """Bytes that one store holds for one sequence of `tokens` tokens, in whole pages."""
        if store.grows_with == "encoder_tokens":
            return store.slots(encoder_tokens) * store.slot_bytes + store.state_bytes
        pages = -(-store.slots(tokens) // self.page_tokens)
        return pages * self.page_tokens * store.slot_bytes + store.state_bytes

    def bytes_read(self, contexts: int | Sequence[int], *, encoder_tokens: int = 0) -> int:
        """Bytes of memory that one decode step reads; a shared store once for each layer that reads it."""
        total = 0
        for layer in self.layers:
            for store in (*layer.stores, *self.shared_stores(layer)):
                for n in _lengths(contexts):
                    seen = store.read_slots(encoder_tokens if store.grows_with == "encoder_tokens" else n)
                    total += seen * store.slot_bytes + store.state_bytes
        return total

    def shared_stores(self, layer: Layer) -> tuple[Store, ...]:
        """The stores of another layer that this one reads: what attention looks back on, not state."""
        if layer.reads_from is None:
            return ()
        own = {s.role for s in layer.stores}
        shared = self.layers[layer.reads_from].stores
        # A layer with an indexer of its own has no use for its owner's.
        return tuple(s for s in shared if s.role not in ("cross", "state") and s.role not in own)

    def bytes_per_device(
        self, contexts: int | Sequence[int], devices: int, *, encoder_tokens: int = 0
    ) -> int:
        """Bytes on the fullest of `devices` under tensor parallelism: a head lives whole, a latent on all."""
        whole("devices", devices, least=1)
        one = replace(self, layers=edits.on_one_device(self.layers, devices))
        return one.bytes(contexts, encoder_tokens=encoder_tokens)

    @property
    def constant_bytes(self) -> int:
        """Bytes a sequence of no tokens holds already: recurrent and convolutional state."""
        return self.bytes(0)

    def slope(self, context: int) -> float:
        """Bytes that the next token adds at this length, averaged over whole pages and strides."""
        strides = (s.stride for layer in self.layers for s in layer.stores if s.grows_with == "tokens")
        step = lcm(self.page_tokens, *strides)
        return (self.bytes(context + step) - self.bytes(context)) / step

    def check(self, config: HasShapes) -> None:
        """Raise PlanMismatch where this plan cannot store what a checkpoint of that shape produces."""
        if len(self.layers) != config.layers:
            raise PlanMismatch(f"the plan has {len(self.layers)} layers, the checkpoint {config.layers}")
        for i, layer in enumerate(self.layers):
            if layer.query_heads != config.query_heads:
                raise PlanMismatch(
                    f"layer {i}: query_heads={layer.query_heads}, the checkpoint has {config.query_heads}"
                )
            for store in layer.stores:
                have = (store.kv_heads, store.key_width, store.value_width)
                want = (config.kv_heads, config.head_width, config.head_width)
                if store.role == "self" and have != want:
                    raise PlanMismatch(
                        f"layer {i}: (kv_heads, key_width, value_width)={have}, the checkpoint makes {want}; "
                        "changing heads changes weights too: convert the checkpoint first"
                    )

    def groups(self) -> list[LayerGroup]:
        """Layers that keep the same thing, together, in order of first appearance."""
        return text.groups(self.layers)

    def explain(self, context: int | None = None) -> str:
        """What each kind of layer keeps, in words a model card would use; with bytes at `context`."""
        explained = text.explain(self.layers, self.page_tokens)
        if context is None:
            return explained
        held, read = bytes_text(self.bytes(context)), bytes_text(self.bytes_read(context))
        return f"{explained}\n{context:,} tokens: {held} held, {read} read a step"

    def with_kv_heads(self, kv_heads: int) -> "MemoryPlan":
        """The same plan with `kv_heads` key and value heads in each self-attention store."""
        return replace(self, layers=edits.with_kv_heads(self.layers, kv_heads))

    def with_latent(self, rank: int, rope_width: int = 0) -> "MemoryPlan":
        """The same plan with a latent of `rank` numbers plus `rope_width` in place of keys and values."""
        return replace(self, layers=edits.with_latent(self.layers, rank, rope_width))

    def with_window(
        self, pattern: int | Sequence[bool] | None, size: int, sink_tokens: int = 0, slack: int = 0
    ) -> "MemoryPlan":
        """Windows of `size` in all but every `pattern`-th layer; in all if None; or True where global."""
        return replace(self, layers=edits.with_window(self.layers, pattern, size, sink_tokens, slack))

    def with_sharing(self, factor: int, scheme: str = "neighbours") -> "MemoryPlan":
        """Layers read another's memory: runs of `factor` "neighbours" of a kind, or the "last" `factor`."""
        return replace(self, layers=edits.with_sharing(self.layers, factor, scheme))

    def with_format(self, key: Format, value: Format | None = None) -> "MemoryPlan":
        """The same plan with keys in one format and values in another (the same if not given)."""
        return replace(self, layers=edits.with_format(self.layers, key, key if value is None else value))

    def with_pages(self, page_tokens: int) -> "MemoryPlan":
        """The same plan with memory handed out in pages of `page_tokens` slots."""
        return replace(self, page_tokens=page_tokens)

    def to_json(self) -> str:
        """This plan as JSON that `from_json` reads back to an equal plan."""
        return serial.dump(self.layers, self.page_tokens)

    @staticmethod
    def from_json(source: str) -> "MemoryPlan":
        """The plan that `to_json` wrote; InvalidPlan names what is wrong with any other text."""
        layers, page_tokens = serial.parse(source)
        return MemoryPlan(layers, page_tokens)


def _lengths(contexts: int | Sequence[int]) -> Sequence[int]:
    lengths = (contexts,) if isinstance(contexts, int) else contexts
    for n in lengths:
        whole("contexts", n)
    return lengths
