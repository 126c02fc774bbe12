"""Recent decoders with blocks of their own: compressed attention, gated norms, convolutions."""

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import key_width, kv_heads
from memlessons.plan.huggingface.weights.attention import dense as attention
from memlessons.plan.huggingface.weights.attention import heads_of, hidden, indexer
from memlessons.plan.huggingface.weights.decoder import embeddings
from memlessons.plan.huggingface.weights.extras import stream_head
from memlessons.plan.huggingface.weights.layers import layers_of, plain_layers
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import CHOSEN, COUNT, is_sparse, mlp
from memlessons.plan.huggingface.weights.mlp import dense as plain_mlp
from memlessons.plan.huggingface.weights.shape import Experts, Flag, Shape

_WHY = "the weights of a layer depend on it"
_ROUTED = Shape(mlp_bias=Flag("mlp_bias"), experts=Experts(shared="times"))


def deepseek_v4(fields: Fields, ledger: Ledger) -> None:
    """DeepSeek-V4: one key that is its own value, entries for runs of tokens, several residual streams."""
    embeddings(fields, Shape(), ledger)
    wide, streams = hidden(fields), fields.need("hc_mult", why=_WHY)
    mixes = streams * streams + 2 * streams
    for kind, at in layers_of(fields):
        _one_key(at, ledger)
        if kind in ("heavy", "sparse"):
            _runs(at, kind, ledger)
        mlp(at, _ROUTED, ledger)
        ledger.vector("norms", wide, times=2)
        ledger.linear("hyper-connections", mixes, streams * wide, times=2)
        ledger.vector("hyper-connections", mixes + 3, times=2)
    ledger.vector("norms", wide)
    stream_head(fields, ledger)


