"""What a model needs and no engine rounds: the plan itself, on one of `tp` devices."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from memlessons.plan import edits
from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, Piece, gathered, kept, rows
from memlessons.plan.engines.packed import in_formats
from memlessons.plan.errors import whole
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.store import Store


def ideal(asked: Asked, *, windows: bool = True) -> Allocation:
    """Bytes of exactly what is kept; `windows=False` counts every layer as seeing everything.

    On several devices, those of the fullest: ceil(kv_heads / tp) heads. Index keys as `in_formats` says.
    """
    plan = on_device(asked.plan, asked.tp)
    if not windows:
        plan = without_windows(plan)
    return gathered("ideal", _pieces(asked, plan))


def naive_mla(asked: Asked) -> Allocation:
    """What is kept where latents are expanded into keys and values of every head."""
    if asked.expanded is None:
        raise BadEngineArgument(
            "engine='naive_mla': give a configuration with qk_nope_head_dim and v_head_dim"
        )
    return gathered("naive_mla", _pieces(asked, on_device(asked.expanded, asked.tp)))


def lmcache_all_layers(asked: Asked) -> Allocation:
    """LMCache 2026 with hybrid models: a page for every layer, states padded to the page of attention.

    LMCache/LMCache#4278: 93 layers of Kimi-K3 at 1,152 bytes a token, though only 24 attend.
    """
    plan = on_device(asked.plan, asked.tp)
    pages = [
        (rows(asked.key_format, s.kv_heads, s.key_width), rows(asked.value_format, s.kv_heads, s.value_width))
        for name, s in kept(plan)
        if name in ("base", "swa")
    ]
    if not pages:
        raise BadEngineArgument("engine='lmcache_all_layers': this model has no layer that attends")
    keys, values = max(pages, key=sum)
    tokens = asked.context_tokens * asked.batch
    rule = f"a page for each of {len(plan.layers):,} layers"
    return gathered(
        "lmcache_all_layers",
        [Piece("base", tokens, keys * tokens, values * tokens, rule) for _ in plan.layers],
    )


def on_device(plan: MemoryPlan, tp: int) -> MemoryPlan:
    """The plan of the fullest of `tp` devices: ceil(kv_heads / tp) whole heads, latents not divided."""
    return replace(plan, layers=edits.on_one_device(plan.layers, tp)) if tp > 1 else plan


def cluster_bytes(plan: MemoryPlan, tp: int, context: int, encoder_tokens: int = 0) -> int:
    """Bytes that all of `tp` devices keep together for one sequence, in the plan's own formats.

    Heads are repeated only where there are more devices than heads; a state is shared out once, what does not
    divide (a latent, index keys) is on every device. InvalidPlan for a tp below 1.
    """
    whole("tp", tp, least=1)

    def together(store: Store) -> int:
        if store.divides == "nothing":
            return tp * plan.store_bytes(store, context, encoder_tokens)
        if store.divides == "heads" and store.kv_heads:
            store = replace(store, kv_heads=max(store.kv_heads, tp))
        return plan.store_bytes(store, context, encoder_tokens)

    # Layers of a kind are many: each kind is summed once.
    counted = Counter(store for layer in plan.layers for store in layer.stores)
    return sum(count * together(store) for store, count in counted.items())


def without_windows(plan: MemoryPlan) -> MemoryPlan:
    """The same plan with every layer looking back on everything."""

    def opened(store: Store) -> Store:
        return replace(store, window=None, block=None, sink_tokens=0, slack=0)

    layers = tuple(replace(layer, stores=tuple(map(opened, layer.stores))) for layer in plan.layers)
    return replace(plan, layers=layers)


def _pieces(asked: Asked, plan: MemoryPlan) -> Iterator[Piece]:
    plan = in_formats(plan, asked.kv_dtype)
    encoder = asked.context_tokens if asked.encoder_tokens is None else asked.encoder_tokens
    for name, store in kept(plan):
        if name == "rs":
            yield Piece(name, 0, 0, store.state_bytes * asked.batch, "states as they are kept")
            continue
        slots = store.slots(encoder if store.grows_with == "encoder_tokens" else asked.context_tokens)
        cells = slots * asked.batch
        keys = rows(store.key_format, store.kv_heads, store.key_width)
        values = rows(store.value_format, store.kv_heads, store.value_width)
        yield Piece(name, cells, cells * keys, cells * values, "what is kept, and nothing beside")
