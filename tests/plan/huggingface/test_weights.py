"""Parameters by rule against a peer: the record of what transformers builds, and live builds elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.errors import MemlessonsError
from memlessons.plan import Weights
from memlessons.plan.huggingface import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.source import language_model
from memlessons.plan.huggingface.weights import known_types, parts_of, weights_of

# What transformers 5.24 builds on the meta device: parameters of the class's defaults, of few layers, and
# with one field changed; `without_head` marks classes built without their head.
RECORD: dict[str, Any] = json.loads(Path(__file__).with_name("peer_parameters.json").read_text())
# The peer allocates the way up of experts that do nothing; the published model (560 billion) has none.
DIFFER = {"longcat_flash"}
# Types of files that come with code of their own; their counts are in test_weights_published.py.
REMOTE = {
    "RefinedWeb", "RefinedWebModel", "baichuan", "bailing_moe", "bailing_moe_v2", "chatglm", "deepseek",
    "internlm", "internlm2", "kimi_k2", "minicpm", "qwen",
}  # fmt: skip
# The same, with counts in ../test_presets.py.
OF_PRESETS = {"hunyuan", "minimax_text_01", "mistral_large_3", "nemotron-nas", "openelm"}
# Written flat, with the fields of their language model, in files older than the split.
FLAT = {"qwen2_vl": "qwen2_vl_text", "qwen2_5_vl": "qwen2_5_vl_text"}
LLAMA: dict[str, Any] = RECORD["llama"]["config"]


def counted(config: dict[str, Any], entry: dict[str, Any]) -> int:
    parts = parts_of(config)
    assert parts is not None
    return sum(parts.values()) - (parts.get("head", 0) if entry.get("without_head") else 0)


@pytest.mark.parametrize("name", RECORD)
def test_parameters_equal_the_peers(name: str) -> None:
    entry = RECORD[name]
    assert counted(entry["config"], entry) == entry["parameters"]


@pytest.mark.parametrize("name", [name for name in RECORD if "flipped" in RECORD[name]])
def test_parameters_equal_the_peers_away_from_the_defaults(name: str) -> None:
    entry = RECORD[name]
    off = {
        json.dumps(changed)[:200]: (counted({**entry["config"], **changed}, entry), parameters)
        for changed, parameters in entry["flipped"]
        if counted({**entry["config"], **changed}, entry) != parameters
    }
    assert off == {}


def test_every_known_type_is_checked_somewhere() -> None:
    built = {name.split(",")[0] for name in RECORD}
    assert set(known_types()) - built == REMOTE | OF_PRESETS | DIFFER | set(FLAT)
    assert len(built) >= 200


@pytest.mark.parametrize("name", FLAT)
def test_flat_files_count_as_their_language_model(name: str) -> None:
    entry = RECORD[FLAT[name]]
    assert counted({**entry["config"], "model_type": name}, entry) == entry["parameters"]


@pytest.mark.parametrize(
    "name",
    ["cohere2", "deepseek_v3", "gemma", "gemma2", "gemma3_text", "gemma3n_text", "gemma4_text", "gpt_oss",
    "granite",
     "lfm2", "llama", "llama4_text", "mistral", "mixtral", "olmo2", "opt", "phi3", "qwen2",
     "qwen2_5_vl_text", "qwen3",
     "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe", "qwen3_vl_moe_text", "qwen3_vl_text"],
)  # fmt: skip
def test_a_nested_configuration_that_says_nothing_is_its_classs_default(name: str) -> None:
    nested = {"model_type": "a composite", "text_config": {"model_type": name}}
    assert counted(nested, RECORD[name]) == RECORD[name]["parameters"]


def test_a_nested_class_whose_lists_of_layers_are_not_known_is_refused() -> None:
    with pytest.raises(UnknownArchitecture, match="mlp_layer_types is missing"):
        parts_of({"text_config": {"model_type": "hy_v4_vl_text"}})


def test_the_outermost_object_decides_whether_the_head_is_the_embedding() -> None:
    inner = {**LLAMA, "tie_word_embeddings": False}
    apart = parts_of({"text_config": inner})
    tied = parts_of({"text_config": inner, "tie_word_embeddings": True})
    assert apart is not None and tied is not None
    assert apart["head"] == LLAMA["vocab_size"] * LLAMA["hidden_size"]
    assert "head" not in tied


def test_parts_of_llama_are_the_textbooks() -> None:
    wide, inner, layers, vocabulary = 4096, 11008, 32, 32000
    assert parts_of(LLAMA) == {
        "embeddings": vocabulary * wide,
        "head": vocabulary * wide,
        "attention": layers * 4 * wide * wide,
        "mlp": layers * 3 * wide * inner,
        "norms": (2 * layers + 1) * wide,
    }


def test_active_parameters_leave_out_the_experts_that_are_not_chosen() -> None:
    config = RECORD["qwen3_moe"]["config"]
    parts, found = parts_of(config), weights_of(config)
    assert parts is not None and found is not None
    experts, chosen = config["num_local_experts"], config["num_experts_per_tok"]
    assert found.parameters - found.active_parameters == parts["experts"] // experts * (experts - chosen)


def test_more_experts_chosen_than_there_are_touch_all() -> None:
    found = weights_of({**RECORD["mixtral"]["config"], "num_experts_per_tok": 99})
    assert found is not None
    assert found.active_parameters == found.parameters


def test_an_unknown_type_is_not_computed() -> None:
    assert weights_of({"model_type": "nobody-knows", "hidden_size": 8}) is None
    assert parts_of({}) is None
    assert (
        weights_of({"model_type": "gemma4_assistant", "text_config": {"model_type": "gemma4_text"}}) is None
    )


def test_what_is_given_wins_over_the_rule() -> None:
    found = weights_of(LLAMA, parameters=7_000_000_000, stored_bytes=4_900_000_000)
    assert found is not None and "as given" in found.source
    table = 32000 * 4096
    assert found == Weights(
        4_900_000_000, 7_000_000_000, 7_000_000_000, found.source,
        lookup_parameters=table, lookup_bytes=4_900_000_000 * table // 7_000_000_000,
        head_parameters=table,
    )  # fmt: skip


def test_given_parameters_of_a_mixture_change_what_is_always_active() -> None:
    config = RECORD["mixtral"]["config"]
    by_rule, given_more = weights_of(config), weights_of(config, parameters=46_702_792_704 + 1000)
    assert by_rule is not None and given_more is not None
    assert given_more.active_parameters == by_rule.active_parameters + 1000
    assert given_more.stored_bytes == by_rule.stored_bytes + 2000


def test_an_unknown_type_with_given_parameters_has_the_bytes_of_its_format() -> None:
    found = weights_of({"model_type": "new", "torch_dtype": "float32"}, parameters=1000)
    assert found is not None
    assert (found.stored_bytes, found.parameters, found.active_parameters) == (4000, 1000, 1000)
    mixed = weights_of({"model_type": "new", "num_experts": 8}, parameters=1000)
    assert mixed is not None and "no rule knows its experts" in mixed.source


@pytest.mark.parametrize("given", [0, -1, True, 2.5, "8"])
def test_given_numbers_must_be_whole_and_positive(given: Any) -> None:
    with pytest.raises(MemlessonsError, match="parameters"):
        weights_of(LLAMA, parameters=given)


def test_fewer_parameters_than_unused_experts_are_refused() -> None:
    with pytest.raises(BadConfig, match="does not touch"):
        weights_of(RECORD["mixtral"]["config"], parameters=1_000_000)


def test_fields_count_like_the_object_they_are_from() -> None:
    assert weights_of(language_model(LLAMA)) == weights_of(LLAMA)


HOSTILE: st.SearchStrategy[Any] = st.sampled_from(
    [
        10**30,
        -1,
        0,
        1.5,
        float("nan"),
        float("inf"),
        "x",
        "1" * 5000,
        None,
        True,
        [],
        [1] * 3000,
        {},
        {"a": {}},
        2**24,
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(RECORD)), st.data())
def test_hostile_fields_give_a_number_a_named_error_or_nothing(name: str, data: st.DataObject) -> None:
    config = dict(RECORD[name]["config"])
    for field in data.draw(st.lists(st.sampled_from(sorted(config)), max_size=3, unique=True)):
        if field == "model_type":
            continue
        if data.draw(st.booleans()):
            config[field] = data.draw(HOSTILE)
        else:
            del config[field]
    try:
        found = weights_of(config)
        assert found is None or found.parameters >= found.active_parameters > 0
    except MemlessonsError as error:
        assert len(str(error)) < 600


def test_a_missing_width_is_named() -> None:
    short = {key: value for key, value in LLAMA.items() if key != "intermediate_size"}
    with pytest.raises(BadConfig, match="intermediate_size is missing"):
        weights_of(short)


LIVE: dict[str, dict[str, Any]] = {
    "llama": {"num_key_value_heads": 4, "head_dim": 96, "attention_bias": True, "tie_word_embeddings": True},
    "qwen3_moe": {"num_local_experts": 5, "mlp_only_layers": [0, 2], "head_dim": 40, "attention_bias": True},
    "deepseek_v3": {"q_lora_rank": None, "n_routed_experts": 6, "n_shared_experts": 3,
    "first_k_dense_replace": 2},
    "gemma3_text": {"num_key_value_heads": 1, "tie_word_embeddings": False},
    "gemma4_text": {"num_hidden_layers": 12, "num_kv_shared_layers": 2, "use_double_wide_mlp": True,
    "enable_moe_block": True,
                    "num_experts": 5, "moe_intermediate_size": 96, "top_k_experts": 2},
    "qwen3_next": {"linear_num_value_heads": 8, "linear_num_key_heads": 4, "num_experts": 7},
    "nemotron_h": {"layers_block_type": ["mamba", "moe", "attention", "mlp", "moe"], "moe_latent_size": 80},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2, "num_attention_heads": 8,
    "hidden_size": 512},
    "granitemoehybrid": {"num_local_experts": 4, "shared_intermediate_size": 24, "mamba_n_groups": 2},
    "phimoe": {"attention_bias": True, "lm_head_bias": True, "num_local_experts": 3},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVE)
def test_parameters_equal_those_of_a_model_built_now(name: str) -> None:
    torch = pytest.importorskip("torch")
    auto = pytest.importorskip("transformers.models.auto")
    layers = {} if {"layers_block_type", "num_hidden_layers"} & set(LIVE[name]) else {"num_hidden_layers": 5}
    config = auto.configuration_auto.CONFIG_MAPPING[name](vocab_size=999, **layers, **LIVE[name])
    with torch.device("meta"):
        model = auto.modeling_auto.AutoModelForCausalLM.from_config(config)
    written = json.loads(config.to_json_string(use_diff=False))
    assert counted(written, {}) == sum(p.numel() for p in model.parameters())
