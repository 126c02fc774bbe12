"""What no rule knows is refused, and the refusal says what the file is or which field nobody reads."""

from typing import Any

import pytest

from memlessons.plan.huggingface import BadConfig, UnknownArchitecture, from_huggingface

_HEADS: dict[str, Any] = {
    "num_hidden_layers": 4, "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2,
}  # fmt: skip
_MAMBA = {"mamba_d_conv": 4, "mamba_d_state": 16, "mamba_expand": 2}

UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "phi4flash": (
        _HEADS | _MAMBA | {"model_type": "phi4flash", "mb_per_layer": 2, "sliding_window": 512},
        "mamba_d_conv",
    ),
    "phi4flash, a list of windows": (
        _HEADS | _MAMBA | {"model_type": "phi4flash", "sliding_window": [None, 512, None, 512]},
        "mamba_|sliding",
    ),
    "hymba": (
        _HEADS
        | {"model_type": "hymba", "mamba_d_state": 16, "global_attn_idx": [0, 3], "kv_reuse_group": [[1, 2]],
           "layer_type": ["h", "h", "h", "h"]},
        "mamba_d_state",
    ),
    "a state by another prefix": (_HEADS | {"ssm_state": {"size": 16}}, "ssm_state"),
    "a state in a list": (_HEADS | {"mamba_layers": [1, 3]}, "mamba_layers"),
    "a state under windows": (
        _HEADS | {"sliding_window": 64, "linear_num_value_heads": 4}, "linear_num_value_heads",
    ),
    "RWKV with attention": (
        {"model_type": "rwkv7", "hidden_size": 256, "num_hidden_layers": 2, "head_dim": 64,
         "attn": {"layers": [1]}},
        "attn puts attention",
    ),
    "RWKV without heads": (
        {"model_type": "rwkv6", "hidden_size": 256, "num_hidden_layers": 2}, "head_size or head_dim",
    ),
    "RWKV, uneven": (
        {"model_type": "rwkv6", "hidden_size": 250, "num_hidden_layers": 2, "head_size": 64}, "no multiple",
    ),
    "Mamba's package with attention": (
        {"d_model": 256, "n_layer": 4, "ssm_cfg": {}, "attn_layer_idx": [1], "attn_cfg": {"num_heads": 4}},
        "attn_layer_idx",
    ),
    "Mamba's package, another layer": (
        {"d_model": 256, "n_layer": 4, "ssm_cfg": {"layer": "Mamba9"}}, "ssm_cfg.layer='Mamba9'",
    ),
    "a state without heads": (
        {"model_type": "novel", "num_hidden_layers": 4, "hidden_size": 64}, "has a state",
    ),
    "a LoRA adapter": (
        {"peft_type": "LORA", "base_model_name_or_path": "some/model", "r": 8},
        "adapter to another model.*some/model",
    ),
    "EmbeddingGemma": (
        _HEADS | {"model_type": "gemma3_text", "use_bidirectional_attention": True, "sliding_window": 512},
        "EmbeddingGemma",
    ),
    "CLIP": (
        {"model_type": "clip", "text_config": {"model_type": "clip_text_model"}, "vision_config": {}},
        "pictures",
    ),
    "ViT": (_HEADS | {"model_type": "vit"}, "pictures"),
    "DINOv2": (_HEADS | {"model_type": "dinov2"}, "pictures"),
    "wav2vec 2": (_HEADS | {"model_type": "wav2vec2", "conv_dim": [512, 512]}, "sounds"),
    "more kinds than a draft head has": (
        _HEADS | {"layer_types": ["full_attention"] * 6, "num_nextn_predict_layers": 1}, "names 6 layers",
    ),
    "more kinds and no draft head": (_HEADS | {"layer_types": ["full_attention"] * 5}, "names 5 layers"),
    "more ratios than a draft head has": (
        _HEADS | {"compress_ratios": [4] * 6, "num_nextn_predict_layers": 1}, "names 6 layers",
    ),
    "a window of -2": (_HEADS | {"sliding_window": -2}, "sliding_window=-2"),
    "a window of -1 in words": (_HEADS | {"sliding_window": "-1"}, "sliding_window"),
    "values of width 0": (_HEADS | {"v_head_dim": 0}, "v_head_dim=0"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_refusal_says_what_the_file_is_or_which_field_nobody_reads(name: str) -> None:
    config, message = UNKNOWN[name]
    with pytest.raises(UnknownArchitecture, match=message) as caught:
        from_huggingface(config)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "idle",
    [
        {"layer_types": ["full_attention"] * 4, **_MAMBA},
        {"full_attention_interval": 1, "linear_num_value_heads": 8},
        {"mamba_conv_bias": True, "mamba_d_state": None, "ssm_cfg_path": "none", "mamba_expand": 0},
        {"mamba_layers": [], "ssm_parts": {}},
        {"vision_config": {"conv_kernel": 4}},
    ],
    ids=["named by list", "by period", "switched off", "empty", "of eyes"],
)
def test_fields_of_a_state_that_no_layer_has_are_idle(idle: dict[str, Any]) -> None:
    assert from_huggingface(_HEADS | idle).bytes(10) == from_huggingface(_HEADS).bytes(10)


def test_an_outer_model_with_a_bidirectional_prefix_still_writes() -> None:
    text = _HEADS | {"model_type": "gemma", "head_dim": 32, "use_bidirectional_attention": True}
    assert from_huggingface({"model_type": "paligemma", "text_config": text}).bytes(1) == 4 * 2 * 2 * 32 * 2


@pytest.mark.parametrize(("kind", "tokens"), [("sliding_attention", 64), ("full_attention", 1000)])
def test_draft_layers_are_of_the_kinds_that_the_list_names_after_the_models(kind: str, tokens: int) -> None:
    config = _HEADS | {
        "sliding_window": 64, "num_nextn_predict_layers": 2,
        "layer_types": ["full_attention", "sliding_attention"] * 2 + [kind] * 2,
    }  # fmt: skip
    with_draft, without = from_huggingface(config, draft=True), from_huggingface(config)
    assert [layer.draft for layer in with_draft.layers] == [False] * 4 + [True] * 2
    assert with_draft.bytes(1000) - without.bytes(1000) == 2 * tokens * (2 * 2 * 32 * 2)


def test_widths_that_heads_do_not_share_are_refused_by_their_field() -> None:
    config = _HEADS | {"attention_hidden_size": 510, "attn_layer_period": 6, **_MAMBA}
    with pytest.raises(BadConfig, match="attention_hidden_size=510"):
        from_huggingface(config)
