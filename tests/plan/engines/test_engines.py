"""What engines reserve: sums by hand, bounds that hold for all, and what every rule is worth."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.plan import InvalidPlan
from memlessons.plan.engines import (
    ENGINES,
    RULES,
    BadEngineArgument,
    CannotDivide,
    UnknownEngine,
    allocation,
)
from memlessons.plan.engines.ideal import cluster_bytes
from memlessons.plan.engines.packed import in_formats, packed_bytes, packed_format
from memlessons.plan.formats import format_named
from memlessons.plan.huggingface import from_huggingface
from memlessons.plan.store import Store
from memlessons.plan.truths import check, named_rows, read_rows
from memlessons.units import GIB, MIB

ROWS = [*named_rows(), *read_rows(Path(__file__).parent.parent / "truths" / "unknown_origin.jsonl")]
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
         "head_dim": 64}  # fmt: skip
MISTRAL = LLAMA | {"model_type": "mistral", "sliding_window": 4096, "max_position_embeddings": 32768}
FIVE_TO_ONE = {"model_type": "gemma3_text", "num_hidden_layers": 6, "num_attention_heads": 1,
               "num_key_value_heads": 1, "head_dim": 64, "sliding_window": 1024,
               "sliding_window_pattern": 6}  # fmt: skip
WIDE_AND_NARROW = {"model_type": "gemma4_text", "num_hidden_layers": 2, "num_attention_heads": 8,
                   "num_key_value_heads": 8, "head_dim": 64, "global_head_dim": 128,
                   "num_global_key_value_heads": 1, "sliding_window": 1024,
                   "layer_types": ["sliding_attention", "full_attention"]}  # fmt: skip
CHUNKED = LLAMA | {"model_type": "llama4_text", "attention_chunk_size": 1024,
                   "layer_types": ["chunked_attention", "full_attention"]}  # fmt: skip
R1 = {"model_type": "deepseek_v3", "num_hidden_layers": 61, "num_attention_heads": 128,
      "num_key_value_heads": 128, "kv_lora_rank": 512, "qk_rope_head_dim": 64}  # fmt: skip

V32 = R1 | {"model_type": "deepseek_v32", "index_head_dim": 128, "index_topk": 2048}
EIGHT_B = {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "head_dim": 128}  # fmt: skip
NARROW = LLAMA | {"head_dim": 80}

# By hand, from the sources that RULES names: what the engine says where no log was found that shows the rule.
BY_HAND = [
    # Every layer has a window, so llama.cpp keeps all 8,192 cells: 2 layers x 4 heads x 64 x 2 x 2 bytes.
    (MISTRAL, "llama.cpp", 8192, {}, "total", 8192 * 2 * 4 * 64 * 2 * 2),
    # Groups of one layer: the full one needs 256 blocks of 16, each window ceil((1023 + 512) / 16) + 1.
    (FIVE_TO_ONE, "vllm", 4096, {"max_model_len": 4096, "max_num_batched_tokens": 512}, "total",
     (256 + 5 * 97) * 16 * 64 * 2 * 2),
    # A chunk of 1,024 and 512 tokens in flight: 96 blocks, and 256 of the full layer; one layer a group.
    (CHUNKED, "vllm", 4096, {"max_model_len": 4096, "max_num_batched_tokens": 512}, "total",
     (96 + 256) * 16 * 4 * 64 * 2 * 2),
    # Pages of 16 x 2,048 bytes; a token of the full layer takes 512, so its 64 blocks hold 64 tokens.
    (WIDE_AND_NARROW, "vllm", 4096, {"max_model_len": 4096, "max_num_batched_tokens": 8192}, "total",
     (64 + 257) * 16 * 8 * 64 * 2 * 2),
    # 656 bytes a token and layer, whole blocks of 16 tokens, in 1 GiB.
    (R1, "vllm", 1, {"available_gib": 1.0, "kv_dtype": "fp8_ds_mla"}, "tokens", GIB // (61 * 656 * 16) * 16),
    # 1,000 tokens in pages of 64, and a page beside them: 17 pages.
    (LLAMA, "sglang", 1000, {"page_size": 64}, "total", 17 * 64 * 2 * 4 * 64 * 2 * 2),
    # Two devices hold two of the four heads each, eight hold one each.
    (LLAMA, "sglang", 999, {"tp": 2}, "total", 1000 * 2 * 2 * 64 * 2 * 2),
    (LLAMA, "vllm", 1600, {"tp": 8}, "total", 1600 * 2 * 1 * 64 * 2 * 2),
    # Index keys: 128 bytes and a scale of 4, beside latents of 576 x 2, or packed in 512 + 16 + 64 x 2.
    (V32, "vllm", 1600, {"kv_dtype": "bf16"}, "total", 1600 * 61 * (1152 + 132)),
    (V32, "vllm", 1600, {"kv_dtype": "fp8"}, "total", 1600 * 61 * (656 + 132)),
    (R1, "vllm", 1600, {"kv_dtype": "fp8"}, "total", 1600 * 61 * 576),
    (V32, "sglang", 999, {"kv_dtype": "bf16"}, "total", 1000 * 61 * (1152 + 132)),
    (V32, "sglang", 999, {"kv_dtype": "fp8_e4m3"}, "total", 1000 * 61 * (656 + 132)),
    (R1, "sglang", 999, {"kv_dtype": "fp8_ds_mla"}, "total", 1000 * 61 * 656),
    (V32, "llama.cpp", 512, {"kv_dtype": "q8_0"}, "idx", 512 * 61 * 136),
    # What is needed: 8 bits as asked, or the index keys of the model's own code where 16 are asked for.
    (V32, "ideal", 1000, {"kv_dtype": "bf16"}, "total", 1000 * 61 * (1152 + 132)),
    (V32, "ideal", 1000, {"kv_dtype": "fp8"}, "total", 1000 * 61 * (576 + 128)),
    (V32, "ideal", 1000, {"kv_dtype": "FP8_DS_MLA"}, "total", 1000 * 61 * (656 + 132)),
    (R1, "ideal", 1000, {"kv_dtype": "fp8_ds_mla"}, "total", 1000 * 61 * 656),
    # Between two devices, 17 layers and then 15 and the output; of 61 layers at most 8 go to one of eight.
    (EIGHT_B, "llama.cpp", 4096, {"tp": 2}, "total", 272 * MIB),
    (R1, "llama.cpp", 4096, {"tp": 8}, "total", 4096 * 8 * 1152),
    # Four thousand slots for the full layer and 0.8 of them for the windows; a slot beside in each pool.
    (FIVE_TO_ONE, "sglang", 4000, {}, "total", (4001 + 5 * 3201) * 64 * 2 * 2),
    (FIVE_TO_ONE, "sglang", 4000, {"swa_full_tokens_ratio": 0.5}, "total", (4001 + 5 * 2001) * 64 * 2 * 2),
    # A thousand tokens lie in a window of 1,024: 0.8 of 1,250 slots hold them.
    (FIVE_TO_ONE, "sglang", 1000, {}, "total", (1251 + 5 * 1001) * 64 * 2 * 2),
    (FIVE_TO_ONE, "sglang", 4000, {"pool": "swa"}, "total", 5 * 4001 * 64 * 2 * 2),
]  # fmt: skip
# What an engine refuses, and the rule by which it does.
REFUSED = [
    (NARROW, "llama.cpp", {"kv_dtype": "q8_0"}, "llama.cpp: blocks divide the head width", "does not divide"),
    (
        NARROW,
        "llama.cpp",
        {"kv_dtype": "f16/q4_0"},
        "llama.cpp: blocks divide the head width",
        "V cache type",
    ),
    (LLAMA, "vllm", {"tp": 3}, "vllm: heads come out even", "8 query heads"),
    (LLAMA | {"num_attention_heads": 12}, "vllm", {"tp": 6}, "vllm: heads come out even", "4 key and value"),
    (LLAMA, "sglang", {"tp": 16}, "sglang: heads come out even", "8 query heads"),
]


def said(case, without: frozenset[str] = frozenset()) -> int:
    config, engine, context, arguments, measure, _ = case
    found = allocation(config, engine=engine, context_tokens=context, without=without, **arguments)
    return found.measured(measure)


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: f"{case[1]} {case[3]}")
def test_an_engine_reserves_what_its_source_says(case):
    assert said(case) == case[-1]


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_a_published_figure_or_a_sum_by_hand_is_off(rule):
    without = frozenset([rule])
    engine = rule.partition(":")[0]
    rows = [row.id for row in ROWS if row.engine == engine and not check(row, without).ok]
    sums = [case for case in BY_HAND if said(case, without) != case[-1]]
    refused = [case for case in REFUSED if rule == case[3]]
    assert rows or sums or refused


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[1]} {case[2]}")
def test_what_a_rule_refuses_is_refused_with_its_reason_and_only_by_that_rule(case):
    config, engine, arguments, rule, reason = case
    with pytest.raises(CannotDivide if "tp" in arguments else BadEngineArgument, match=reason):
        allocation(config, engine=engine, context_tokens=512, **arguments)
    found = allocation(config, engine=engine, context_tokens=512, without=frozenset([rule]), **arguments)
    assert found.total > 0


def test_heads_that_are_not_known_are_not_counted():
    plan = from_huggingface(LLAMA)
    unknown = replace(plan, layers=tuple(replace(layer, query_heads=0) for layer in plan.layers))
    assert allocation(unknown, engine="vllm", context_tokens=16, tp=8).total == 16 * 2 * 1 * 64 * 2 * 2
    with pytest.raises(CannotDivide, match="4 key and value heads"):
        allocation(unknown, engine="vllm", context_tokens=16, tp=3)


PLANS = [
    from_huggingface(row.config, unknown_state="leave out")
    for row in {row.model: row for row in ROWS}.values()
    if "whisper" not in str(row.config)
] + [from_huggingface(V32), from_huggingface(NARROW)]


@given(
    st.sampled_from(PLANS),
    st.sampled_from(["llama.cpp", "vllm", "sglang"]),
    st.integers(1, 300_000),
    st.integers(1, 40),
    st.sampled_from(["f16", "bf16", "f32", "fp8", "int8", "nvfp4", "q8_0", "q4_0/f16", "fp8_ds_mla"]),
    st.integers(1, 4),
)
def test_no_engine_reserves_less_than_is_kept_or_less_for_more(plan, engine, context, batch, kv, more):
    def total(name: str, tokens: int, sequences: int) -> int:
        return allocation(plan, engine=name, context_tokens=tokens, batch=sequences, kv_dtype=kv).total

    try:
        reserved = total(engine, context, batch)
    except BadEngineArgument as error:
        assert "does not divide the head" in str(error) or kv == "fp8_ds_mla"
        return
    assert reserved >= total("ideal", context, batch)
    assert total(engine, context * more, batch) >= reserved
    assert total(engine, context, batch * more) >= reserved


@given(st.sampled_from(PLANS), st.sampled_from(["ideal", "vllm", "sglang", "llama.cpp"]), st.integers(1, 20))
def test_devices_together_keep_no_less_than_one_and_a_latent_is_repeated(plan, engine, tp):
    def each(devices: int) -> int:
        return allocation(plan, engine=engine, context_tokens=5000, kv_dtype="bf16", tp=devices).total

    try:
        each(tp)
    except CannotDivide:
        assert engine in ("vllm", "sglang")
        return
    assert each(tp) * tp >= each(1) >= each(tp)
    if engine != "llama.cpp" and all(
        store.role in ("latent", "index") for layer in plan.layers for store in layer.stores
    ):
        assert each(tp) == each(1)


@pytest.mark.parametrize(
    ("config", "tp", "kept"),
    [
        (EIGHT_B, 1, 512 * MIB), (EIGHT_B, 3, 512 * MIB), (EIGHT_B, 8, 512 * MIB), (EIGHT_B, 16, 1024 * MIB),
        (R1, 8, 8 * 4096 * 61 * 1152),
    ],
)  # fmt: skip
def test_devices_together_repeat_heads_only_where_there_are_more_devices_than_heads(config, tp, kept):
    plan = from_huggingface(config).with_format(format_named("bf16"))
    assert cluster_bytes(plan, tp, 4096, 0) == kept


@given(st.sampled_from(PLANS), st.integers(1, 40), st.integers(1, 10_000))
def test_devices_together_keep_the_whole_and_no_more_than_the_fullest_times_all(plan, tp, context):
    together = cluster_bytes(plan, tp, context)
    fullest = plan.bytes_per_device(context, tp)
    assert tp * fullest >= together >= max(plan.bytes(context), fullest)


def test_no_devices_are_refused():
    with pytest.raises(InvalidPlan, match="tp"):
        cluster_bytes(PLANS[0], 0, 1)


@given(st.sampled_from(PLANS), st.sampled_from(["bf16", "fp8", "q8_0", "fp8_ds_mla"]), st.integers(1, 9999))
def test_a_plan_in_formats_holds_what_is_ideal(plan, kv, context):
    whole = in_formats(plan, kv)
    if kv != "fp8_ds_mla" or any(s.role == "latent" for layer in plan.layers for s in layer.stores):
        found = allocation(plan, engine="ideal", context_tokens=context, kv_dtype=kv, encoder_tokens=7)
        assert found.total == whole.bytes(context, encoder_tokens=7)


def test_latents_of_another_rank_are_packed_with_other_scales():
    v4 = Store("latent", 1, 512, rope_width=64, divides="nothing")
    assert packed_bytes(v4) == 448 + 8 + 128 == packed_format(v4).row_bytes(512)


def test_the_two_answers_of_a_window_agree_where_it_is_not_yet_full():
    for engine in ("ideal", "llama.cpp"):
        short = allocation(FIVE_TO_ONE, engine=engine, context_tokens=256).total
        assert short == 256 * 6 * 64 * 2 * 2


def test_keys_and_values_are_parts_of_the_whole_and_states_are_neither():
    config = next(row.config for row in ROWS if row.id == "lcpp-qwen35-9b-4k")
    found = allocation(config, engine="llama.cpp", context_tokens=4096)
    assert found.measured("k") == found.measured("v") == found.measured("base") // 2 == 64 * MIB
    assert found.measured("rs") == found.total - found.measured("bytes") > 50 * MIB


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (UnknownEngine, {"engine": "vlm"}),
        (BadEngineArgument, {"engine": "llama.cpp", "n_slots": 4}),
        (BadEngineArgument, {"engine": "llama.cpp", "mla": "double"}),
        (BadEngineArgument, {"engine": "llama.cpp", "mla": "naive", "config_or_plan": R1}),
        (BadEngineArgument, {"engine": "naive_mla", "config_or_plan": R1}),
        (BadEngineArgument, {"engine": "whisper.cpp"}),
        (BadEngineArgument, {"engine": "vllm", "mode": "magic"}),
        (BadEngineArgument, {"engine": "sglang", "pool": "deep"}),
        (BadEngineArgument, {"engine": "vllm", "available_gib": float("nan")}),
        (BadEngineArgument, {"engine": "vllm", "available_gib": "5"}),
        (BadEngineArgument, {"engine": "llama.cpp", "n_seq": True}),
        (UnknownEngine, {"engine": None}),
        (UnknownEngine, {"engine": ["vllm"]}),
        (BadEngineArgument, {"engine": "vllm", "available_gib": 0}),
        (BadEngineArgument, {"engine": "vllm", "available_gib": -4}),
        (BadEngineArgument, {"engine": "vllm", "available_gib": 10**400}),
        (BadEngineArgument, {"engine": "vllm", "max_model_len": 10**400}),
        (BadEngineArgument, {"engine": "vllm", "context_tokens": 10**400}),
        (BadEngineArgument, {"engine": "vllm", "mode": ["full"]}),
        (BadEngineArgument, {"engine": "llama.cpp", "unified": "false"}),
        (BadEngineArgument, {"engine": "llama.cpp", "swa_full": 1}),
        (BadEngineArgument, {"engine": "llama.cpp", "flash_attn": None}),
        (BadEngineArgument, {"engine": "llama.cpp", "n_ubatch": None}),
        (BadEngineArgument, {"engine": "ideal", "windows": "no"}),
        (BadEngineArgument, {"engine": "ideal", "draft": "no"}),
        (BadEngineArgument, {"engine": "ideal", "unknown_state": "ignore"}),
        (BadEngineArgument, {"engine": "ideal", "unknown_state": ["refuse"]}),
        (BadEngineArgument, {"engine": "ideal", "without": "vllm: heads are divided"}),
        (BadEngineArgument, {"engine": "sglang", "swa_full_tokens_ratio": 1.5}),
        (BadEngineArgument, {"engine": "sglang", "swa_full_tokens_ratio": 0}),
        (BadEngineArgument, {"engine": "vllm", "kv_dtype": "fp8_ds_mla"}),
        (BadEngineArgument, {"engine": "ideal", "kv_dtype": "fp8_ds_mla"}),
        (InvalidPlan, {"engine": "ideal", "kv_dtype": None}),
        (InvalidPlan, {"engine": "llama.cpp", "n_seq": 0}),
        (InvalidPlan, {"engine": "vllm", "block_size": -16}),
        (InvalidPlan, {"engine": "ideal", "kv_dtype": "q9_9"}),
        (InvalidPlan, {"engine": "ideal", "kv_dtype": "f16/f16/f16"}),
        (InvalidPlan, {"engine": "ideal", "tp": 0}),
        (InvalidPlan, {"engine": "ideal", "context_tokens": 0}),
    ],
)
def test_what_an_engine_cannot_do_is_refused_by_name(error, more):
    with pytest.raises(error):
        allocation(**({"config_or_plan": LLAMA, "context_tokens": 1024} | more))


def test_every_engine_answers_a_plan_as_it_answers_its_configuration():
    for engine in ENGINES.keys() - {"naive_mla", "whisper.cpp"}:
        asked = {"engine": engine, "context_tokens": 3000, "batch": 3, "kv_dtype": "q8_0/f16"}
        assert allocation(LLAMA, **asked).total == allocation(from_huggingface(LLAMA), **asked).total
