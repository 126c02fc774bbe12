"""Whose memory a layer reads, how often it is passed, and what a draft head adds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.rules import Rule, first
from memlessons.plan.layer import Layer
from memlessons.plan.store import Store

_HF = "transformers 5.24, configuration of the class"
Share = Callable[[list[Layer], list[str]], list[Layer]]


def _last_share(fields: Fields) -> Share | None:
    readers = fields.whole("num_kv_shared_layers", least=0, most=MOST_LAYERS)
    if not readers:
        return None

    def share(layers: list[Layer], kinds: list[str]) -> list[Layer]:
        own = len(layers) - readers
        if own < 1:
            raise BadConfig(f"num_kv_shared_layers={readers}: the model has only {len(layers)} layers")
        found = layers[:own]
        for i in range(own, len(layers)):
            owner = next((j for j in reversed(range(own)) if kinds[j] == kinds[i]), None)
            if owner is None:
                raise BadConfig(
                    f"num_kv_shared_layers={readers}: layer {i} has no earlier layer of its kind to read"
                )
            found.append(replace(layers[i], stores=(), reads_from=owner))
        return found

    return share


def _neighbours_share(fields: Fields) -> Share | None:
    if not fields.flag("use_cla"):
        return None
    factor = fields.need("cla_share_factor", why="use_cla says that layers share")

    def share(layers: list[Layer], kinds: list[str]) -> list[Layer]:
        return [
            layer if i % factor == 0 else replace(layer, stores=(), reads_from=i - i % factor)
            for i, layer in enumerate(layers)
        ]

    return share


def _sources(fields: Fields) -> Share | None:
    sources = fields.numbers("kv_source_layers", below=fields.layers or 0)
    if sources is None:
        return None
    fields.one_a_layer("kv_source_layers")

    def share(layers: list[Layer], kinds: list[str]) -> list[Layer]:
        for i, source in enumerate(sources):
            if source > i or sources[source] != source:
                raise BadConfig(
                    f"kv_source_layers: layer {i} reads layer {source}, which keeps nothing of its own"
                )
        # What a layer picks from another's memory is its own indexer's choice.
        return [
            layer if source == i else replace(layer, stores=_index_of(layer), reads_from=source)
            for i, (layer, source) in enumerate(zip(layers, sources, strict=True))
        ]

    return share


def _index_of(layer: Layer) -> tuple[Store, ...]:
    return tuple(store for store in layer.stores if store.role == "index")


def _two_a_layer(fields: Fields) -> list[int] | None:
    n = fields.layers
    if fields.model_type != "longcat_flash" or n is None or fields.has("num_hidden_layers"):
        return None
    return [i for i in range(n) for _ in range(2)]


def _loop_between(fields: Fields) -> list[int] | None:
    n, passes = fields.layers, fields.whole("loop_num_passes", most=MOST_LAYERS)
    if n is None or passes is None:
        return None
    start = fields.need("loop_layer_index_start", least=0, most=n, why="loop_num_passes repeats layers")
    end = fields.need("loop_layer_index_end", least=start, most=n, why="loop_num_passes repeats layers")
    return _bounded([*range(start), *list(range(start, end)) * passes, *range(end, n)])


def _loop_of_core(fields: Fields) -> list[int] | None:
    n, inner = fields.layers, fields.inner("loop_config")
    if n is None or inner is None:
        return None
    why = "loop_config repeats layers"
    passes = inner.need("num_passes", most=MOST_LAYERS, why=why)
    start = inner.need("core_start", least=0, most=n, why=why)
    end = inner.need("core_end", least=start, most=n, why=why)
    return _bounded([*range(start), *list(range(start, end)) * passes, *range(end, n)])


def _loop_after_input(fields: Fields) -> list[int] | None:
    n, loops = fields.layers, fields.whole("n_recurrent_loops", most=MOST_LAYERS)
    if n is None or loops is None or fields.text("recurrent_kv_cache_mode") not in (None, "per_loop"):
        return None
    start = fields.need("n_input_layers", least=0, most=n, why="n_recurrent_loops repeats layers")
    end = start + fields.need("n_recurrent_layers", most=n - start, why="n_recurrent_loops repeats layers")
    return _bounded([*range(start), *list(range(start, end)) * loops, *range(end, n)])


def _bounded(order: list[int]) -> list[int]:
    if len(order) > MOST_LAYERS:
        raise BadConfig(f"layers are repeated to {len(order):,}: no model has more than {MOST_LAYERS:,}")
    return order


def draft_layers(fields: Fields, layers: tuple[Layer, ...], named: Sequence[Layer] = ()) -> tuple[Layer, ...]:
    """The layers of a draft head: each keeps what the last attending layer of the model keeps.

    `named` are draft layers that the configuration itself describes, built. Where it names none they are full
    attention; a recurrent model's state is copied by the engine for each drafted token, which is the engine's
    to count.
    """
    found = first(DRAFT, fields)
    if found is None:
        return ()
    if named:
        return tuple(replace(layer, draft=True, rule=f"{found.rule.name}; {layer.rule}") for layer in named)
    for layer in reversed(layers):
        kept = tuple(s for s in layer.stores if s.role in ("self", "latent", "index") and s.window is None)
        if kept and any(s.role != "index" for s in kept):
            return (Layer(layer.query_heads, kept, draft=True, rule=found.rule.name),) * found.value
    raise BadConfig("a draft head is said to be there, but no layer sees everything for it to be like")


def _drafted(name: str) -> Callable[[Fields], int | None]:
    return lambda fields: fields.whole(name, least=0, most=MOST_LAYERS) or None


SHARING: tuple[Rule[Share], ...] = (
    Rule("sharing: num_kv_shared_layers", f"{_HF} (Gemma 3n, Gemma 4)", _last_share),
    Rule("sharing: kv_source_layers", f"{_HF} (Mistral Large 4)", _sources),
    Rule("sharing: cla_share_factor", "Hunyuan-Large, arXiv:2411.02265", _neighbours_share),
)
LOOPS: tuple[Rule[list[int]], ...] = (
    Rule("order: two attentions a layer", f"{_HF} (LongCat-Flash)", _two_a_layer),
    Rule("order: loop_config", "Inkling 2 with loops, config.json", _loop_of_core),
    Rule("order: loop_num_passes", f"{_HF} (Inkling 2)", _loop_between),
    Rule("order: n_recurrent_loops", f"{_HF} (Dory)", _loop_after_input),
)
DRAFT: tuple[Rule[int], ...] = (
    Rule("draft: num_nextn_predict_layers", "DeepSeek-V3, config.json", _drafted("num_nextn_predict_layers")),
    Rule("draft: mtp_num_hidden_layers", "Qwen3.5, config.json", _drafted("mtp_num_hidden_layers")),
    Rule("draft: num_mtp_layers", f"{_HF} (Inkling)", _drafted("num_mtp_layers")),
)
