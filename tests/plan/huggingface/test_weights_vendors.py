"""Bytes of the formats of single makers' tools, against arrays laid out; lists that name single layers."""

from typing import Any

import pytest

from memlessons.plan.huggingface.errors import UnknownQuantisation
from memlessons.plan.huggingface.weights import parts_of, weights_of

from .test_weights_stored import EXPERTS, KEPT, MATRICES, SMALL, awq, fp8, laid_out, nf4, stored, up


def mlx(out: int, into: int, bits: int = 4, group: int = 32) -> int:
    groups = (out, into // group)
    return laid_out(((out, into * bits // 32), "u4"), (groups, "f2"), (groups, "f2"))


def fp8_scales(out: int, into: int) -> int:
    return laid_out(((out, into), "u1"), ((1,), "f4"), ((1,), "f4"))


def fp8_rows(out: int, into: int) -> int:
    return laid_out(((out, into), "u1"), ((out, 1), "f4"))


def nvfp4(out: int, into: int) -> int:
    return laid_out(((out, into // 2), "u1"), ((out, into // 16), "u1"), ((1,), "f4"), ((1,), "f4"))


def mxfp4(out: int, into: int) -> int:
    return laid_out(((out, into // 2), "u1"), ((out, into // 32), "u1"))


def hqq(out: int, into: int) -> int:
    groups = up(out * into, 64)
    return laid_out(((out * into // 2,), "u1"), ((groups,), "f2"), ((groups,), "f2"))


def auto(out: int, into: int) -> int:
    groups = up(into, 32)
    return laid_out(((into // 8, out), "i4"), ((groups, out // 8), "i4"), ((groups, out), "f2"))


def auto_awq(out: int, into: int) -> int:
    return awq(out, into)


VENDORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "modelopt, fp8": (fp8_scales, {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]}),
    "modelopt, unnamed": (fp8_scales, {
        "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}),
    "modelopt, nvfp4": (nvfp4, {"quant_method": "modelopt", "quant_algo": "NVFP4",
                                "exclude_modules": ["lm_head", "model.layers.2*", "vision_tower*"]}),
    "fbgemm": (fp8_rows, {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0}),
    "quark, fp8": (fp8_scales, {"quant_method": "quark", "exclude": ["lm_head"], "layer_quant_config": {},
        "global_quant_config": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}}}),
    "quark, mxfp4": (mxfp4, {"quant_method": "quark", "exclude": ["lm_head"],
        "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}}}),
    "hqq": (hqq, {"quant_method": "hqq", "skip_modules": ["lm_head"],
                  "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}),
    "auto-round": (auto, {"quant_method": "auto-round", "bits": 4, "group_size": 32, "sym": True,
                          "packing_format": "auto_round:auto_gptq"}),
    "auto-round like awq": (auto_awq, {"quant_method": "auto-round", "bits": 4, "group_size": 64,
                                       "packing_format": "auto_round:auto_awq"}),
}  # fmt: skip


@pytest.mark.parametrize("name", VENDORS)
def test_bytes_are_those_of_arrays_laid_out(name: str) -> None:
    size, quantisation = VENDORS[name]
    assert stored(SMALL, **quantisation) == 2 * sum(size(*matrix) for matrix in MATRICES) + 2 * KEPT


@pytest.mark.parametrize("key", ["quantization", "quantization_config"])
@pytest.mark.parametrize("bits", [4, 8])
def test_mlx_quantises_every_matrix_and_the_embedding(key: str, bits: int) -> None:
    found = weights_of({**SMALL, key: {"group_size": 32, "bits": bits}})
    every = 2 * sum(mlx(*matrix, bits=bits) for matrix in MATRICES) + 2 * mlx(100, 256, bits)
    assert found is not None and found.stored_bytes == every + 2 * 5 * 256
    assert found.lookup_bytes == mlx(100, 256, bits) and "MLX" in found.source


def test_mlx_of_both_names_counts_once_and_may_leave_modules_plain() -> None:
    settings = {"group_size": 32, "bits": 4}
    both = weights_of({**SMALL, "quantization": settings, "quantization_config": settings})
    assert both == weights_of({**SMALL, "quantization": settings})
    plain = weights_of({**SMALL, "quantization": {**settings, "lm_head": False}})
    assert both is not None and plain is not None
    assert plain.stored_bytes - both.stored_bytes == 2 * 100 * 256 - mlx(100, 256)


def test_mlx_may_give_routers_bits_of_their_own_and_nothing_else() -> None:
    settings = {"group_size": 32, "bits": 4}
    gates = {
        f"model.layers.{i}.block_sparse_moe.gate": {"group_size": 32, "bits": 8} for i in range(2)
    }  # fmt: skip
    low, high = (weights_of({**EXPERTS, "quantization": {**settings, **own}}) for own in ({}, gates))
    assert low is not None and high is not None
    assert high.stored_bytes - low.stored_bytes == 2 * (mlx(4, 256, 8) - mlx(4, 256, 4))
    with pytest.raises(UnknownQuantisation, match="8 bits in 'model.layers.0.mlp.down_proj' alone"):
        weights_of({**SMALL, "quantization": {**settings, "model.layers.0.mlp.down_proj": {"bits": 8}}})


BLOCKS = {"weight_block_size": [128, 128], "quant_method": "fp8"}
ATTENTION = sum(2 * out * into - fp8(out, into) for out, into in MATRICES[:4])
MLP = sum(2 * out * into - fp8(out, into) for out, into in MATRICES[4:])
LISTS: dict[str, tuple[list[str], int]] = {
    "one layer's attention": (["model.layers.1.self_attn"], ATTENTION),
    "one layer's attention, as a pattern": (["model.layers.1.self_attn*"], ATTENTION),
    "all layers' attention, one by one": ([f"model.layers.{i}.self_attn" for i in range(2)], 2 * ATTENTION),
    "its projections": ([f"model.layers.0.self_attn.{x}_proj" for x in "qkvo"], ATTENTION),
    "an MLP": (["model.layers.1.mlp"], MLP),
    "a whole layer": (["model.layers.1"], ATTENTION + MLP),
    "a whole layer, twice": (["model.layers.1", "model.layers.1.mlp"], ATTENTION + MLP),
    "layers that begin so": (["model.layers.1*"], ATTENTION + MLP),
    "a draft layer": (["model.layers.2.self_attn", "model.layers.2.eh_proj", "model.layers.10"], 0),
    "what never is": (["gate", "e_score_correction_bias", "lm_head", "model.norm"], 0),
    "what is not there": (["multi_modal_projector", "merger", "modality_projection", "visual.blocks.3"], 0),
}


@pytest.mark.parametrize("name", LISTS)
def test_modules_left_out_keep_their_format_in_the_layers_that_are_named(name: str) -> None:
    modules, more = LISTS[name]
    assert stored(SMALL, **BLOCKS, modules_to_not_convert=modules) - stored(SMALL, **BLOCKS) == more


def test_an_mlp_that_stays_plain_in_one_layer_is_counted_in_four_bits_too() -> None:
    lists = ["lm_head", "multi_modal_projector", "merger", "modality_projection", "model.layers.1.mlp"]
    found = stored(SMALL, quant_method="bitsandbytes", load_in_4bit=True, llm_int8_skip_modules=lists)
    plain = 2 * sum(out * into for out, into in MATRICES[4:])
    packed = 2 * sum(nf4(*m) for m in MATRICES[:4]) + sum(nf4(*m) for m in MATRICES[4:])
    assert found == packed + plain + 2 * KEPT


def test_experts_of_one_layer_are_a_share_of_all() -> None:
    whole = stored(EXPERTS, **BLOCKS)
    without = stored(EXPERTS, **BLOCKS, modules_to_not_convert=["model.layers.0.block_sparse_moe.experts"])
    parts = parts_of(EXPERTS)
    assert parts is not None
    codes = 4 * (2 * fp8(416, 256) + fp8(256, 416))
    assert without - whole == parts["experts"] - codes


REFUSED: dict[str, dict[str, Any]] = {
    "modelopt, mixed": {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"},
    "quark, layers": {"quant_method": "quark", "layer_quant_config": {"a": {}}, "global_quant_config": {}},
    "quark, odd": {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "int3"}}},
    "hqq, by layer": {"quant_method": "hqq", "quant_config": {"self_attn.q_proj": {}}},
    "auto-round, by layer": {"quant_method": "auto-round", "bits": 4, "extra_config": {"a": {"bits": 8}}},
    "mlx, mode": {"bits": 4, "group_size": 32, "mode": "odd"},
    "one projection": {**BLOCKS, "modules_to_not_convert": ["model.layers.0.self_attn.q_proj"]},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stays_unknown_says_why_and_what_to_give(name: str) -> None:
    with pytest.raises(UnknownQuantisation, match="give the bytes of the weights") as error:
        stored(SMALL, **REFUSED[name])
    assert len(str(error.value)) < 400


def test_layers_of_another_shape_are_not_counted_by_their_share() -> None:
    config = {**SMALL, "model_type": "nemotron-nas", "num_key_value_heads": None, "block_configs": [
        {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 1.0}},
        {"attention": {"n_heads_in_group": 1}, "ffn": {"ffn_mult": 3.0}},
    ]}  # fmt: skip
    with pytest.raises(UnknownQuantisation, match="layers differ"):
        stored(config, **BLOCKS, modules_to_not_convert=["model.layers.0.mlp"])
