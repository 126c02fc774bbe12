"""Decoders whose layers differ in width, by lists that their files give: OpenELM, Nemotron-NAS, Hunyuan."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields, short
from memlessons.plan.huggingface.weights.attention import dense as attention
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.decoder import embeddings
from memlessons.plan.huggingface.weights.layers import layers_of
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import dense as plain_mlp
from memlessons.plan.huggingface.weights.mlp import mlp
from memlessons.plan.huggingface.weights.shape import Experts, Flag, Shape

_WHY = "the weights of a layer depend on it"


def openelm(fields: Fields, ledger: Ledger) -> None:
    """OpenELM (arXiv:2404.14619): heads and MLPs that grow with depth, widths by a factor a layer."""
    qk_norm = Flag("normalize_qk_projections", True)
    shape = Shape(qk_norm="head", qk_norm_if=qk_norm)
    tied = Flag("share_input_output_layers", True).of(fields)
    embeddings(fields, replace(shape, tied=tied), ledger)
    wide, divisor = hidden(fields), fields.need("ffn_dim_divisor", why=_WHY)
    if not Flag("ffn_with_glu", True).of(fields):
        raise UnknownArchitecture("ffn_with_glu is false: no rule counts OpenELM's plain MLP")
    for _, at in layers_of(fields):
        attention(at, shape, ledger)
        factor = at.fraction("ffn_multipliers")
        if factor is None:
            raise BadConfig(f"ffn_multipliers is missing: {_WHY}")
        plain_mlp(at, shape, ledger, "mlp", _divisible(factor * wide, divisor))
        ledger.vector("norms", wide, times=2)
    ledger.vector("norms", wide)


def _divisible(width: float, divisor: int) -> int:
    """The nearest multiple, which may not be smaller by more than a tenth."""
    near = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * width else near


def nemotron_nas(fields: Fields, ledger: Ledger) -> None:
    """Nemotron-NAS (arXiv:2411.19146): a search dropped blocks, replaced them, or made them narrower."""
    shape = Shape(qkv_bias=Flag("attention_bias"), out_bias=Flag("attention_bias"), mlp_bias=Flag("mlp_bias"))
    embeddings(fields, shape, ledger)
    wide, blocks = hidden(fields), fields.items("block_configs") or []
    for i, (_, at) in enumerate(layers_of(fields)):
        if i >= len(blocks):
            raise BadConfig(f"block_configs has {len(blocks)} entries: layer {i} has none")
        mixer, feed = _block(blocks[i], "attention", i), _block(blocks[i], "ffn", i)
        if mixer.flag("replace_with_linear"):
            ledger.linear("attention", wide, wide)
        elif not mixer.flag("no_op"):
            attention(at, shape, ledger)
        if feed.flag("replace_with_linear"):
            ledger.linear("mlp", wide, wide)
        elif not feed.flag("no_op"):
            factor = feed.fraction("ffn_mult")
            if factor is None:
                raise BadConfig(f"block_configs[{i}].ffn.ffn_mult is missing: {_WHY}")
            plain_mlp(at, shape, ledger, "mlp", 256 * -(-int(2 * factor * wide / 3) // 256))
        ledger.vector("norms", wide, times=2 - bool(mixer.flag("no_op")) - bool(feed.flag("no_op")))
    ledger.vector("norms", wide)


def _block(block: Any, name: str, layer: int) -> Fields:
    found = block.get(name) if isinstance(block, Mapping) else None
    if not isinstance(found, Mapping):
        raise BadConfig(f"block_configs[{layer}].{name}={short(found)}: must be an object")
    return Fields((found,))


def hunyuan(fields: Fields, ledger: Ledger) -> None:
    """Hunyuan-Large (arXiv:2411.02265): of so many layers one has keys and values, which the next read."""
    shape = Shape(
        qkv_bias=Flag("attention_bias"), out_bias=Flag("attention_bias"), mlp_bias=Flag("mlp_bias"),
        qk_norm="head", qk_norm_if=Flag("use_qk_norm"),
        experts=Experts(width=("moe_intermediate_size", "intermediate_size"), shared="times"),
    )  # fmt: skip
    embeddings(fields, shape, ledger)
    share = (fields.whole("cla_share_factor") or 1) if Flag("use_cla").of(fields) else 1
    if share > 1 and fields.flag("use_mixed_mlp_moe") is False:
        raise UnknownArchitecture(
            "use_mixed_mlp_moe is false: no rule counts Hunyuan without a shared expert"
        )
    for i, (_, at) in enumerate(layers_of(fields)):
        attention(at, shape, ledger, owns_keys=i % share == 0)
        mlp(at, shape, ledger)
        ledger.vector("norms", hidden(fields), times=2)
    ledger.vector("norms", hidden(fields))
