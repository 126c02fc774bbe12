"""Models of Mamba layers: alone, between single blocks (Nemotron-H), or with a shared block (Zamba)."""

from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.heads import key_width, kv_heads
from memlessons.plan.huggingface.weights.attention import dense as attention
from memlessons.plan.huggingface.weights.attention import heads_of, hidden
from memlessons.plan.huggingface.weights.decoder import embeddings
from memlessons.plan.huggingface.weights.layers import layers_of, plain_layers
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import CHOSEN, COUNT, SHARED_WIDTH
from memlessons.plan.huggingface.weights.mlp import dense as mlp
from memlessons.plan.huggingface.weights.shape import Flag, Shape
from memlessons.plan.huggingface.weights.states import mamba1, mamba2

_WHY = "a block's weights depend on it"


def mamba_alone(fields: Fields, ledger: Ledger) -> None:
    """Mamba: a norm and a mixer a layer."""
    _alone(fields, ledger, tied=True)


def mamba2_alone(fields: Fields, ledger: Ledger) -> None:
    """Mamba-2: a norm and a mixer a layer."""
    _alone(fields, ledger, tied=False)


def _alone(fields: Fields, ledger: Ledger, *, tied: bool) -> None:
    embeddings(fields, Shape(tied=tied), ledger)
    ledger.vector("norms", hidden(fields))
    for _ in range(plain_layers(fields)):
        ledger.vector("norms", hidden(fields))
        (mamba1 if tied else mamba2)(fields, ledger)


def nemotron_h(fields: Fields, ledger: Ledger) -> None:
    """Nemotron-H: each layer is a norm and one block: Mamba-2, attention, an MLP or experts."""
    shape = Shape(mlp="plain", mlp_bias=Flag("mlp_bias"))
    embeddings(fields, shape, ledger)
    ledger.vector("norms", hidden(fields))
    blocks = _blocks(fields)
    for block, (kind, at) in zip(blocks, layers_of(fields), strict=False):
        ledger.vector("norms", hidden(fields))
        if kind == "linear":
            mamba2(at, ledger)
        elif kind == "full":
            attention(at, shape, ledger)
        elif block in ("moe", "E"):
            _experts(at, shape, ledger)
        else:
            mlp(at, shape, ledger, "mlp", at.need("intermediate_size", why=_WHY))


def _blocks(fields: Fields) -> list[object]:
    """The words or letters that name the blocks, which the kinds of what is kept do not tell apart."""
    pattern = fields.text("hybrid_override_pattern")
    blocks = list(pattern) if pattern is not None else fields.items("layers_block_type")
    blocks = fields.items("layer_types") if blocks is None else blocks
    if not blocks:
        raise BadConfig(
            "hybrid_override_pattern or layers_block_type is missing: it names the block of each layer"
        )
    return blocks


def _experts(fields: Fields, shape: Shape, ledger: Ledger) -> None:
    wide, count = hidden(fields), fields.need(*COUNT, why=_WHY)
    each, chosen = fields.need("moe_intermediate_size", why=_WHY), fields.need(*CHOSEN, why=_WHY)
    narrow = fields.whole("moe_latent_size")
    ledger.linear("router", count, wide)
    ledger.linear("experts", each, narrow or wide, times=count, used=chosen)
    ledger.linear("experts", narrow or wide, each, times=count, used=chosen)
    if narrow is not None:
        bias = shape.mlp_bias.of(fields)
        ledger.linear("shared experts", narrow, wide, bias=bias)
        ledger.linear("shared experts", wide, narrow, bias=bias)
    mlp(fields, shape, ledger, "shared experts", fields.need(*SHARED_WIDTH, why=_WHY))


def zamba(fields: Fields, ledger: Ledger) -> None:
    """Zamba: Mamba layers, some of which first pass one transformer block that they all share."""
    sites = _mamba_layers(fields, ledger, mamba1)
    if sites:
        _shared_block(fields, ledger)


def zamba2(fields: Fields, ledger: Ledger) -> None:
    """Zamba 2: several shared blocks of Mamba-2's models, adapted at each place by two narrow matrices."""
    # What the published files say, and the class does whatever they say.
    if not Flag("use_shared_mlp_adapter", True).of(fields):
        raise UnknownArchitecture("use_shared_mlp_adapter is false: no rule counts a shared MLP without it")
    sites = _mamba_layers(fields, ledger, mamba2)
    for _ in range(fields.need("num_mem_blocks", most=MOST_LAYERS, why=_WHY) if sites else 0):
        _shared_block(fields, ledger)
    rank, wide = fields.need("adapter_rank", why=_WHY), hidden(fields)
    inner = fields.need("intermediate_size", why=_WHY)
    ledger.linear("adapters", rank, wide, times=sites)
    ledger.linear("adapters", 2 * inner, rank, times=sites)
    if Flag("use_shared_attention_adapter").of(fields):
        double = fields.whole("attention_hidden_size") or 2 * wide
        ledger.linear("adapters", rank, double, times=3 * sites)
        ledger.linear("adapters", double, rank, times=3 * sites)


def _mamba_layers(fields: Fields, ledger: Ledger, mixer: object) -> int:
    embeddings(fields, Shape(tied=True), ledger)
    wide, sites = hidden(fields), 0
    ledger.vector("norms", wide)
    for kind, at in layers_of(fields):
        ledger.vector("norms", wide)
        (mamba2 if mixer is mamba2 else mamba1)(at, ledger)
        if kind.startswith("parallel"):
            sites += 1
            ledger.linear("attention", wide, wide)
    return sites


def _shared_block(fields: Fields, ledger: Ledger) -> None:
    """Attention over the residual and the embedding side by side, and a gated MLP."""
    wide = hidden(fields)
    double = fields.whole("attention_hidden_size") or 2 * wide
    heads, keys = heads_of(fields), kv_heads(fields).value
    width = fields.whole("attention_head_dim") or key_width(fields).value
    ledger.linear("attention", heads * width, double)
    ledger.linear("attention", keys * width, double, times=2)
    ledger.linear("attention", wide, heads * width)
    shape = Shape(mlp_bias=Flag("add_bias_linear"))
    mlp(fields, shape, ledger, "mlp", fields.need("intermediate_size", why=_WHY))
    ledger.vector("norms", double + wide)
