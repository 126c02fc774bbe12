"""What an attending layer keeps: keys and values, or a latent, and the keys of an indexer."""

from dataclasses import replace
from typing import Any, NamedTuple

from memlessons.plan.formats import BF16
from memlessons.plan.huggingface.compressed import COMPRESSED
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import key_width, kv_heads, query_heads, value_width
from memlessons.plan.huggingface.rules import Rule, first
from memlessons.plan.huggingface.windows import chunk, window
from memlessons.plan.store import Store

_HF = "transformers 5.24, configuration of the class"


class Kept(NamedTuple):
    """The stores of a layer, and the rules that made them."""

    stores: list[Store]
    rules: list[Rule[Any]]


def attention_stores(fields: Fields, kind: str, expand_latent: bool = False) -> Kept:
    """The stores of one attending layer of this kind."""
    compressed = first(COMPRESSED, fields)
    if compressed is not None:
        return Kept(compressed.value, [compressed.rule])
    if kind in ("heavy", "sparse"):
        raise UnknownArchitecture(
            f"layer {fields.layer} keeps entries for runs of tokens: no rule knows how wide"
        )
    without = kind in ("cross", "decoder", "decoder sliding") or first(NO_LATENT, fields) is not None
    latent = None if without else first(LATENT, fields)
    if latent is not None:
        store = _expanded(fields) if expand_latent else latent.value
        kept = Kept([store], [latent.rule])
    else:
        kept = _keys_and_values(fields, kind)
    if kind in ("sliding", "parallel sliding", "decoder sliding"):
        size = window(fields)
        near = [replace(s, window=size.tokens) if s.role != "cross" else s for s in kept.stores]
        kept = Kept(near, [*kept.rules, size.rule])
    elif kind == "chunked":
        size = chunk(fields)
        kept = Kept([replace(s, block=size.tokens) for s in kept.stores], [*kept.rules, size.rule])
    return kept


def _keys_and_values(fields: Fields, kind: str) -> Kept:
    heads, width, values = kv_heads(fields), key_width(fields), value_width(fields)
    rules: list[Rule[Any]] = [heads.rule, width.rule]
    wide = width.value
    if values is not None:
        wide = values.value
        rules.append(values.rule)
    queries = query_heads(fields)
    if queries is not None and queries % heads.value:
        raise BadConfig(
            f"{queries} query heads do not share {heads.value} key and value heads evenly ({heads.rule.name})"
        )
    store = Store("self", heads.value, width.value, wide, key_format=BF16, value_format=BF16)
    cross = replace(store, role="cross", grows_with="encoder_tokens")
    if kind == "cross":
        return Kept([cross], rules)
    return Kept([store, cross] if kind.startswith("decoder") else [store], rules)


def _near_latent(fields: Fields) -> Store | None:
    rank = fields.whole("swa_kv_lora_rank") if fields.kind == "sliding" else None
    if rank is None:
        return None
    why = "swa_kv_lora_rank says that layers with a window keep a latent of their own"
    rope = fields.whole("swa_qk_rope_head_dim", least=0)
    if rope is None:
        rope = fields.need("swa_head_dim", why=why) - fields.need("swa_qk_nope_head_dim", why=why)
    if rope < 0:
        raise BadConfig("swa_qk_nope_head_dim: wider than swa_head_dim")
    return Store(
        "latent", 1, rank + rope, rope_width=rope, key_format=BF16, value_format=BF16, divides="nothing"
    )


def _latent_alone(fields: Fields) -> Store | None:
    rank = fields.whole("kv_lora_rank")
    if rank is None or fields.layer is None or fields.has("attention_chunk_size"):
        return None
    interval = fields.whole("no_rope_layer_interval")
    if fields.one_a_layer("no_rope_layers") is not None:
        alone = fields.flag("no_rope_layers") is False
    else:
        alone = interval is not None and (fields.layer + 1) % interval == 0
    if not alone:
        return None
    return Store("latent", 1, rank, rope="none", key_format=BF16, value_format=BF16, divides="nothing")


def _latent(fields: Fields) -> Store | None:
    rank = fields.whole("kv_lora_rank")
    if rank is None:
        return None
    rope = fields.need(
        "qk_rope_head_dim", least=0, why="kv_lora_rank says that a latent is kept, and the position beside it"
    )
    return Store(
        "latent", 1, rank + rope, rope_width=rope, key_format=BF16, value_format=BF16, divides="nothing"
    )


def _expanded(fields: Fields) -> Store:
    why = "a latent is to be expanded into keys and values of every head"
    heads = query_heads(fields)
    if heads is None:
        raise BadConfig(f"num_attention_heads is missing: {why}")
    keys = fields.need("qk_nope_head_dim", why=why) + fields.need("qk_rope_head_dim", least=0, why=why)
    values = fields.need("v_head_dim", why=why)
    return Store("self", heads, keys, values, key_format=BF16, value_format=BF16)


def _off(fields: Fields) -> bool | None:
    return True if fields.flag("use_mla") is False else None


NO_LATENT: tuple[Rule[bool], ...] = (
    Rule("latent off: use_mla is false", "DeepSeek-OCR, config.json; Hunyuan's class", _off),
)
LATENT: tuple[Rule[Store], ...] = (
    Rule("latent: swa_kv_lora_rank", f"{_HF} (dots3 note): layers with a window", _near_latent),
    Rule("latent: no position where no_rope_layers is 0", f"{_HF} (Mistral Large 4)", _latent_alone),
    Rule("latent: kv_lora_rank", "arXiv:2405.04434: one latent for all heads, and the position", _latent),
)
