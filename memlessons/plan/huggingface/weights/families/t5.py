"""T5 and its kin: no biases, a table of relative positions, a plain or a gated MLP."""

from collections.abc import Mapping
from dataclasses import dataclass

from memlessons.plan.huggingface.errors import UnknownArchitecture
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.weights.attention import heads_of, hidden
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import Flag

_WHY = "T5's weights depend on it"


@dataclass(frozen=True, slots=True)
class Kin:
    """What sets a relative of T5 apart: a table of positions in every layer, and what holds unsaid."""

    table_a_layer: bool = False
    tied: bool = True


def t5(fields: Fields, kin: Kin, ledger: Ledger) -> None:
    """Note every tensor of the encoder and the decoder."""
    kind = fields.text("encoder_attention_type") or "local"
    if kind != "local":
        raise UnknownArchitecture(f"encoder_attention_type={kind[:40]!r}: no rule counts its global tokens")
    wide, vocabulary = hidden(fields), fields.need("vocab_size", why=_WHY)
    tied = Flag("tie_word_embeddings", kin.tied).of(fields)
    ledger.table(vocabulary * wide, tied=tied)
    if not tied:
        ledger.linear("head", vocabulary, wide)
    encoder = fields.need("num_layers", least=0, most=MOST_LAYERS, why=_WHY)
    decoder = fields.whole("num_decoder_layers", least=0, most=MOST_LAYERS)
    _side(fields, kin, ledger, encoder, attentions=1)
    _side(fields, kin, ledger, encoder if decoder is None else decoder, attentions=2)


def _side(fields: Fields, kin: Kin, ledger: Ledger, count: int, attentions: int) -> None:
    wide, heads = hidden(fields), heads_of(fields)
    inner = heads * fields.need("d_kv", why=_WHY)
    width = fields.need("d_ff", why=_WHY)
    for _ in range(count):
        ledger.linear("attention", inner, wide, times=3 * attentions)
        ledger.linear("attention", wide, inner, times=attentions)
        ledger.linear("mlp", width, wide, times=2 if _gated(fields) else 1)
        ledger.linear("mlp", wide, width)
        ledger.vector("norms", wide, times=1 + attentions)
    buckets = fields.need("relative_attention_num_buckets", why=_WHY)
    ledger.vector("attention", buckets * heads, times=count if kin.table_a_layer else 1)
    ledger.vector("norms", wide)


def _gated(fields: Fields) -> bool:
    said = fields.flag("is_gated_act")
    return (fields.text("feed_forward_proj") or "relu").startswith("gated-") if said is None else said


T5: Mapping[str, Kin] = {
    "t5": Kin(), "mt5": Kin(tied=False), "umt5": Kin(table_a_layer=True, tied=False), "longt5": Kin(),
}  # fmt: skip
