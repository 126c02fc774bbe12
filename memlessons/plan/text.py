"""A plan in words: layers that keep the same thing, grouped as a model card would list them."""

from typing import NamedTuple

from memlessons.plan.layer import Layer
from memlessons.plan.store import Store
from memlessons.units import bytes_text


class LayerGroup(NamedTuple):
    """Layers that keep the same thing: their numbers, and one of them as the example."""

    indices: tuple[int, ...]
    layer: Layer

    @property
    def name(self) -> str:
        """A short name, such as "5 windows of 512, 1 KV head of 256"."""
        draft = " of a draft head" if self.layer.draft else ""
        return f"{len(self.indices)} {_kind(self.layer)}{draft}"


def groups(layers: tuple[Layer, ...]) -> list[LayerGroup]:
    """Layers with equal stores and the same way of owning them, in order of first appearance."""
    found: dict[object, list[int]] = {}
    for i, layer in enumerate(layers):
        owner = None if layer.reads_from is None else layers[layer.reads_from].stores
        found.setdefault((layer.stores, layer.draft, layer.query_heads, owner), []).append(i)
    return [LayerGroup(tuple(indices), layers[indices[0]]) for indices in found.values()]


def explain(layers: tuple[Layer, ...], page_tokens: int) -> str:
    """A line for each group of layers: how many, which, and what they keep."""
    lines = []
    for indices, layer in groups(layers):
        head = f"{len(indices)} {'layer' if len(indices) == 1 else 'layers'} ({_ranges(indices)})"
        parts = [describe(s, layer.query_heads) for s in layer.stores]
        if layer.reads_from is not None:
            owners = tuple(dict.fromkeys(layers[i].reads_from or 0 for i in indices))
            parts.append(f"reads the memory of {'layer' if len(owners) == 1 else 'layers'} {_ranges(owners)}")
        draft = " of a draft head" if layer.draft else ""
        rule = f"  [{layer.rule}]" if layer.rule else ""
        lines.append(f"{head}{draft}: {'; '.join(parts) or 'keeps nothing'}{rule}")
    if page_tokens > 1:
        lines.append(f"handed out in pages of {page_tokens} slots")
    return "\n".join(lines)


def describe(store: Store, query_heads: int = 0) -> str:
    """One store in words: what, how many, how wide, in what format, how far back, bytes a slot."""
    parts = []
    if store.grows_with != "nothing":
        parts.append(f"{_what(store, query_heads)}, {_format(store)}, {_reach(store)}")
        parts.append(f"{bytes_text(store.slot_bytes)} a slot")
    if store.state:
        parts.append(f"state of {bytes_text(store.state_bytes)} a sequence")
    return ", ".join(parts)


def _what(store: Store, query_heads: int) -> str:
    if store.role == "latent":
        rope = f" + {store.rope_width} for RoPE" if store.rope_width else ""
        return f"latent of {store.key_width - store.rope_width}{rope}"
    if store.role == "index":
        return f"index keys of {store.kv_heads} x {store.key_width}"
    heads = f"{query_heads} query heads on " if query_heads else ""
    heads += f"{store.kv_heads} KV {'head' if store.kv_heads == 1 else 'heads'}"
    width = (
        f"{store.key_width}"
        if store.key_width == store.value_width
        else f"{store.key_width}/{store.value_width}"
    )
    return f"{'cross-' if store.role == 'cross' else ''}attention, {heads} of {width}"


def _format(store: Store) -> str:
    if store.value_width == 0 or store.key_format == store.value_format:
        return store.key_format.name
    return f"{store.key_format.name} keys, {store.value_format.name} values"


def _reach(store: Store) -> str:
    kept = "encoder tokens" if store.grows_with == "encoder_tokens" else "all tokens"
    if store.window is not None:
        kept = f"the last {store.window:,} tokens"
        kept += f" and the first {store.sink_tokens}" if store.sink_tokens else ""
    elif store.block is not None:
        kept = f"blocks of {store.block:,} tokens"
    if store.stride > 1:
        kept += f", one entry for {store.stride}"
    return kept if store.read_tokens is None else f"{kept}, {store.read_tokens:,} read a step"


def _kind(layer: Layer) -> str:
    if layer.reads_from is not None:
        return "sharing another layer's memory"
    names = []
    for s in layer.stores:
        if s.role == "state":
            names.append("recurrent state")
        elif s.role == "latent":
            names.append(f"latent of {s.key_width}")
        else:
            reach = "global" if s.window is None else f"window {s.window:,}"
            reach = f"blocks of {s.block:,}" if s.block is not None else reach
            names.append(f"{s.role if s.role != 'self' else reach}, {s.kv_heads} KV x {s.key_width}")
    return " + ".join(names) or "without memory"


def _ranges(numbers: tuple[int, ...]) -> str:
    """Numbers as ranges, "0-4, 6-10"."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    written = [f"{a}" if a == b else f"{a}-{b}" for a, b in runs]
    return ", ".join(written if len(written) <= 5 else [*written[:3], "...", written[-1]])
