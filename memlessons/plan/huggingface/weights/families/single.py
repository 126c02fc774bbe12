"""Decoders whose layers are like no other's: each adds up its own."""

from dataclasses import replace

from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import kv_heads
from memlessons.plan.huggingface.weights.attention import dense as attention
from memlessons.plan.huggingface.weights.attention import heads_of, hidden, latent
from memlessons.plan.huggingface.weights.decoder import embeddings
from memlessons.plan.huggingface.weights.layers import layers_of, plain_layers
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import CHOSEN
from memlessons.plan.huggingface.weights.mlp import dense as mlp
from memlessons.plan.huggingface.weights.mlp import width as mlp_width
from memlessons.plan.huggingface.weights.shape import Flag, Shape

_WHY = "the weights depend on it"


def falcon(fields: Fields, ledger: Ledger) -> None:
    """Falcon: one norm or two, by how attention and MLP stand to each other."""
    bias = Flag("bias")
    shape = Shape(tied=True, norm=2, qkv_bias=bias, out_bias=bias, mlp="plain", mlp_bias=bias,
                  width=("ffn_hidden_size",), width_times=4)  # fmt: skip
    embeddings(fields, shape, ledger)
    parallel = Flag("parallel_attn", True).of(fields)
    said = fields.whole("num_ln_in_parallel_attn")
    two = said == 2 or (said is None and Flag("new_decoder_architecture").of(fields))
    for _, at in layers_of(fields):
        attention(at, shape, ledger)
        mlp(at, shape, ledger, "mlp", mlp_width(at, shape))
        ledger.vector("norms", 2 * hidden(fields), times=2 if two or not parallel else 1)
    ledger.vector("norms", 2 * hidden(fields))


def refined_web(fields: Fields, ledger: Ledger) -> None:
    """Falcon under its first name, when a number of key heads meant the second design of its layers."""
    second = fields.raw("n_head_kv") is not None
    falcon(replace(fields, levels=({"new_decoder_architecture": second}, *fields.levels)), ledger)


def opt(fields: Fields, ledger: Ledger) -> None:
    """OPT: an embedding that may be narrower than the layers, and norms that may have no parameters."""
    bias = Flag("enable_bias", True)
    norm = 2 if Flag("layer_norm_elementwise_affine", True).of(fields) else 0
    shape = Shape(qkv_bias=bias, out_bias=bias, mlp="plain", mlp_bias=bias)
    wide, vocabulary = hidden(fields), fields.need("vocab_size", why=_WHY)
    narrow = fields.whole("word_embed_proj_dim") or wide
    tied = Flag("tie_word_embeddings", True).of(fields)
    ledger.table(vocabulary * narrow, tied=tied)
    ledger.table((fields.need("max_position_embeddings", why=_WHY) + 2) * wide)
    if narrow != wide:
        ledger.linear("embeddings", wide, narrow)
        ledger.linear("head", narrow, wide)
    if not tied:
        ledger.linear("head", vocabulary, narrow)
    for _, at in layers_of(fields):
        attention(at, shape, ledger)
        mlp(at, shape, ledger, "mlp", at.need("ffn_dim", why=_WHY))
        ledger.vector("norms", norm * wide, times=2)
    if Flag("do_layer_norm_before", True).of(fields) and not Flag("_remove_final_layer_norm").of(fields):
        ledger.vector("norms", norm * wide)


def modernbert_decoder(fields: Fields, ledger: Ledger) -> None:
    """ModernBERT's decoder: the first layer has no norm before attention, the head a transform."""
    bias, norm = Flag("attention_bias"), 2 if Flag("norm_bias").of(fields) else 1
    shape = Shape(tied=True, qkv_bias=bias, out_bias=bias, mlp_bias=Flag("mlp_bias"),
                  head_bias=Flag("decoder_bias", True))  # fmt: skip
    embeddings(fields, shape, ledger)
    wide, count = hidden(fields), 0
    for _, at in layers_of(fields):
        attention(at, shape, ledger)
        mlp(at, shape, ledger, "mlp", mlp_width(at, shape))
        count += 1
    ledger.linear("head", wide, wide, bias=Flag("classifier_bias").of(fields))
    ledger.vector("norms", norm * wide, times=2 * count + 2)


