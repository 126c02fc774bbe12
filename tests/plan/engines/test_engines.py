"""What engines reserve: sums by hand, bounds that hold for all, and what every rule is worth."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.plan import InvalidPlan
from memlessons.plan.engines import ENGINES, RULES, BadEngineArgument, UnknownEngine, allocation
from memlessons.plan.huggingface import from_huggingface
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
]  # fmt: skip


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
    assert rows or sums


PLANS = [
    from_huggingface(row.config, unknown_state="leave out")
    for row in {row.model: row for row in ROWS}.values()
    if "whisper" not in str(row.config)
]


@given(
    st.sampled_from(PLANS),
    st.sampled_from(["llama.cpp", "vllm", "sglang"]),
    st.integers(1, 300_000),
    st.integers(1, 40),
    st.sampled_from(["f16", "bf16"]),
    st.integers(1, 4),
)
def test_no_engine_reserves_less_than_is_kept_or_less_for_more(plan, engine, context, batch, kv, more):
    def total(name: str, tokens: int, sequences: int) -> int:
        return allocation(plan, engine=name, context_tokens=tokens, batch=sequences, kv_dtype=kv).total

    reserved = total(engine, context, batch)
    assert reserved >= total("ideal", context, batch)
    assert total(engine, context * more, batch) >= reserved
    assert total(engine, context, batch * more) >= reserved


@given(st.sampled_from(PLANS), st.sampled_from(["ideal", "vllm", "sglang"]), st.integers(1, 20))
def test_devices_together_keep_no_less_than_one_and_a_latent_is_repeated(plan, engine, tp):
    def each(devices: int) -> int:
        return allocation(plan, engine=engine, context_tokens=5000, kv_dtype="bf16", tp=devices).total

    assert each(tp) * tp >= each(1) >= each(tp)
    if all(store.role in ("latent", "index") for layer in plan.layers for store in layer.stores):
        assert each(tp) == each(1)


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
