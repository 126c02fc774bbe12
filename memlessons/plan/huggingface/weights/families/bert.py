"""BERT and its kin: places and segments, layers with biases and shifts, a head with a transform."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memlessons.plan.huggingface.errors import UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.layers import plain_layers
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import YES, Flag

_WHY = "BERT's embeddings depend on it"


@dataclass(frozen=True, slots=True)
class Kin:
    """What sets a relative of BERT apart; the defaults are BERT's."""

    places: Literal["learned", "rotary table", ""] = "learned"
    segments: bool = True
    embedding_norm: bool = True
    narrow: tuple[str, ...] = ()
    final_norm: bool = False
    head: Literal["transform", "bias", "wide"] = "transform"
    pooler: bool = False
    qkv_bias: Flag = YES
    tied: bool = True
    second_bias: bool = True
    adapters: bool = False
    glyphs: bool = False


def bert(fields: Fields, kin: Kin, ledger: Ledger) -> None:
    """Note every tensor of BERT with its head for predicting tokens."""
    if Flag("add_cross_attention").of(fields):
        raise UnknownArchitecture(
            "add_cross_attention: no rule counts the attention of an encoder to another"
        )
    wide = hidden(fields)
    narrow = (fields.whole(*kin.narrow) if kin.narrow else None) or wide
    vocabulary = fields.need("vocab_size", why=_WHY)
    inner = fields.need("intermediate_size", why="the MLP's weights depend on it")
    _embeddings(fields, kin, ledger, wide, narrow)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", wide, wide, bias=kin.qkv_bias.of(fields), times=3)
        ledger.linear("attention", wide, wide, bias=True)
        ledger.linear("mlp", inner, wide, bias=True)
        ledger.linear("mlp", wide, inner, bias=True)
        ledger.vector("norms", 2 * wide, times=2)
        if kin.adapters:
            _adapters(fields, ledger, wide)
    ledger.vector("norms", 2 * wide * (kin.final_norm or Flag("pre_norm").of(fields)))
    if kin.pooler:
        ledger.linear("head", wide, wide, bias=True)
    out = fields.need("output_embedding_size", why=_WHY) if kin.head == "wide" else narrow
    if kin.head != "bias":
        ledger.linear("head", out, wide, bias=True)
        ledger.vector("head", 2 * out)
    # A head that shares the embedding's table has a bias of its own; one apart has a table with a bias, and
    # that of the tied form stays.
    ledger.vector("head", vocabulary)
    if kin.head == "wide":
        ledger.linear("head", vocabulary, out)
    elif not Flag("tie_word_embeddings", kin.tied).of(fields):
        ledger.linear("head", vocabulary, out, bias=kin.second_bias)


def _embeddings(fields: Fields, kin: Kin, ledger: Ledger, wide: int, narrow: int) -> None:
    tied = kin.head != "wide" and Flag("tie_word_embeddings", kin.tied).of(fields)
    ledger.table(fields.need("vocab_size", why=_WHY) * narrow, tied=tied)
    if kin.places:
        places = fields.need("max_position_embeddings", why=_WHY)
        heads = fields.need("num_attention_heads", why=_WHY)
        ledger.table(places * (narrow if kin.places == "learned" else wide // heads))
    if kin.segments:
        ledger.table(fields.need("type_vocab_size", why=_WHY) * narrow)
    if Flag("use_task_id").of(fields):
        ledger.table(fields.need("task_type_vocab_size", why=_WHY) * narrow)
    if kin.glyphs:
        _glyphs(fields, ledger, wide)
    ledger.vector("norms", 2 * narrow * kin.embedding_norm)
    if kin.narrow and (narrow != wide or kin.head == "wide"):
        ledger.linear("embeddings", wide, narrow, bias=True)


def _adapters(fields: Fields, ledger: Ledger, wide: int) -> None:
    inner = int(wide // (fields.need("adapter_reduction_factor", why="adapters are narrower")))
    languages = len(fields.items("languages") or [])
    ledger.linear("adapters", inner, wide, bias=True, times=languages)
    ledger.linear("adapters", wide, inner, bias=True, times=languages)
    ledger.vector("norms", 2 * wide * Flag("adapter_layer_norm").of(fields))


def _glyphs(fields: Fields, ledger: Ledger, wide: int) -> None:
    """RoCBert: tables of how a token sounds and looks, and a map from all three to one width."""
    width = wide
    for what in ("pronunciation", "shape"):
        size = fields.need(f"{what}_embed_dim", why=_WHY)
        ledger.table(fields.need(f"{what}_vocab_size", why=_WHY) * size)
        width += size * Flag(f"enable_{what}", True).of(fields)
    if Flag("concat_input", True).of(fields):
        ledger.linear("embeddings", wide, width, bias=True)


BERT: Mapping[str, Kin] = {
    "bert": Kin(), "data2vec-text": Kin(), "roberta": Kin(), "camembert": Kin(), "xlm-roberta": Kin(),
    "ernie": Kin(), "roc_bert": Kin(glyphs=True),
    "bert-generation": Kin(segments=False, head="bias"),
    "big_bird": Kin(pooler=True, qkv_bias=Flag("use_bias", True)),
    "git": Kin(segments=False, head="bias", tied=False, second_bias=False),
    "electra": Kin(narrow=("embedding_size",), second_bias=False),
    "megatron-bert": Kin(embedding_norm=False, final_norm=True),
    "rembert": Kin(narrow=("input_embedding_size",), head="wide"),
    "roberta-prelayernorm": Kin(final_norm=True),
    "roformer": Kin(places="rotary table", narrow=("embedding_size",)),
    "xlm-roberta-xl": Kin(embedding_norm=False, final_norm=True),
    "xmod": Kin(adapters=True),
}  # fmt: skip