def _one_key(fields: Fields, ledger: Ledger) -> None:
    wide, heads, width = hidden(fields), heads_of(fields), fields.need("head_dim", why=_WHY)
    rank = fields.need("q_lora_rank", why=_WHY)
    groups, narrow = fields.need("o_groups", why=_WHY), fields.need("o_lora_rank", why=_WHY)
    if heads * width % groups:
        raise BadConfig(f"o_groups={groups}: {heads} heads of {width} numbers do not divide into so many")
    ledger.linear("attention", rank, wide)
    ledger.linear("attention", heads * width, rank)
    ledger.linear("attention", width, wide)
    ledger.linear("attention", groups * narrow, heads * width // groups)
    ledger.linear("attention", wide, groups * narrow)
    ledger.vector("attention", heads)
    ledger.vector("norms", rank + width)


def _runs(fields: Fields, kind: str, ledger: Ledger) -> None:
    """What makes one entry of a run of tokens: twice as wide, and with an indexer, where runs are picked."""
    twice = 2 if kind == "sparse" else 1
    _compressor(fields, ledger, "attention", twice, fields.need("head_dim", why=_WHY), _run(fields, kind))
    if kind == "sparse":
        width, heads = fields.need("index_head_dim", why=_WHY), fields.need("index_n_heads", why=_WHY)
        _compressor(fields, ledger, "indexer", 2, width, _run(fields, kind))
        ledger.linear("indexer", heads * width, fields.need("q_lora_rank", why=_WHY))
        ledger.linear("indexer", heads, hidden(fields))


def _compressor(fields: Fields, ledger: Ledger, part: str, twice: int, width: int, run: int) -> None:
    ledger.linear(part, twice * width, hidden(fields), times=2)
    ledger.vector(part, run * twice * width)
    ledger.vector("norms", width)


def _run(fields: Fields, kind: str) -> int:
    rates = fields.inner("compress_rates")
    if rates is None:
        # One number a layer, those of the draft's layers after them.
        ratios = fields.items("compress_ratios") or []
        if fields.layer is None or fields.layer >= len(ratios):
            raise BadConfig(
                "compress_ratios is missing or too short: compressed attention has runs of tokens"
            )
        run = Fields(({"compress_ratios": ratios[fields.layer]},))
        return run.need("compress_ratios", why="compressed attention has runs of tokens")
    name = "compressed_sparse_attention" if kind == "sparse" else "heavily_compressed_attention"
    return rates.need(name, why="compress_rates lists the runs of each kind")


def axk2(fields: Fields, ledger: Ledger) -> None:
    """A.X K2: latent attention with a gate from the same projection, an indexer, and gated norms."""
    embeddings(fields, Shape(), ledger)
    wide, rank, small = (
        hidden(fields),
        fields.need("q_lora_rank", why=_WHY),
        fields.need("gated_norm_rank", why=_WHY),
    )
    latent, rope = fields.need("kv_lora_rank", why=_WHY), fields.need("qk_rope_head_dim", least=0, why=_WHY)
    content, values = fields.need("qk_nope_head_dim", why=_WHY), fields.need("v_head_dim", why=_WHY)
    bias, heads = Flag("attention_bias").of(fields), heads_of(fields)
    for kind, at in layers_of(fields):
        ledger.linear("attention", rank, wide, bias=bias)
        ledger.linear("attention", heads * (content + rope + values), 2 * rank)
        ledger.linear("attention", latent + rope, wide, bias=bias)
        ledger.linear("attention", heads * (content + values), latent)
        ledger.linear("attention", wide, heads * values, bias=bias)
        ledger.vector("norms", rank + latent)
        if kind == "indexed":
            indexer(at, ledger)
        mlp(at, Shape(experts=Experts(shared="times")), ledger)
        gated = 2 if is_sparse(at) else 1
        ledger.linear("norms", small, wide, times=gated)
        ledger.linear("norms", wide, small, times=gated)
        ledger.vector("norms", wide, times=2)
    ledger.vector("norms", wide)


def zaya(fields: Fields, ledger: Ledger) -> None:
    """ZAYA: convolutions over queries and keys together, values of this token and the last, a deep router."""
    embeddings(fields, Shape(tied=True, head_bias=Flag("lm_head_bias")), ledger)
    wide, heads = hidden(fields), heads_of(fields)
    keys, width = kv_heads(fields).value, key_width(fields).value
    narrow, count = fields.need("router_hidden_size", why=_WHY), fields.need(*COUNT, why=_WHY)
    each, chosen = fields.need("moe_intermediate_size", why=_WHY), fields.need(*CHOSEN, why=_WHY)
    near, far = fields.need("cca_time0", why=_WHY), fields.need("cca_time1", why=_WHY)
    bias, mixed, layers = Flag("attention_bias").of(fields), (heads + keys) * width, plain_layers(fields)
    ledger.vector("norms", wide, times=3)
    for _ in range(layers):
        ledger.linear("attention", heads * width, wide, bias=bias)
        ledger.linear("attention", keys * width, wide, bias=bias)
        ledger.linear("attention", keys * width // 2, wide, bias=bias, times=2)
        ledger.linear("attention", wide, heads * width, bias=bias)
        ledger.vector("attention", mixed * (near + 1) + mixed * (width * far + 1) + keys)
        ledger.linear("router", narrow, wide, bias=True)
        ledger.linear("router", narrow, narrow, bias=True, times=2)
        ledger.linear("router", count + 1, narrow)
        ledger.linear("experts", each, wide, times=2 * count, used=2 * chosen)
        ledger.linear("experts", wide, each, times=count, used=chosen)
        ledger.vector("norms", narrow + 10 * wide)
    ledger.vector("router", narrow, times=layers - 1)


def hrm_text(fields: Fields, ledger: Ledger) -> None:
    """HRM: two stacks of layers without norms, passed again and again."""
    bias = Flag("attention_bias")
    shape = Shape(qkv_bias=bias, out_bias=bias, mlp_bias=Flag("mlp_bias"))
    embeddings(fields, shape, ledger)
    wide = hidden(fields)
    inner = heads_of(fields) * key_width(fields).value
    ledger.vector("embeddings", wide)
    for _ in range(2 * fields.need("num_layers_per_stack", "num_hidden_layers", most=2048, why=_WHY)):
        attention(fields, shape, ledger)
        ledger.linear("attention", inner, wide, bias=bias.of(fields))
        plain_mlp(fields, shape, ledger, "mlp", fields.need("intermediate_size", why=_WHY))


def inkling(fields: Fields, ledger: Ledger) -> None:
    """Inkling: relative positions from a projection, short convolutions after keys, values and blocks."""
    embeddings(fields, Shape(embedding_norm=1), ledger)
    wide, kernel = hidden(fields), fields.need("conv_kernel_size", why=_WHY)
    narrow = fields.need("d_rel", why=_WHY)
    extent, window = fields.need("rel_extent", why=_WHY), fields.need("sliding_window_size", why=_WHY)
    shape = Shape(qk_norm="head", experts=Experts())
    for _, at in layers_of(fields):
        attention(at, shape, ledger)
        ledger.linear("attention", heads_of(at) * narrow, wide)
        ledger.vector("attention", narrow * (window if at.kind == "sliding" else extent))
        ledger.vector("attention", 2 * kernel * kv_heads(at).value * key_width(at).value)
        ledger.vector("attention", 2 * kernel * wide)
        ledger.vector("norms", wide, times=2)
        mlp(at, shape, ledger)
        if is_sparse(at):
            shared = at.whole("n_shared_experts", least=0) or 0
            each = at.need("moe_intermediate_size", why=_WHY)
            plain_mlp(at, shape, ledger, "shared experts", shared * each)
            ledger.linear("router", shared if Flag("shared_expert_sink").of(at) else 0, wide)
            ledger.vector("router", 1)
    ledger.vector("norms", wide)
