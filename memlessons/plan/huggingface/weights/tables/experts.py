"""Decoders with a mixture of experts, and those whose attention goes through a latent."""

from collections.abc import Mapping
from dataclasses import replace

from memlessons.plan.huggingface.weights.extras import (
    gate_bias,
    gate_by_name,
    norm_after_experts,
    rope_norm,
    stream_head,
    two_streams,
)  # fmt: skip
from memlessons.plan.huggingface.weights.shape import Experts, Flag, Shape
from memlessons.plan.huggingface.weights.tables.dense import ATTENTION, BARE, LLAMA, QWEN3

_BIAS = Flag("attention_bias")
_USE_BIAS = Flag("use_bias")
ROUTED = Experts()
OF_MLP = Experts(width=("intermediate_size",))
WITH_SHARED = Experts(shared="times")
OWN_SHARED = Experts(shared="field")

LATENT = replace(LLAMA, experts=WITH_SHARED)
GRANITE = replace(ATTENTION, experts=Experts(width=("intermediate_size",), shared="field"))
HY_V4 = replace(
    LATENT, gate="width", sinks="all", layer_extra=two_streams, model_extra=stream_head,
    needs=("mlp_layer_types", "indexer_types"),
)  # fmt: skip

EXPERTS: Mapping[str, Shape] = {
    "mixtral": Shape(experts=OF_MLP),
    "qwen2_moe": Shape(qkv_bias=Flag("qkv_bias", True), experts=Experts(shared="field", shared_gate=True)),
    "qwen3_moe": replace(QWEN3, experts=ROUTED),
    "qwen3_vl_moe_text": replace(QWEN3, experts=ROUTED, tied=True),
    "qwen3_omni_moe_text": replace(QWEN3, experts=ROUTED),
    "olmoe": replace(ATTENTION, qk_norm="full", experts=OF_MLP),
    "flex_olmo": replace(ATTENTION, qk_norm="full", experts=OF_MLP),
    "phimoe": replace(ATTENTION, norm=2, head_bias=Flag("lm_head_bias"), experts=OF_MLP),
    "granitemoe": replace(ATTENTION, experts=OF_MLP),
    "granitemoeshared": GRANITE, "granitemoe_swa": replace(GRANITE, sinks="all"),
    "gpt_oss": Shape(qkv_bias=Flag("attention_bias", True), out_bias=Flag("attention_bias", True),
                     sinks="all", experts=Experts(width=("intermediate_size",), bias=True, router_vectors=1)),
    "minimax_m2": Shape(qk_norm="full", experts=OF_MLP),
    "minimax_m3_vl_text": Shape(qk_norm="head", experts=Experts(width=("intermediate_size",), shared="field"),
                                width=("dense_intermediate_size",)),
    "mellum": replace(QWEN3, experts=ROUTED),
    "afmoe": replace(ATTENTION, norms=4, qk_norm="head", gate="width",
                     experts=Experts(shared="times", router_vectors=1)),
    "aria_text": replace(LLAMA, experts=Experts(width=("intermediate_size",), shared="times")),
    "cohere2_moe": replace(ATTENTION, tied=True, norms=1,
                           experts=Experts(width=("intermediate_size",), shared="times")),
    "deepseek": replace(ATTENTION, experts=WITH_SHARED),
    "dots1": replace(QWEN3, experts=WITH_SHARED),
    "ernie4_5_moe": Shape(tied=True, qkv_bias=_USE_BIAS, out_bias=_USE_BIAS, mlp_bias=_USE_BIAS,
                          head_bias=_USE_BIAS, experts=Experts(shared="times", router_vectors=1)),
    "exaone_moe": Shape(qk_norm="head", experts=WITH_SHARED),
    "flint": replace(QWEN3, sinks="all", experts=OWN_SHARED),
    "glm4_moe": Shape(qkv_bias=_BIAS, qk_norm="head", qk_norm_if=Flag("use_qk_norm"), experts=WITH_SHARED),
    "sarvam_moe": Shape(qkv_bias=_BIAS, qk_norm="head", qk_norm_if=Flag("use_qk_norm", True),
                        experts=WITH_SHARED),
    "glm4v_moe_text": Shape(qkv_bias=Flag("attention_bias", True), experts=WITH_SHARED),
    "hy_v3": replace(LLAMA, qk_norm="head", experts=WITH_SHARED),
    "hunyuan_v1_moe": replace(ATTENTION, qk_norm="head",
                              experts=Experts(width=("intermediate_size",), shared="one")),
    "kolibri1": Shape(norms=4, qk_norm="head", experts=OWN_SHARED),
    "laguna": replace(QWEN3, layer_extra=gate_by_name, experts=Experts(shared="field", router_vectors=1)),
    "llama4_text": replace(ATTENTION, width=("intermediate_size_mlp",),
                           experts=Experts(width=("intermediate_size",), shared="one")),
    "mimo_v2_flash": replace(BARE, qkv_bias=_BIAS, sinks="sliding", experts=ROUTED),
    "bailing_moe": Shape(qkv_bias=Flag("use_qkv_bias"), out_bias=Flag("use_bias"), mlp_bias=Flag("use_bias"),
                         experts=WITH_SHARED),
    "bailing_moe_v2": Shape(qkv_bias=Flag("use_qkv_bias"), out_bias=Flag("use_bias"), qk_norm="head",
                            qk_norm_if=Flag("use_qk_norm", True), mlp_bias=Flag("use_bias"),
                            experts=WITH_SHARED),
    "solar_open": Shape(qkv_bias=_BIAS, experts=WITH_SHARED),
    "beam": replace(QWEN3, norms=4, gate="width", experts=ROUTED, layer_extra=gate_bias),
    # Latent attention.
    "deepseek_v2": LATENT, "deepseek_v3": LATENT, "kimi_k2": LATENT, "mistral_large_3": LATENT,
    "deepseek_v32": LATENT,
    "glm4_moe_lite": LATENT, "glm_moe_dsa": LATENT, "sarvam_mla": LATENT,
    "axk1": replace(LATENT, layer_extra=norm_after_experts),
    "minicpm3": replace(LLAMA, tied=True), "youtu": replace(LLAMA, tied=True),
    "hy_v4": HY_V4, "hy_v4_vl_text": HY_V4,
    "dots3_note_text": replace(LATENT, gate="heads", layer_extra=rope_norm,
                               needs=("mlp_layer_types", "per_layer_config")),
}  # fmt: skip
