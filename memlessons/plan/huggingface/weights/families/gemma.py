"""Gemma 3n and Gemma 4: layers that read another's keys, inputs for each layer, and several streams."""

from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.weights.attention import dense as attention
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.decoder import embeddings
from memlessons.plan.huggingface.weights.layers import layers_of
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import CHOSEN, COUNT
from memlessons.plan.huggingface.weights.mlp import dense as mlp
from memlessons.plan.huggingface.weights.shape import Flag, Shape

_BIAS = Flag("attention_bias")
_SHAPE = Shape(tied=True, norms=4, qkv_bias=_BIAS, out_bias=_BIAS, qk_norm="head")
_WHY = "Gemma's layers depend on it"


def gemma3n(fields: Fields, ledger: Ledger) -> None:
    """Note every tensor of Gemma 3n's language model: AltUp's streams and LAuReL beside the usual."""
    layers = _layers(fields, ledger)
    wide = hidden(fields)
    streams = fields.need("altup_num_inputs", why=_WHY)
    rank = fields.need("laurel_rank", why=_WHY)
    ledger.linear("streams", wide, wide, times=2 * (streams - 1))
    for _ in range(layers):
        ledger.linear("streams", streams, wide)
        ledger.linear("streams", streams, streams)
        ledger.linear("streams", streams * streams, streams)
        ledger.vector("norms", wide)
        ledger.vector("streams", wide * Flag("altup_correct_scale", True).of(fields))
        ledger.linear("low-rank residual", rank, wide)
        ledger.linear("low-rank residual", wide, rank)
        ledger.vector("norms", wide)


def gemma4(fields: Fields, ledger: Ledger) -> None:
    """Note every tensor of Gemma 4's language model: with experts where enable_moe_block says so."""
    _layers(fields, ledger)


def _layers(fields: Fields, ledger: Ledger) -> int:
    wide = hidden(fields)
    embeddings(fields, _SHAPE, ledger)
    ledger.vector("norms", wide)
    seen = list(layers_of(fields))
    count = len(seen)
    shared = fields.whole("num_kv_shared_layers", least=0, most=MOST_LAYERS) or 0
    for i, (_, at) in enumerate(seen):
        reads = i >= count - shared
        same = at.kind == "full" and Flag("attention_k_eq_v").of(at)
        attention(at, _SHAPE, ledger, owns_keys=not reads, owns_values=not same)
        inner = at.need("intermediate_size", why=_WHY)
        mlp(at, _SHAPE, ledger, "mlp", inner * (2 if reads and Flag("use_double_wide_mlp").of(at) else 1))
        ledger.vector("norms", wide, times=_SHAPE.norms)
        if Flag("enable_moe_block").of(at):
            _experts(at, ledger)
    width = fields.whole("hidden_size_per_layer_input", least=0) or 0
    if width:
        _inputs_of_layers(fields, ledger, width, count)
    return count


def _inputs_of_layers(fields: Fields, ledger: Ledger, width: int, layers: int) -> None:
    """A small embedding of each token for each layer."""
    wide = hidden(fields)
    rows = fields.need("vocab_size_per_layer_input", "vocab_size", why=_WHY)
    ledger.table(rows * layers * width, part="embeddings of layers")
    ledger.linear("inputs of layers", layers * width, wide)
    ledger.vector("norms", width)
    ledger.linear("inputs of layers", width, wide, times=layers)
    ledger.linear("inputs of layers", wide, width, times=layers)
    ledger.vector("norms", wide, times=layers)


def _experts(fields: Fields, ledger: Ledger) -> None:
    why = "enable_moe_block says that layers have experts"
    wide, count = hidden(fields), fields.need(*COUNT, why=why)
    each = fields.need("moe_intermediate_size", "expert_intermediate_size", why=why)
    chosen = fields.need(*CHOSEN, why=why)
    ledger.linear("router", count, wide)
    ledger.vector("router", wide + count)
    ledger.linear("experts", each, wide, times=2 * count, used=2 * chosen)
    ledger.linear("experts", wide, each, times=count, used=chosen)
    ledger.vector("norms", wide, times=3)
