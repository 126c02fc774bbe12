"""What no rule counts is not computed, and says why; the names under which older files have known designs."""

from typing import Any

import pytest

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.source import language_model
from memlessons.plan.huggingface.weights import parts_of, weights_of, why_not
from memlessons.plan.huggingface.weights.registry import counts_experts, known_types

from .test_weights import RECORD

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("model_type", "field"),
    [("llama", "num_local_experts"), ("qwen2", "num_experts"), ("git", "num_local_experts"),
     ("mistral", "n_routed_experts"), ("ernie4_5", "moe_num_experts")],
)  # fmt: skip
def test_experts_that_a_rule_does_not_know_are_not_counted_as_a_dense_model(
    model_type: str, field: str
) -> None:
    config = {**LLAMA, "model_type": model_type, field: 8}
    assert weights_of(config) is None and parts_of(config) is None
    reason = why_not(config)
    assert reason is not None and f"{field}=8" in reason and repr(model_type) in reason


def test_a_hostile_number_of_experts_is_a_short_reason() -> None:
    assert len(why_not({**LLAMA, "num_experts": [2, 10**5000]}) or "") in range(20, 300)


@pytest.mark.parametrize("said", [0, 1, None])
def test_no_expert_or_one_is_a_dense_model(said: int | None) -> None:
    assert weights_of({**LLAMA, "num_local_experts": said}) == weights_of(LLAMA)


def test_granite_without_experts_is_dense() -> None:
    # Granite 4.0 micro: 3.4 billion by its card.
    config = {
        "model_type": "granitemoehybrid", "hidden_size": 2560, "intermediate_size": 8192,
        "vocab_size": 100352, "num_hidden_layers": 40, "layer_types": ["attention"] * 40,
        "num_attention_heads": 40,
        "num_key_value_heads": 8, "shared_intermediate_size": 8192, "tie_word_embeddings": True,
        "num_local_experts": 0, "num_experts_per_tok": 0,
    }  # fmt: skip
    found, parts = weights_of(config), parts_of(config)
    assert found is not None and parts is not None
    assert "experts" not in parts and found.expert_share is None
    assert found.parameters == found.active_parameters
    assert found.parameters / 1e9 == pytest.approx(3.40, abs=0.01)


def test_all_recorded_mixtures_are_of_types_whose_rule_counts_experts() -> None:
    with_experts = {name for name in RECORD if "experts" in (parts_of(RECORD[name]["config"]) or {})}
    types = {language_model(RECORD[name]["config"]).model_type for name in with_experts}
    assert len(types) > 30 and all(map(counts_experts, types))
    assert not counts_experts("llama") and not counts_experts("nobody knows")


def test_the_reason_is_that_of_the_error_or_of_the_type() -> None:
    assert why_not(LLAMA) is None
    assert "no rule counts the weights of model_type='new'" in (why_not({"model_type": "new"}) or "")
    reason = why_not({**LLAMA, "quantization_config": {"quant_method": "aqlm"}})
    assert reason is not None and "quant_method='aqlm': known are" in reason and "modelopt" in reason
    assert "hidden_size is missing" in (why_not({**LLAMA, "hidden_size": None}) or "")
    assert "draft model" in (why_not({"model_type": "gemma4_assistant"}) or "")


# Parameters as pages of the checkpoints show them, configurations with the names of the first files.
OLD_NAMES: dict[str, tuple[dict[str, Any], float]] = {
    "Falcon-7B": ({"model_type": "RefinedWebModel", "alibi": False, "bias": False, "hidden_size": 4544,
                   "multi_query": True, "n_head": 71, "n_layer": 32, "parallel_attn": True,
                   "vocab_size": 65024}, 6_921_720_704),
    "Falcon-40B": ({"model_type": "RefinedWeb", "alibi": False, "bias": False, "hidden_size": 8192,
                    "n_head": 128, "n_head_kv": 8, "n_layer": 60, "parallel_attn": True,
                    "vocab_size": 65024}, 41_303_293_952),
    "InternLM-7B": ({"model_type": "internlm", "hidden_size": 4096, "intermediate_size": 11008, "bias": True,
                     "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
                     "vocab_size": 103168, "tie_word_embeddings": False}, 7_321_948_160),
}  # fmt: skip


