"""Decoders in which some layers keep a state instead of keys and values."""

from collections.abc import Mapping
from dataclasses import replace

from memlessons.plan.huggingface.weights.extras import half_mlp, lfm_width, sandwich
from memlessons.plan.huggingface.weights.shape import YES, Experts, Flag, Shape
from memlessons.plan.huggingface.weights.tables.dense import ATTENTION, LLAMA, QWEN3
from memlessons.plan.huggingface.weights.tables.experts import (
    GRANITE,
    OF_MLP,
    OWN_SHARED,
    ROUTED,
    WITH_SHARED,
)

_GATED_DELTA = replace(QWEN3, gate="double", state="gated delta")
_SHARED_GATE = Experts(shared="field", shared_gate=True)

HYBRID: Mapping[str, Shape] = {
    "qwen3_next": replace(_GATED_DELTA, experts=_SHARED_GATE),
    "qwen3_5_text": _GATED_DELTA,
    "qwen3_5_moe_text": replace(_GATED_DELTA, experts=_SHARED_GATE),
    "lara_mini": replace(QWEN3, tied=True, state="gated delta", experts=OWN_SHARED),
    "olmo_hybrid": replace(ATTENTION, qk_norm="full", state="gated delta"),
    "kimi_linear": replace(ATTENTION, state="delta", experts=WITH_SHARED),
    "bailing_hybrid": replace(ATTENTION, state="delta, wide", gate="heads", experts=WITH_SHARED),
    "bamba": replace(LLAMA, unsaid_kind="linear", state="mamba2"),
    "falcon_h1": replace(LLAMA, state="mamba2, parallel"),
    "granitemoehybrid": replace(GRANITE, state="mamba2"),
    "recurrent_gemma": Shape(tied=True, qkv_bias=Flag("attention_bias"), out_bias=YES, mlp_bias=YES,
                             inner=half_mlp, state="rg-lru"),
    "jamba": Shape(state="mamba, normed", experts=OF_MLP),
    "minimax": Shape(state="lightning", experts=OF_MLP),
    "minimax_text_01": Shape(state="lightning", experts=OF_MLP),
    "lfm2": Shape(tied=True, qk_norm="head", inner=lfm_width),
    "lfm2_moe": Shape(tied=True, qk_norm="head", experts=ROUTED, needs=("layer_types",)),
    "lfm3": replace(ATTENTION, tied=True, qk_norm="head", layer_extra=sandwich),
}  # fmt: skip
