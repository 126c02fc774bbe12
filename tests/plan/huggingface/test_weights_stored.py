"""Bytes of quantised weights against arrays that are really laid out, and what is refused."""

from typing import Any

import numpy as np
import pytest

from memlessons.plan.huggingface import BadConfig
from memlessons.plan.huggingface.errors import UnknownQuantisation
from memlessons.plan.huggingface.weights import weights_of

SMALL: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 416, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "tie_word_embeddings": False,
}  # fmt: skip
# Outputs and inputs of the linear layers of one layer, and what is never quantised.
MATRICES = [(256, 256), (128, 256), (128, 256), (256, 256), (416, 256), (416, 256), (256, 416)]
KEPT = 100 * 256 + 100 * 256 + 5 * 256
EXPERTS: dict[str, Any] = {**SMALL, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}


def stored(config: dict[str, Any], **quantisation: Any) -> int:
    found = weights_of({**config, "quantization_config": quantisation} if quantisation else config)
    assert found is not None
    return found.stored_bytes


def laid_out(*parts: tuple[tuple[int, ...], str]) -> int:
    return sum(np.zeros(shape, dtype=kind).nbytes for shape, kind in parts)


def up(numerator: int, denominator: int) -> int:
    return int(np.ceil(numerator / denominator))


def fp8(out: int, into: int) -> int:
    return laid_out(((out, into), "u1"), ((up(out, 128), up(into, 128)), "f4"))


