"""The keys of an indexer: small keys by which a layer picks the few tokens that it then attends to."""

from dataclasses import replace

from memlessons.plan.formats import BF16
from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import LONGEST, Fields
from memlessons.plan.huggingface.rules import Fired, Rule, first
from memlessons.plan.store import Store

_HF = "transformers 5.24, configuration of the class"


def index_store(fields: Fields, kind: str, named: bool) -> Fired[Store] | None:
    """The keys of the indexer that a layer of this kind owns; None where it has none, or shares a choice.

    `named` says that kinds name the layers that an indexer thins out. Where they do not, it thins out every
    layer that sees everything.
    """
    if kind not in ("indexed", "full") or (kind == "full" and (named or fields.has("index_block_size"))):
        return None
    owner = first(OWNERS, fields)
    return None if owner is not None and not owner.value else first(INDEX, fields)


def read_tokens(fields: Fields) -> int | None:
    """Tokens that a layer reads of those that it keeps, where an indexer chooses."""
    return fields.whole("index_topk", "indexer_budget", most=LONGEST)


def _index(fields: Fields) -> Store | None:
    width = fields.whole("index_head_dim", "indexer_head_dim")
    return None if width is None else Store("index", 1, width, key_format=BF16, divides="nothing")


def _of_blocks(fields: Fields) -> Store | None:
    inner = fields.inner("sparse_attention_config")
    width = None if inner is None else inner.whole("sparse_index_dim")
    return None if width is None else Store("index", 1, width, key_format=BF16, divides="nothing")


def _pooled(fields: Fields) -> Store | None:
    if fields.whole("index_kpool") is None:
        return None
    found = _index(fields)
    # Keys of a run are weighed by gates as wide as they are, and a token is valid or not.
    return None if found is None else replace(found, key_width=2 * found.key_width + 1)


def _listed(fields: Fields) -> bool | None:
    owners = fields.numbers("_indexer_layers", below=fields.layers or 0)
    return None if owners is None else fields.layer in owners


def _spelled(fields: Fields) -> bool | None:
    if fields.layer is None or fields.one_a_layer("indexer_types") is None:
        return None
    return fields.text("indexer_types") == "full"


def _letters(fields: Fields) -> bool | None:
    letters = fields.text("index_topk_pattern")
    if letters is None or fields.layer is None:
        return None
    if len(letters) != fields.layers or set(letters) - set("FS"):
        raise BadConfig(f"index_topk_pattern: must be a letter a layer, F or S, {fields.layers} in all")
    return letters[fields.layer] == "F"


def _every(fields: Fields) -> bool | None:
    every = fields.whole("index_topk_freq")
    if every is None or fields.layer is None:
        return None
    offset = fields.whole("index_skip_topk_offset", least=0)
    return max(fields.layer - (2 if offset is None else offset) + 1, 0) % every == 0


OWNERS: tuple[Rule[bool], ...] = (
    Rule("indexer: _indexer_layers", "logs of llama.cpp: layers with an indexer of their own", _listed),
    Rule("indexer: indexer_types", f"{_HF} (GLM-5): full, or shared with the layer before", _spelled),
    Rule("indexer: index_topk_pattern", f"{_HF} (GLM-5): F or S, a letter a layer", _letters),
    Rule("indexer: index_topk_freq", f"{_HF} (GLM-5): every so many layers after the first", _every),
)
INDEX: tuple[Rule[Store], ...] = (
    Rule("index: keys and gates of an indexer that pools", f"{_HF} (GLM-5 Next)", _pooled),
    Rule("index: sparse_attention_config", f"{_HF} (MiniMax M3): sparse_index_dim numbers", _of_blocks),
    Rule("index: keys of an indexer", "DeepSeek-V3.2: index_head_dim numbers a token, one head", _index),
)
