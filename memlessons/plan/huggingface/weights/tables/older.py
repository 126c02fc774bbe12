"""Decoders of before Llama: layer norms with a shift, plain MLPs, biases, learned positions."""

from collections.abc import Mapping
from dataclasses import replace

from memlessons.plan.huggingface.weights.extras import (
    half_mlp,
    half_width,
    japanese_bias,
    japanese_width,
    second_norm,
)
from memlessons.plan.huggingface.weights.shape import NO, YES, Flag, Shape

_BIAS = Flag("attention_bias", True)
_USE_BIAS = Flag("use_bias", True)
_PLACES = ("n_positions", "max_position_embeddings")
_INNER = ("n_inner", "intermediate_size")

GPT2 = Shape(
    tied=True, positions=_PLACES, norm=2, qkv_bias=YES, out_bias=YES, mlp="plain", mlp_bias=YES, width=_INNER,
    width_times=4,
)  # fmt: skip
GPTJ = replace(GPT2, tied=False, positions=(), norms=1, qkv_bias=NO, out_bias=NO, head_bias=YES)
NEOX = replace(GPT2, tied=False, positions=(), qkv_bias=_BIAS, out_bias=_BIAS)

OLDER: Mapping[str, Shape] = {
    "gpt2": GPT2, "gpt-sw3": GPT2, "gpt_bigcode": GPT2,
    "gpt_neo": replace(GPT2, qkv_bias=NO),
    "gptj": GPTJ, "codegen": GPTJ,
    "gpt_neox": NEOX,
    "openai-gpt": replace(GPT2, final_norm=False),
    "bloom": replace(GPT2, positions=(), embedding_norm=2, width=("n_inner",)),
    "mpt": replace(GPT2, positions=(), norm=1, qkv_bias=NO, out_bias=NO, mlp_bias=NO),
    "biogpt": replace(GPT2, position_offset=2),
    "xglm": replace(GPT2, positions=(), width=("ffn_dim",)),
    "ctrl": replace(GPT2, positions=(), head_bias=YES, width=("dff",)),
    "phi": replace(GPT2, tied=False, positions=(), norms=1, head_bias=YES, qk_norm="head", qk_norm_numbers=2,
                   qk_norm_if=Flag("qk_layernorm")),
    "persimmon": replace(GPT2, tied=False, positions=(), qk_norm="head", qk_norm_numbers=2,
                         qk_norm_if=Flag("qk_layernorm", True)),
    "starcoder2": replace(GPT2, positions=(), qkv_bias=_USE_BIAS, out_bias=_USE_BIAS, mlp_bias=_USE_BIAS),
    "jais2": replace(GPT2, tied=False, positions=(), qkv_bias=_BIAS, out_bias=_BIAS,
                     mlp_bias=Flag("mlp_bias", True)),
    "nemotron": replace(GPT2, tied=False, positions=(), qkv_bias=Flag("attention_bias"),
                        out_bias=Flag("attention_bias"), mlp_bias=Flag("mlp_bias")),
    "gpt_neox_japanese": replace(GPT2, positions=(), qkv_bias=NO, out_bias=NO, mlp_bias=NO,
                                 inner=japanese_width, model_extra=japanese_bias),
    "moshi": Shape(extra_rows=1, inner=half_width),
    "qwen": Shape(qkv_bias=YES, inner=half_mlp),
    "stablelm": Shape(norm=2, norms=1, layer_extra=second_norm, qkv_bias=Flag("use_qkv_bias"), qk_norm="full",
                      qk_norm_if=Flag("qk_layernorm")),
}  # fmt: skip
