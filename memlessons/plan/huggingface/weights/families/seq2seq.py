"""Encoder-decoders: BART and its kin, Whisper, and a decoder of theirs alone."""

from collections.abc import Mapping
from dataclasses import dataclass

from memlessons.plan.huggingface.errors import UnknownArchitecture
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import NO, YES, Flag

_WHY = "an encoder-decoder's weights depend on it"


@dataclass(frozen=True, slots=True)
class Kin:
    """What sets a relative of BART apart; the defaults are BART's.

    `places` are the fields that say how many positions have a row of their own, none where they are computed.
    `doubled` counts the projections that an encoder has twice, for attention near and far.
    """

    both: bool = True
    places: tuple[str, ...] = ("max_position_embeddings",)
    places_in_encoder: tuple[str, ...] = ()
    places_if: Flag = YES
    offset: int = 2
    embedding_norm: Flag = YES
    final_norm: bool = False
    bias: Flag = YES
    key_bias: bool = True
    doubled: int = 0
    ngram: bool = False
    global_tokens: bool = False
    sound: bool = False
    head_apart: bool = False


def seq2seq(fields: Fields, kin: Kin, ledger: Ledger) -> None:
    """Note the encoder and the decoder; the decoder alone where the file says is_encoder_decoder: false."""
    if Flag("use_prompt").of(fields):
        raise UnknownArchitecture("use_prompt: no rule counts learned prompts")
    both = Flag("is_encoder_decoder", kin.both).of(fields)
    wide, vocabulary = hidden(fields), fields.need("vocab_size", why=_WHY)
    answers = fields.whole("decoder_vocab_size") or vocabulary
    apart = not Flag("tie_word_embeddings", True).of(fields)
    if both and not kin.sound:
        # Untied, each side has a table beside the one that both would share.
        own = apart or not Flag("share_encoder_decoder_embeddings", True).of(fields)
        ledger.table(vocabulary * wide, times=2 if apart else 1, tied=not own)
        if own:
            ledger.table(answers * wide, tied=not apart)
    else:
        ledger.table(answers * wide, tied=not (apart or (kin.head_apart and not both)))
    if apart or (kin.head_apart and not both):
        ledger.linear("head", answers, wide)
    if both:
        _side(fields, kin, ledger, "encoder")
    _side(fields, kin, ledger, "decoder")


def _side(fields: Fields, kin: Kin, ledger: Ledger, side: str) -> None:
    wide, encodes = hidden(fields), side == "encoder"
    _front(fields, kin, ledger, encodes)
    inner = fields.need(f"{side}_ffn_dim", why=_WHY)
    bias = kin.bias.of(fields)
    count = fields.need(f"{side}_layers", f"num_{side}_layers", least=0, most=MOST_LAYERS, why=_WHY)
    for _ in range(count):
        ledger.linear("attention", wide, wide, bias=bias, times=3 + (kin.doubled if encodes else 0))
        ledger.linear("attention", wide, wide, bias=bias and kin.key_bias)
        if not encodes:
            _cross(fields, kin, ledger, bias)
        ledger.linear("mlp", inner, wide, bias=True)
        ledger.linear("mlp", wide, inner, bias=True)
        ledger.vector("norms", 2 * wide, times=3 if kin.global_tokens or not encodes else 2)
    if kin.final_norm:
        ledger.vector("norms", 2 * wide)


def _front(fields: Fields, kin: Kin, ledger: Ledger, encodes: bool) -> None:
    wide = hidden(fields)
    places = kin.places_in_encoder if encodes and kin.places_in_encoder else kin.places
    if places and kin.places_if.of(fields):
        ledger.table((fields.need(*places, why=_WHY) + kin.offset) * wide)
    if kin.embedding_norm.of(fields):
        ledger.vector("norms", 2 * wide)
    if kin.sound and encodes:
        ledger.vector("embeddings", wide * (3 * fields.need("num_mel_bins", why=_WHY) + 1))
        ledger.vector("embeddings", wide * (3 * wide + 1))
    if kin.global_tokens and encodes:
        ledger.vector("embeddings", fields.need("num_global_tokens", why=_WHY) * wide)
    if kin.ngram and not encodes:
        ledger.vector("embeddings", fields.need("ngram", why=_WHY) * wide)


def _cross(fields: Fields, kin: Kin, ledger: Ledger, bias: bool) -> None:
    """Attention of the decoder to what was encoded, which may be of another width."""
    wide = hidden(fields)
    other = fields.whole("cross_attention_hidden_size") or wide
    ledger.linear("cross attention", wide, wide, bias=bias, times=2)
    ledger.linear("cross attention", wide, other, bias=bias)
    ledger.linear("cross attention", wide, other, bias=bias and kin.key_bias)
    if kin.ngram:
        buckets = fields.need("num_buckets", why=_WHY)
        heads = fields.need("num_decoder_attention_heads", why=_WHY)
        ledger.linear("attention", buckets * heads, wide, bias=True)


SEQ2SEQ: Mapping[str, Kin] = {
    "bart": Kin(), "mvp": Kin(), "plbart": Kin(),
    "mbart": Kin(final_norm=True),
    "blenderbot-small": Kin(offset=0),
    "blenderbot": Kin(offset=0, embedding_norm=NO, final_norm=True),
    "pegasus": Kin(offset=0, embedding_norm=NO, final_norm=True),
    "pegasus_x": Kin(places=(), embedding_norm=NO, final_norm=True, bias=NO, global_tokens=True),
    "bigbird_pegasus": Kin(offset=0, bias=Flag("use_bias"), head_apart=True),
    "marian": Kin(offset=0, embedding_norm=NO),
    "m2m_100": Kin(places=(), embedding_norm=NO, final_norm=True),
    "led": Kin(places=("max_decoder_position_embeddings",), offset=0, doubled=3,
               places_in_encoder=("max_encoder_position_embeddings",)),
    "prophetnet": Kin(offset=0, ngram=True),
    "trocr": Kin(both=False, places_if=Flag("use_learned_position_embeddings", True),
                 embedding_norm=Flag("layernorm_embedding", True)),
    "whisper": Kin(places=("max_target_positions",), places_in_encoder=("max_source_positions",), offset=0,
                   embedding_norm=NO, final_norm=True, key_bias=False, sound=True),
}  # fmt: skip