def cpmant(fields: Fields, ledger: Ledger) -> None:
    """CPM-Ant: rows for prompts in the embedding, segments, and a table of relative positions."""
    wide, vocabulary = hidden(fields), fields.need("vocab_size", why=_WHY)
    heads, width = heads_of(fields), fields.need("dim_head", why=_WHY)
    prompts = fields.need("prompt_types", why=_WHY) * fields.need("prompt_length", why=_WHY)
    segments = fields.need("segment_types", why=_WHY)
    buckets = fields.need("position_bias_num_buckets", why=_WHY)
    ledger.table((vocabulary + prompts + segments) * wide)
    ledger.table((segments * segments + buckets) * heads)
    ledger.linear("head", vocabulary, wide)
    ledger.vector("norms", wide)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", heads * width, wide, times=3)
        ledger.linear("attention", wide, heads * width)
        mlp(fields, Shape(), ledger, "mlp", fields.need("dim_ff", why=_WHY))
        ledger.vector("norms", wide, times=2)


def rwkv(fields: Fields, ledger: Ledger) -> None:
    """RWKV-4 (arXiv:2305.13048): time mixing with decay, and channel mixing."""
    embeddings(fields, Shape(), ledger)
    wide = hidden(fields)
    middle = fields.whole("attention_hidden_size") or wide
    inner = fields.whole("intermediate_size") or 4 * wide
    for _ in range(plain_layers(fields)):
        ledger.linear("state layers", middle, wide, times=3)
        ledger.linear("state layers", wide, middle)
        ledger.vector("state layers", 2 * middle + 3 * wide)
        ledger.linear("mlp", inner, wide)
        ledger.linear("mlp", wide, inner)
        ledger.linear("mlp", wide, wide)
        ledger.vector("mlp", 2 * wide)
        ledger.vector("norms", 2 * wide, times=2)
    ledger.vector("norms", 2 * wide, times=2)


def jetmoe(fields: Fields, ledger: Ledger) -> None:
    """JetMoE: experts of the MLP, and experts of queries and output that share keys and values."""
    embeddings(fields, Shape(tied=True), ledger)
    wide, keys = hidden(fields), kv_heads(fields).value * fields.need("kv_channels", why=_WHY)
    count, inner = fields.need("num_local_experts", why=_WHY), fields.need("intermediate_size", why=_WHY)
    chosen = fields.need(*CHOSEN, why=_WHY)
    for _ in range(plain_layers(fields)):
        ledger.linear("attention", 2 * keys, wide)
        ledger.linear("experts", keys, wide, times=count, used=chosen)
        ledger.linear("experts", wide, keys, times=count, used=chosen)
        ledger.linear("experts", 2 * inner, wide, times=count, used=chosen)
        ledger.linear("experts", wide, inner, times=count, used=chosen)
        ledger.linear("router", count, wide, times=2)
        ledger.vector("mlp", wide, times=2)
        ledger.vector("norms", wide, times=2)
    ledger.vector("norms", wide)


def longcat(fields: Fields, ledger: Ledger) -> None:
    """LongCat-Flash: two attentions and two MLPs a layer, and experts of which some do nothing.

    Those weigh nothing. A token's `moe_topk` experts may be of them; counted as active is the most.
    """
    bias = Flag("attention_bias")
    shape = Shape(qkv_bias=bias, out_bias=bias)
    embeddings(fields, shape, ledger)
    wide, count = hidden(fields), fields.need("n_routed_experts", why=_WHY)
    idle = fields.whole("zero_expert_num", least=0) or 0
    chosen = fields.need(*CHOSEN, why=_WHY)
    each = fields.need("expert_ffn_hidden_size", "moe_intermediate_size", why=_WHY)
    for _ in range(plain_layers(fields)):
        for _ in range(2):
            latent(fields, shape, ledger)
            mlp(fields, shape, ledger, "mlp", fields.need("ffn_hidden_size", "intermediate_size", why=_WHY))
        ledger.linear("router", count + idle, wide, bias=Flag("router_bias").of(fields))
        ledger.linear("experts", each, wide, times=2 * count, used=2 * min(chosen, count))
        ledger.linear("experts", wide, each, times=count, used=min(chosen, count))
        ledger.vector("norms", wide, times=4)
    ledger.vector("norms", wide)
