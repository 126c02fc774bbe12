"""Parameters of single classes that no fact of a shape describes: each adds what its layers have besides."""

from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import key_width, kv_heads
from memlessons.plan.huggingface.weights.attention import heads_of, hidden
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import is_sparse
from memlessons.plan.huggingface.weights.shape import Flag


def activation_numbers(fields: Fields, ledger: Ledger) -> None:
    """Apertus: the activation has two numbers of its own."""
    ledger.vector("mlp", 2)


def sub_norms(fields: Fields, ledger: Ledger) -> None:
    """BitNet: a norm before the output of attention, and one before the way down."""
    ledger.vector("norms", heads_of(fields) * key_width(fields).value)
    ledger.vector("norms", fields.need("intermediate_size", why="a norm is as wide as the MLP"))


def differential(fields: Fields, ledger: Ledger) -> None:
    """DiffLlama: four vectors of a head's width give the weight of the difference."""
    ledger.vector("attention", key_width(fields).value, times=4)


def doge(fields: Fields, ledger: Ledger) -> None:
    """Doge: residual scales, and a dynamic mask from the values."""
    if Flag("is_moe").of(fields):
        raise UnknownArchitecture("is_moe: no rule counts Doge's experts, which are rows of two tables")
    keys = kv_heads(fields).value
    ledger.vector("norms", hidden(fields), times=2)
    ledger.linear("attention", keys, keys * key_width(fields).value, bias=Flag("attention_bias").of(fields))
    ledger.vector("attention", keys)


def four_norms(fields: Fields, ledger: Ledger) -> None:
    """HyperCLOVA X: norms after attention and MLP too, unless use_post_norm is false."""
    if Flag("use_post_norm", True).of(fields):
        ledger.vector("norms", hidden(fields), times=2)


def gate_bias(fields: Fields, ledger: Ledger) -> None:
    """BEAM: a number a head beside the gate."""
    ledger.vector("attention", heads_of(fields))


def gate_by_name(fields: Fields, ledger: Ledger) -> None:
    """Laguna: a gate for each head, or for each number where `gating` names another."""
    each = fields.raw("gating") in (True, None, "per-head")
    ledger.linear("attention", heads_of(fields) * (1 if each else key_width(fields).value), hidden(fields))


def rope_norm(fields: Fields, ledger: Ledger) -> None:
    """dots3: a norm over the part of the latent that holds the position."""
    ledger.vector("norms", fields.need("qk_rope_head_dim", why="a norm is as wide as the position's part"))


def norm_after_experts(fields: Fields, ledger: Ledger) -> None:
    """A.X K1: a norm after the MLP in layers that have experts."""
    if is_sparse(fields):
        ledger.vector("norms", hidden(fields))


def two_streams(fields: Fields, ledger: Ledger) -> None:
    """Hyper-connections of HY V4: each of two blocks reads from, and writes to, several residual streams."""
    streams = fields.need("hc_mult", why="layers connect several residual streams")
    ledger.linear("hyper-connections", 2 * streams, streams * hidden(fields), times=2)
    ledger.vector("hyper-connections", 2 * streams + 2, times=2)


def stream_head(fields: Fields, ledger: Ledger) -> None:
    """Hyper-connections: the streams become one before the head."""
    streams = fields.need("hc_mult", why="layers connect several residual streams")
    ledger.linear("hyper-connections", streams, streams * hidden(fields))
    ledger.vector("hyper-connections", streams + 1)


def cross_gates(fields: Fields, ledger: Ledger) -> None:
    """Llama 3.2 Vision: a layer that attends to images has norms over its heads and two gates."""
    if fields.kind == "cross":
        ledger.vector("norms", key_width(fields).value, times=2)
        ledger.vector("attention", 2)


def sandwich(fields: Fields, ledger: Ledger) -> None:
    """LFM3: norms after each block, and a gate a head, unless the flags are false."""
    if Flag("use_sandwich_norm", True).of(fields):
        ledger.vector("norms", hidden(fields), times=2)
    if Flag("use_attention_gate", True).of(fields) and fields.kind != "conv":
        ledger.linear("attention", heads_of(fields), hidden(fields))


def second_norm(fields: Fields, ledger: Ledger) -> None:
    """StableLM: a norm before the MLP, unless it works beside attention."""
    if not Flag("use_parallel_residual").of(fields):
        ledger.vector("norms", 2 * hidden(fields))


def japanese_bias(fields: Fields, ledger: Ledger) -> None:
    """GPT-NeoX-Japanese: the output of attention has a bias in the last layer alone."""
    ledger.vector("attention", hidden(fields))


def japanese_width(fields: Fields) -> int:
    """GPT-NeoX-Japanese: the MLP's width as a multiple."""
    return hidden(fields) * fields.need("intermediate_multiple_size", why="the MLP's width is a multiple")


def half_width(fields: Fields) -> int:
    """Moshi: the field counts the two halves of a gated MLP together."""
    return fields.need("ffn_dim", why="the MLP's weights depend on it") // 2


def lfm_width(fields: Fields) -> int:
    """LFM2: two thirds of the field, times a factor, up to a multiple, unless that is switched off."""
    width = fields.need("intermediate_size", "block_ff_dim", why="the MLP's weights depend on it")
    if not Flag("block_auto_adjust_ff_dim", True).of(fields):
        return width
    width = 2 * width // 3
    factor = fields.raw("block_ffn_dim_multiplier") if fields.has("block_ffn_dim_multiplier") else 1.0
    if factor is None:
        return width
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1024:
        raise BadConfig(f"block_ffn_dim_multiplier={str(factor)[:40]}: must be a number from 0 to 1,024")
    multiple = fields.whole("block_multiple_of") or 256
    return multiple * -(-int(factor * width) // multiple)


def half_mlp(fields: Fields) -> int:
    """RecurrentGemma: the field counts the two halves of a gated MLP together."""
    return fields.need("intermediate_size", why="the MLP's weights depend on it") // 2
