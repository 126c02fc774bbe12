"""The weights of attention: projections of queries, keys, values and output, or through a latent."""

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import hidden_size, key_width, kv_heads, query_heads, value_width
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import Shape

PART = "attention"


def hidden(fields: Fields) -> int:
    """Width of the residual stream; BadConfig where the configuration does not say."""
    width = hidden_size(fields)
    if width is None:
        raise BadConfig("hidden_size is missing: every weight depends on it")
    return width


def heads_of(fields: Fields) -> int:
    """Query heads; BadConfig where the configuration does not say."""
    heads = query_heads(fields)
    if heads is None:
        raise BadConfig("num_attention_heads is missing: the projections of attention depend on it")
    return heads


def attention(fields: Fields, shape: Shape, ledger: Ledger) -> None:
    """Note the attention of one layer: of a latent where kv_lora_rank says so."""
    if fields.raw("kv_lora_rank") is not None:
        latent(fields, shape, ledger)
    else:
        dense(fields, shape, ledger)


def dense(
    fields: Fields, shape: Shape, ledger: Ledger, *, owns_keys: bool = True, owns_values: bool = True
) -> None:
    """Attention with keys and values of its own heads; a layer that reads another's has none of these."""
    wide, queries, keys = hidden(fields), heads_of(fields), kv_heads(fields).value
    width = key_width(fields).value
    apart = value_width(fields)
    values = width if apart is None else apart.value
    bias = shape.qkv_bias.of(fields)
    ledger.linear(PART, queries * width * (2 if shape.gate == "double" else 1), wide, bias=bias)
    if owns_keys:
        ledger.linear(PART, keys * width, wide, bias=bias)
        if owns_values:
            ledger.linear(PART, keys * values, wide, bias=bias)
    ledger.linear(PART, wide, queries * values, bias=shape.out_bias.of(fields))
    if shape.qk_norm and shape.qk_norm_if.of(fields):
        each = (1, 1) if shape.qk_norm == "head" else (queries, keys)
        ledger.vector("norms", each[0] * width * shape.qk_norm_numbers)
        if owns_keys:
            ledger.vector("norms", each[1] * width * shape.qk_norm_numbers)
    gate_and_sinks(fields, shape, ledger, queries, values)


def gate_and_sinks(fields: Fields, shape: Shape, ledger: Ledger, queries: int, values: int) -> None:
    """A gate over the output, for each number or each head, and a sink for each head."""
    if shape.gate in ("width", "heads"):
        ledger.linear(PART, queries * values if shape.gate == "width" else queries, hidden(fields))
    if shape.sinks == "all" or (shape.sinks == "sliding" and fields.kind == "sliding"):
        ledger.vector(PART, queries)


def latent(fields: Fields, shape: Shape, ledger: Ledger) -> None:
    """Latent attention (arXiv:2405.04434): down to a latent, a norm, and up to keys and values again."""
    why = "kv_lora_rank says that attention goes through a latent"
    wide, queries = hidden(fields), heads_of(fields)
    rank = fields.need("kv_lora_rank", why=why)
    rope = fields.need("qk_rope_head_dim", least=0, why=why)
    content = fields.need("qk_nope_head_dim", why=why)
    values = fields.need("v_head_dim", why=why)
    bias = shape.qkv_bias.of(fields)
    queries_rank = fields.whole("q_lora_rank")
    if queries_rank is None:
        ledger.linear(PART, queries * (content + rope), wide)
    else:
        ledger.linear(PART, queries_rank, wide, bias=bias)
        ledger.vector("norms", queries_rank)
        ledger.linear(PART, queries * (content + rope), queries_rank)
    ledger.linear(PART, rank + rope, wide, bias=bias)
    ledger.vector("norms", rank)
    ledger.linear(PART, queries * (content + values), rank)
    ledger.linear(PART, wide, queries * values, bias=shape.out_bias.of(fields))
    gate_and_sinks(fields, shape, ledger, queries, values)


def indexer(fields: Fields, ledger: Ledger) -> None:
    """The indexer of sparse attention (DeepSeek-V3.2): its own queries and key, and a weight a head."""
    why = "a layer is said to pick tokens by an indexer"
    heads, width = fields.need("index_n_heads", why=why), fields.need("index_head_dim", why=why)
    ledger.linear("indexer", heads * width, fields.need("q_lora_rank", why=why))
    ledger.linear("indexer", width, hidden(fields))
    ledger.vector("indexer", 2 * width)
    ledger.linear("indexer", heads, hidden(fields))
