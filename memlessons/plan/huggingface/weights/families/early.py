"""Decoders of single early or remote designs: XLNet, XLM, xLSTM, DBRX, ChatGLM, the first Qwen."""

from dataclasses import replace

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.heads import hidden_size, kv_heads
from memlessons.plan.huggingface.weights.attention import heads_of, hidden
from memlessons.plan.huggingface.weights.decoder import embeddings, ties
from memlessons.plan.huggingface.weights.layers import plain_layers
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import dense as mlp
from memlessons.plan.huggingface.weights.shape import YES, Flag, Shape

_WHY = "the weights depend on it"


def xlnet(fields: Fields, ledger: Ledger) -> None:
    """XLNet: a projection of relative positions, and four vectors a head."""
    embeddings(fields, Shape(tied=True, head_bias=YES), ledger)
    wide, heads = hidden(fields), heads_of(fields)
    inner = heads * (fields.whole("d_head") or wide // heads)
    ledger.vector("embeddings", wide)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", inner, wide, times=4)
        ledger.linear("attention", wide, inner)
        ledger.vector("attention", 5 * inner)
        mlp(fields, Shape(mlp="plain", mlp_bias=YES), ledger, "mlp", fields.need("d_inner", why=_WHY))
        ledger.vector("norms", 2 * wide, times=2)


def xlm(fields: Fields, ledger: Ledger) -> None:
    """XLM: BERT's layers with places learned, and a row for each language where there are several."""
    wide, vocabulary = fields.need("emb_dim", why=_WHY), fields.need("vocab_size", "n_words", why=_WHY)
    ledger.table(vocabulary * wide, tied=ties(fields, True))
    ledger.table(fields.need("max_position_embeddings", why=_WHY) * wide)
    languages = fields.whole("n_langs") or 1
    if languages > 1 and Flag("use_lang_emb", True).of(fields):
        ledger.table(languages * wide)
    if not ties(fields, True):
        ledger.linear("head", vocabulary, wide)
    ledger.vector("head", vocabulary)
    ledger.vector("norms", 2 * wide)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", wide, wide, bias=True, times=4)
        ledger.linear("mlp", 4 * wide, wide, bias=True)
        ledger.linear("mlp", wide, 4 * wide, bias=True)
        ledger.vector("norms", 2 * wide, times=2)


def xlstm(fields: Fields, ledger: Ledger) -> None:
    """xLSTM (arXiv:2405.04517): matrix memory with gates a head, and a gated MLP."""
    wide = hidden_size(fields) or fields.need("embedding_dim", why=_WHY)
    heads = heads_of(fields)
    fields = replace(fields, levels=({"hidden_size": wide}, *fields.levels))
    embeddings(fields, Shape(), ledger)
    keys, values = (int(wide * _factor(fields, f"{name}_dim_factor")) for name in ("qk", "v"))
    multiple = fields.whole("ffn_round_up_to_multiple_of") or 1
    inner = multiple * -(-int(wide * _factor(fields, "ffn_proj_factor")) // multiple)
    bias = Flag("use_bias").of(fields)
    for _ in range(fields.whole("num_blocks", most=MOST_LAYERS) or plain_layers(fields)):
        ledger.linear("state layers", keys, wide, bias=bias, times=2)
        ledger.linear("state layers", values, wide, bias=bias, times=2)
        ledger.linear("state layers", heads, wide, bias=True, times=2)
        ledger.linear("state layers", wide, values, bias=bias)
        mlp(fields, Shape(mlp_bias=Flag("use_bias")), ledger, "mlp", inner)
        ledger.vector("norms", (2 * wide + values) * (1 + bias))
    ledger.vector("norms", wide * Flag("add_out_norm", True).of(fields))


def _factor(fields: Fields, name: str) -> float:
    value = fields.raw(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 64:
        raise BadConfig(f"{name}={str(value)[:40]}: must be a number from 0 to 64")
    return float(value)


def dbrx(fields: Fields, ledger: Ledger) -> None:
    """DBRX: experts of its own configuration object, norms that scale and do not shift."""
    embeddings(fields, Shape(), ledger)
    wide, heads = hidden(fields), heads_of(fields)
    experts = fields.inner("ffn_config")
    if experts is None:
        raise BadConfig("ffn_config is missing: DBRX's experts are in it")
    keys = kv_heads(fields).value * (wide // heads)
    count, inner = experts.need("moe_num_experts", why=_WHY), experts.need("ffn_hidden_size", why=_WHY)
    chosen = experts.need("moe_top_k", why=_WHY)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", wide, wide, times=2)
        ledger.linear("attention", keys, wide, times=2)
        ledger.linear("router", count, wide)
        ledger.linear("experts", inner, wide, times=2 * count, used=2 * chosen)
        ledger.linear("experts", wide, inner, times=count, used=chosen)
        ledger.vector("norms", wide, times=2)
    ledger.vector("norms", wide)


def chatglm(fields: Fields, ledger: Ledger) -> None:
    """ChatGLM 2 to 4: heads that share keys, a padded vocabulary, a gated MLP."""
    wide, heads = hidden(fields), heads_of(fields)
    vocabulary = fields.need("padded_vocab_size", "vocab_size", why=_WHY)
    width, keys = fields.whole("kv_channels") or wide // heads, kv_heads(fields).value
    bias = Flag("add_bias_linear").of(fields)
    qkv = bias or Flag("add_qkv_bias").of(fields)
    tied = ties(fields, False)
    ledger.table(vocabulary * wide, tied=tied)
    ledger.linear("head", vocabulary, wide, times=0 if tied else 1)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", (heads + 2 * keys) * width, wide, bias=qkv)
        ledger.linear("attention", wide, heads * width, bias=bias)
        shape = Shape(mlp_bias=Flag("add_bias_linear"))
        mlp(fields, shape, ledger, "mlp", fields.need("ffn_hidden_size", why=_WHY))
        ledger.vector("norms", wide, times=2)
    ledger.vector("norms", wide * Flag("post_layer_norm", True).of(fields))
