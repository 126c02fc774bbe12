"""Decoders with RMS norms and one MLP a layer: Llama and what followed it."""

from collections.abc import Mapping
from dataclasses import replace

from memlessons.plan.huggingface.weights.extras import (
    activation_numbers,
    cross_gates,
    differential,
    doge,
    four_norms,
    sub_norms,
)  # fmt: skip
from memlessons.plan.huggingface.weights.shape import NO, YES, Flag, Shape

_BIAS = Flag("attention_bias")
_MLP_BIAS = Flag("mlp_bias")
_USE_BIAS = Flag("use_bias")

BARE = Shape()
ATTENTION = Shape(qkv_bias=_BIAS, out_bias=_BIAS)
LLAMA = replace(ATTENTION, mlp_bias=_MLP_BIAS)
QWEN2 = Shape(qkv_bias=YES)
QWEN3 = replace(ATTENTION, qk_norm="head")
GLM = Shape(qkv_bias=Flag("attention_bias", True))
GEMMA = replace(ATTENTION, tied=True)
GEMMA2 = replace(GEMMA, norms=4)
GEMMA3 = replace(GEMMA2, qk_norm="head")
COHERE = replace(ATTENTION, tied=True, norms=1, qk_norm="full", qk_norm_if=Flag("use_qk_norm"))
OLMO2 = replace(ATTENTION, qk_norm="full")

DENSE: Mapping[str, Shape] = {
    "llama": LLAMA, "mistral": BARE, "ministral": BARE, "ministral3": BARE,
    "baichuan": BARE, "internlm2": Shape(qkv_bias=Flag("bias"), out_bias=Flag("bias")),
    "internlm": Shape(qkv_bias=Flag("bias", True), out_bias=Flag("bias", True)),
    "minicpm": replace(ATTENTION, tied=True),
    "exaone": LLAMA, "iquestcoder": LLAMA, "internlm3": LLAMA, "emu3_text_model": LLAMA,
    "helium": replace(LLAMA, out_bias=NO),
    "granite": LLAMA, "granite_docling_text": replace(LLAMA, tied=True), "granite4_vision_text": LLAMA,
    "cwm": replace(BARE, mlp_bias=_MLP_BIAS), "cosmos3_edge_text": replace(LLAMA, mlp="plain"),
    "smollm3": replace(LLAMA, tied=True),
    "ernie4_5": Shape(tied=True, qkv_bias=_USE_BIAS, out_bias=_USE_BIAS, mlp_bias=_USE_BIAS),
    "paddleocr_vl_text": Shape(tied=True, qkv_bias=_USE_BIAS, out_bias=_USE_BIAS, mlp_bias=_USE_BIAS),
    "arcee": replace(LLAMA, mlp="plain"),
    "apertus": replace(ATTENTION, mlp="plain", qk_norm="head", layer_extra=activation_numbers),
    "apertus1p5_text": replace(ATTENTION, mlp="plain", qk_norm="head", layer_extra=activation_numbers),
    "bitnet": replace(ATTENTION, layer_extra=sub_norms),
    "diffllama": replace(ATTENTION, layer_extra=differential),
    "doge": replace(LLAMA, qk_norm="head", layer_extra=doge),
    "granite_swa": replace(LLAMA, tied=True, sinks="all"),
    "hyperclovax": replace(LLAMA, layer_extra=four_norms),
    "nanochat": replace(ATTENTION, mlp="plain", norm=0),
    "phi3": BARE, "phi4_multimodal": BARE,
    "qwen2": QWEN2, "qwen2_vl": QWEN2, "qwen2_vl_text": QWEN2, "qwen2_5_vl": QWEN2, "qwen2_5_vl_text": QWEN2,
    "qwen2_5_omni_text": QWEN2, "got_ocr2": replace(QWEN2, tied=True),
    "seed_oss": Shape(qkv_bias=Flag("attention_bias", True), out_bias=Flag("attention_out_bias"),
                      mlp_bias=_MLP_BIAS),
    "qwen3": QWEN3, "qwen3_vl_text": replace(QWEN3, tied=True),
    "glm": GLM, "glm4": replace(GLM, norms=4), "glm4v_text": replace(GLM, norms=4),
    "glm_ocr_text": Shape(norms=4),
    "muse_glimmer_text": replace(ATTENTION, norms=4, gate="width"),
    "gemma": GEMMA, "gemma2": GEMMA2, "gemma3_text": GEMMA3, "vaultgemma": GEMMA,
    "cohere": COHERE, "cohere2": replace(COHERE, qk_norm=""),
    "olmo": replace(ATTENTION, norm=0), "olmo2": OLMO2, "olmo3": OLMO2,
    "exaone4": Shape(qk_norm="head"),
    "hunyuan_v1_dense": replace(ATTENTION, qk_norm="head"),
    "mllama_text_model": Shape(extra_rows=8, layer_extra=cross_gates),
}  # fmt: skip
