"""The weights of the MLP of a layer: one, or many experts with a router."""

from dataclasses import replace

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.rules import Rule, first
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import Experts, Shape

_HF = "transformers 5.24, modeling of the class"
COUNT = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
CHOSEN = (
    "num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "moe_k", "experts_per_token",
    "top_k_experts",
)  # fmt: skip
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert")
SHARED_WIDTH = (
    "shared_expert_intermediate_size", "shared_experts_intermediate_size", "shared_intermediate_size",
    "moe_shared_expert_intermediate_size",
)  # fmt: skip


def mlp(fields: Fields, shape: Shape, ledger: Ledger) -> None:
    """Note the MLP of one layer: dense, or experts where this layer has them."""
    experts = shape.experts
    if experts is None or not is_sparse(fields):
        dense(fields, shape, ledger, "mlp", width(fields, shape))
        return
    wide, count = hidden(fields), fields.need(*COUNT, least=0, why="a layer is said to have experts")
    if not count:
        # The dense siblings of a mixture: what is called shared there is their MLP (Granite 4.0 micro).
        own = _shared_width(fields, experts, 0) if experts.shared == "field" else 0
        dense(fields, shape, ledger, "mlp", own or width(fields, shape))
        return
    each = fields.need(*experts.width, why="a layer is said to have experts")
    chosen = min(fields.need(*CHOSEN, least=0, why="a layer is said to have experts"), count)
    ledger.linear("router", count, wide)
    ledger.vector("router", count * experts.router_vectors)
    up = 2 if shape.mlp == "gated" else 1
    ledger.linear("experts", each, wide, bias=experts.bias, times=up * count, used=up * chosen)
    ledger.linear("experts", wide, each, bias=experts.bias, times=count, used=chosen)
    together = _shared_width(fields, experts, each)
    if together:
        dense(fields, shape, ledger, "shared experts", together)
        if experts.shared_gate:
            ledger.linear("shared experts", 1, wide)


def dense(fields: Fields, shape: Shape, ledger: Ledger, part: str, inner: int) -> None:
    """One MLP: up (twice where it is gated) and down."""
    bias = shape.mlp_bias.of(fields)
    ledger.linear(part, inner, hidden(fields), bias=bias, times=2 if shape.mlp == "gated" else 1)
    ledger.linear(part, hidden(fields), inner, bias=bias)


def width(fields: Fields, shape: Shape) -> int:
    """The inner width of the MLP, by its field or as a multiple of the residual's."""
    if shape.inner is not None:
        return shape.inner(fields)
    inner = fields.whole(*shape.width, least=0)
    if inner is not None:
        return inner
    if shape.width_times:
        return shape.width_times * hidden(fields)
    raise BadConfig(f"{' or '.join(shape.width)} is missing: the MLP's weights depend on it")


def _shared_width(fields: Fields, experts: Experts, each: int) -> int:
    if experts.shared == "one":
        return each
    if experts.shared == "times":
        return (fields.whole(*SHARED, least=0) or 0) * (
            fields.whole("shared_experts_intermediate_size") or each
        )
    return (fields.whole(*SHARED_WIDTH, least=0) or 0) if experts.shared == "field" else 0


def is_sparse(fields: Fields) -> bool:
    """Whether this layer has experts, by whichever field says so; all layers where none does."""
    fired = first(SPARSE, fields)
    return True if fired is None else fired.value


def _listed(fields: Fields) -> bool | None:
    kinds = fields.one_a_layer("mlp_layer_types")
    if kinds is None or fields.layer is None:
        return None
    kind = kinds[fields.layer]
    if kind not in ("dense", "sparse", "moe", "hash_moe"):
        raise BadConfig(
            f"mlp_layer_types names a layer {str(kind)[:40]!r}: known are dense, sparse, moe, hash_moe"
        )
    return kind != "dense"


def _numbered(fields: Fields) -> bool | None:
    if fields.layer is None or fields.layers is None:
        return None
    sparse = fields.numbers("moe_layers", below=fields.layers)
    return None if sparse is None else fields.layer in sparse


def _frequency_list(fields: Fields) -> bool | None:
    if not isinstance(replace(fields, layer=None).raw("moe_layer_freq"), list):
        return None
    bits = fields.one_a_layer("moe_layer_freq")
    return None if bits is None or fields.layer is None else bool(bits[fields.layer])


def _after_dense(fields: Fields) -> bool | None:
    n = fields.whole(
        "first_k_dense_replace", "num_dense_layers", "moe_layer_num_skipped", least=0, most=MOST_LAYERS
    )
    if n is None or fields.layer is None:
        return None
    every = fields.whole("moe_layer_freq") or 1
    return fields.layer >= n and fields.layer % every == 0


def _step(fields: Fields) -> bool | None:
    step = fields.whole("decoder_sparse_step", least=0)
    if step is None or fields.layer is None:
        return None
    apart = fields.numbers("mlp_only_layers", below=MOST_LAYERS) or []
    return step > 0 and fields.layer not in apart and (fields.layer + 1) % step == 0


def _interval(fields: Fields) -> bool | None:
    interval = fields.whole("moe_layer_interval")
    if interval is None or fields.layer is None or fields.layers is None:
        return None
    start = fields.whole("moe_layer_start_index", least=0) or 0
    end = fields.whole("moe_layer_end_index", least=-1)
    last = fields.layers - 1 if end is None or end < 0 else end
    return start <= fields.layer <= last and (fields.layer + 1) % interval == 0


def _period(fields: Fields) -> bool | None:
    period = fields.whole("expert_layer_period")
    if period is None or fields.layer is None:
        return None
    return fields.layer % period == (fields.whole("expert_layer_offset", least=0) or 0)


def _interleaved(fields: Fields) -> bool | None:
    step = fields.whole("interleave_moe_layer_step", least=0)
    if step is None or fields.layer is None:
        return None
    return step > 0 and (fields.layer + 1) % step == 0


SPARSE: tuple[Rule[bool], ...] = (
    Rule("experts: mlp_layer_types", _HF, _listed),
    Rule("experts: moe_layers", f"{_HF} (Llama 4)", _numbered),
    Rule("experts: moe_layer_freq, one a layer", "MiMo-V2-Flash, config.json", _frequency_list),
    Rule("experts: after the first dense layers", f"{_HF} (DeepSeek-V3, AFMoE)", _after_dense),
    Rule("experts: decoder_sparse_step", f"{_HF} (Qwen2-MoE)", _step),
    Rule("experts: moe_layer_interval", f"{_HF} (ERNIE 4.5)", _interval),
    Rule("experts: expert_layer_period", f"{_HF} (Jamba)", _period),
    Rule("experts: interleave_moe_layer_step", f"{_HF} (Llama 4)", _interleaved),
)  # fmt: skip