@pytest.mark.parametrize("name", OLD_NAMES)
def test_models_count_under_the_names_of_their_first_files(name: str) -> None:
    config, parameters = OLD_NAMES[name]
    found = weights_of(config)
    assert found is not None and found.parameters == parameters


LING_LITE: dict[str, Any] = {
    "model_type": "bailing_moe", "hidden_size": 2048, "intermediate_size": 5632,
    "moe_intermediate_size": 1408, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 4, "num_experts": 64, "num_experts_per_tok": 6, "num_shared_experts": 2,
    "first_k_dense_replace": 0, "vocab_size": 126464, "tie_word_embeddings": False,
}  # fmt: skip
LING_MINI: dict[str, Any] = {
    **LING_LITE, "model_type": "bailing_moe_v2", "intermediate_size": 5120, "moe_intermediate_size": 512,
    "num_hidden_layers": 20, "head_dim": 128, "num_experts": 256, "num_experts_per_tok": 8,
    "num_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 157184,
}  # fmt: skip


@pytest.mark.parametrize(
    ("config", "total", "active"), [(LING_LITE, 16.8, 2.75), (LING_MINI, 16.26, 1.43)], ids=["lite", "mini"]
)
def test_ling_has_the_billions_of_its_cards(config: dict[str, Any], total: float, active: float) -> None:
    found = weights_of(config)
    assert found is not None
    assert found.parameters / 1e9 == pytest.approx(total, abs=0.006)
    assert found.active_parameters / 1e9 == pytest.approx(active, abs=0.006)


def test_zamba_without_its_adapters_is_refused_and_with_them_is_as_if_unsaid() -> None:
    config = RECORD["zamba2"]["config"]
    assert parts_of({**config, "use_shared_mlp_adapter": True}) == parts_of(config)
    assert "use_shared_mlp_adapter" in (why_not({**config, "use_shared_mlp_adapter": False}) or "")


def test_a_list_that_goes_on_for_draft_layers_is_read_layer_by_layer() -> None:
    config = dict(RECORD["deepseek_v4"]["config"])
    names = {"compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    kinds = config.pop("layer_types")
    config.pop("compress_rates", None)
    config["compress_ratios"] = [names.get(kind, 0) for kind in kinds] + [0]
    assert why_not(config) is None
    assert parts_of(config) == parts_of(RECORD["deepseek_v4"]["config"])
    with pytest.raises(BadConfig, match="compress_ratios"):
        parts_of({**config, "compress_ratios": config["compress_ratios"][:3]})


def test_a_flat_file_of_a_model_that_sees_says_what_was_counted() -> None:
    seeing = weights_of({**LLAMA, "model_type": "qwen2_5_vl", "vision_config": {"hidden_size": 1280}})
    assert seeing is not None and "its language model alone" in seeing.source
    plain = weights_of(LLAMA)
    assert plain is not None and "language model alone" not in plain.source


@pytest.mark.parametrize("name", RECORD)
def test_tables_that_are_looked_up_are_embeddings_and_count_as_active(name: str) -> None:
    found, parts = weights_of(RECORD[name]["config"]), parts_of(RECORD[name]["config"])
    assert found is not None and parts is not None
    assert 0 <= found.lookup_parameters <= parts["embeddings"] + parts.get("embeddings of layers", 0)
    assert found.lookup_parameters <= found.active_parameters
    assert found.lookup_bytes <= found.stored_bytes


def test_known_types_are_each_named_once() -> None:
    assert len(set(known_types())) == len(known_types()) and "minimax_text_01" in known_types()