def gptq(out: int, into: int, bits: int = 4, group: int = 96) -> int:
    groups = up(into, group)
    return laid_out(
        ((into * bits // 32, out), "i4"),
        ((groups, out * bits // 32), "i4"),
        ((groups, out), "f2"),
        ((into,), "i4"),
    )


def awq(out: int, into: int) -> int:
    groups = up(into, 64)
    return laid_out(((into, out // 8), "i4"), ((groups, out // 8), "i4"), ((groups, out), "f2"))


def nf4(out: int, into: int) -> int:
    return laid_out(((out * into // 2,), "u1"), ((up(out * into, 64),), "f4"), ((16,), "f4"))


def nf4_twice(out: int, into: int) -> int:
    scales = up(out * into, 64)
    return laid_out(
        ((out * into // 2,), "u1"),
        ((scales,), "u1"),
        ((up(scales, 256),), "f4"),
        ((16,), "f4"),
        ((256,), "f4"),
    )


def int8(out: int, into: int) -> int:
    return laid_out(((out, into), "i1"), ((out,), "f4"))


def w4a16(out: int, into: int) -> int:
    return laid_out(((out, into // 8), "i4"), ((out, up(into, 128)), "f2"), ((2,), "i8"))


def fp8_rows(out: int, into: int) -> int:
    return laid_out(((out, into), "u1"), ((out, 1), "f2"))


def compressed(**weights: Any) -> dict[str, Any]:
    return {
        "quant_method": "compressed-tensors", "ignore": ["lm_head"],
        "format": "pack-quantized" if weights["num_bits"] == 4 else "float-quantized",
        "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"symmetric": True, **weights}}},
    }  # fmt: skip


METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "fp8": (fp8, {"quant_method": "fp8", "weight_block_size": [128, 128],
                  "modules_to_not_convert": ["lm_head", "model.layers.0.mlp.gate",
                      "model.layers.1.input_layernorm"]}),
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 96, "desc_act": True}),
    "gptq, 8 bits, a row": (lambda o, i: gptq(o, i, 8, i), {"quant_method": "gptq", "bits": 8,
        "group_size": -1}),
    "awq": (awq, {"quant_method": "awq", "bits": 4, "group_size": 64, "modules_to_not_convert": ["visual"]}),
    "nf4": (nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False}),
    "nf4, twice": (nf4_twice, {"load_in_4bit": True, "bnb_4bit_use_double_quant": True}),
    "int8": (int8, {"quant_method": "bitsandbytes", "load_in_8bit": True,
        "llm_int8_skip_modules": ["lm_head"]}),
    "w4a16": (w4a16, compressed(num_bits=4, strategy="group", group_size=128)),
    "fp8, rows": (fp8_rows, compressed(num_bits=8, strategy="channel", type="float")),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_bytes_are_those_of_arrays_laid_out(name: str) -> None:
    size, quantisation = METHODS[name]
    expected = 2 * sum(size(*matrix) for matrix in MATRICES) + 2 * KEPT
    assert stored(SMALL, **quantisation) == expected


def test_mxfp4_covers_the_experts_alone() -> None:
    experts = 2 * 4 * (2 * 416 * 256 + 256 * 416)
    codes = laid_out(((experts // 2,), "u1"), ((experts // 32,), "u1"))
    attention = 2 * sum(out * into for out, into in MATRICES[:4])
    expected = codes + 2 * (attention + 2 * 4 * 256 + KEPT)
    assert (
        stored(EXPERTS, quant_method="mxfp4", modules_to_not_convert=["model.layers.*.self_attn"]) == expected
    )


def test_attention_that_is_left_out_keeps_its_format() -> None:
    whole = stored(SMALL, quant_method="fp8", weight_block_size=[128, 128])
    without = stored(
        SMALL, quant_method="fp8", weight_block_size=[128, 128], ignored_layers=["re:.*self_attn.*"]
    )
    saved = 2 * sum(2 * out * into - fp8(out, into) for out, into in MATRICES[:4])
    assert without - whole == saved


KIMI_K2: dict[str, Any] = {
    "model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64, "n_routed_experts": 384,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 163840, "tie_word_embeddings": False,
}  # fmt: skip


def test_bytes_of_experts_in_four_bits_and_all_else_in_sixteen_are_those_of_kimi_k2_thinking() -> None:
    weights = {"num_bits": 4, "strategy": "group", "group_size": 32, "symmetric": True, "type": "int"}
    found = stored(
        KIMI_K2,
        quant_method="compressed-tensors",
        format="pack-quantized",
        config_groups={"group_0": {"targets": ["Linear"], "weights": weights}},
        ignore=[
            "lm_head", "re:.*self_attn.*", "re:.*shared_experts.*",
            "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
        ],
    )  # fmt: skip
    assert found == pytest.approx(594e9, rel=0.002)  # The files of the published model have 594 GB.


def test_small_projections_of_state_layers_may_be_left_out_layer_by_layer() -> None:
    config = {
        **SMALL, "model_type": "qwen3_5_text", "head_dim": 64, "linear_num_value_heads": 4,
        "linear_num_key_heads": 2, "linear_key_head_dim": 32, "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4, "layer_types": ["linear_attention", "full_attention"],
    }  # fmt: skip
    whole = stored(config, quant_method="fp8")
    names = ["model.layers.0.linear_attn.in_proj_a", "model.layers.0.linear_attn.in_proj_b"]
    without = stored(config, quant_method="fp8", modules_to_not_convert=names)
    assert without - whole == 2 * 4 * 256 - 4  # A byte more for each number, and no scale.


@pytest.mark.parametrize(
    ("name", "bits"),
    [("float32", 32), ("bfloat16", 16), ("float16", 16), ("torch.float16", 16), (None, 16), ("auto", 16)],
)
def test_bytes_follow_the_format_of_the_configuration(name: str | None, bits: int) -> None:
    parameters = 2 * sum(out * into for out, into in MATRICES) + KEPT
    assert stored({**SMALL, "torch_dtype": name}) == parameters * bits // 8
    assert stored({**SMALL, "dtype": name}) == parameters * bits // 8


REFUSED: dict[str, dict[str, Any]] = {
    "a method nobody knows": {"quant_method": "aqlm"},
    "no method": {"bits": 4},
    "modules without a rule": {"quant_method": "fp8",
    "modules_to_not_convert": ["model.layers.1.mlp.down_proj"]},
    "layers by a set of digits": {"quant_method": "fp8",
    "modules_to_not_convert": ["re:model.layers.[0-1].self_attn"]},
    "mxfp4 without experts": {"quant_method": "mxfp4"},
    "gptq of the head": {"quant_method": "gptq", "bits": 4, "group_size": 128, "lm_head": True},
    "compressed, no groups": {"quant_method": "compressed-tensors"},
    "compressed, zero points": {"quant_method": "compressed-tensors", "config_groups": {
        "a": {"targets": ["Linear"], "weights": {"num_bits": 4, "symmetric": False}}}},
    "compressed, a strategy": {"quant_method": "compressed-tensors", "config_groups": {
        "a": {"targets": ["Linear"], "weights": {"num_bits": 4, "strategy": "odd"}}}},
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_quantisation_without_a_rule_is_refused_and_says_what_to_give(name: str) -> None:
    with pytest.raises(UnknownQuantisation, match="give the bytes of the weights"):
        stored(SMALL, **REFUSED[name])


@pytest.mark.parametrize("method", ["gptq", "bitsandbytes"])
def test_methods_whose_files_differ_for_experts_are_refused_for_them(method: str) -> None:
    with pytest.raises(UnknownQuantisation, match="experts"):
        stored(EXPERTS, quant_method=method, bits=4, load_in_4bit=True)


def test_given_bytes_need_no_rule() -> None:
    found = weights_of({**SMALL, "quantization_config": {"quant_method": "aqlm"}}, stored_bytes=12345)
    assert found is not None
    assert found.stored_bytes == 12345


def test_an_unknown_type_that_is_quantised_is_refused_without_its_bytes() -> None:
    config = {"model_type": "new", "quantization_config": {"quant_method": "fp8"}}
    with pytest.raises(UnknownQuantisation, match="new"):
        weights_of(config, parameters=1000)
    found = weights_of(config, parameters=1000, stored_bytes=1100)
    assert found is not None and found.stored_bytes == 1100


def test_an_unknown_number_format_is_refused() -> None:
    with pytest.raises(UnknownQuantisation, match="float6"):
        stored({**SMALL, "torch_dtype": "float6"})


@pytest.mark.parametrize(
    "quantisation",
    [
        {"quant_method": 7},
        {"quant_method": "gptq", "bits": 10**30, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "group_size": "x"},
        {"quant_method": "fp8", "weight_block_size": [128]},
        {"quant_method": "fp8", "weight_block_size": [0, 128]},
        {"quant_method": "fp8", "weight_block_size": ["a", "b"]},
        {"quant_method": "fp8", "modules_to_not_convert": "lm_head"},
        {"quant_method": "fp8", "modules_to_not_convert": [["x"]]},
        {"quant_method": "fp8", "modules_to_not_convert": ["x" * 10_000]},
        {"quant_method": "compressed-tensors", "config_groups": {"a": 5}},
        {"quant_method": "compressed-tensors", "config_groups": [1]},
        {"quant_method": "bitsandbytes", "load_in_4bit": "yes"},
    ],
)
def test_hostile_quantisations_are_named_errors(quantisation: dict[str, Any]) -> None:
    with pytest.raises(BadConfig) as error:
        stored(SMALL, **quantisation)
    assert len(str(error.value)) < 400


def test_a_quantisation_that_is_no_object_is_refused() -> None:
    with pytest.raises(BadConfig, match="quantization_config"):
        weights_of({**SMALL, "quantization_config": "fp8"})
