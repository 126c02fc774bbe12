"""What a metrics page says, by engine; its grammar against labels and numbers of every kind."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.measure.observed.metrics import NotAMetricsPage, read_metrics
from memlessons.measure.observed.prometheus import samples

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-32B"} 3.0
vllm:kv_cache_usage_perc{engine="0",model_name="Qwen/Qwen3-32B"} 0.125
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",\
gpu_memory_utilization="0.82",num_cpu_blocks="None",num_gpu_blocks="573",num_gpu_blocks_override="None"} 1.0
"""


def test_vllm_says_blocks_block_size_usage_and_requests() -> None:
    got = read_metrics(VLLM)
    assert (got.engine, got.model, got.blocks, got.block_tokens) == ("vllm", "Qwen/Qwen3-32B", 573, 16)
    assert (got.tokens, got.usage, got.running, got.key_type) == (573 * 16, 0.125, 3, "auto")
    assert "one kind of layer" in got.notes[0]
    assert [said.line_number for said in got.lines] == [3, 4, 6]


def test_tokens_that_the_engine_counted_itself_are_taken() -> None:
    own = 'vllm:cache_config_info{block_size="1568",kv_cache_size_tokens="302921",num_gpu_blocks="208"} 1\n'
    got = read_metrics(own)
    assert (got.tokens, got.blocks, got.notes) == (302921, 208, ())


def test_older_names_and_missing_labels_do() -> None:
    assert read_metrics("vllm:gpu_cache_usage_perc 0.5\n").usage == 0.5
    got = read_metrics('vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1\n')
    assert (got.blocks, got.tokens, got.block_tokens, got.usage, got.running) == (None, None, 16, None, None)


def test_several_engines_behind_one_address_are_not_added_up() -> None:
    page = "".join(
        f'vllm:cache_config_info{{engine="{i}",block_size="16",num_gpu_blocks="{n}"}} 1\n'
        f'vllm:kv_cache_usage_perc{{engine="{i}"}} {usage}\nvllm:num_requests_running{{engine="{i}"}} 2\n'
        for i, (n, usage) in enumerate([(600, 0.1), (573, 0.9)])
    )
    got = read_metrics(page)
    assert (got.blocks, got.usage, got.running) == (573, 0.9, 4)
    assert "2 engines" in got.notes[-1]


def test_llama_cpp_says_tokens_and_usage_or_nothing_of_it() -> None:
    old = "llamacpp:kv_cache_usage_ratio 0.5\nllamacpp:kv_cache_tokens 2048\nllamacpp:requests_processing 1\n"
    got = read_metrics(old)
    assert (got.engine, got.usage, got.used_tokens, got.running) == ("llama.cpp", 0.5, 2048, 1)
    new = read_metrics("llamacpp:prompt_tokens_total 9\nllamacpp:requests_processing 0\n")
    assert (new.usage, new.used_tokens, new.running) == (None, None, 0)
    assert "read its log" in new.notes[0]


def test_ranks_of_sglang_say_the_same_tokens_each() -> None:
    page = "".join(
        f'sglang:max_total_num_tokens{{model_name="m",tp_rank="{r}"}} 262144.0\n'
        f'sglang:num_used_tokens{{model_name="m",tp_rank="{r}"}} 239901.0\n'
        f'sglang:token_usage{{model_name="m",tp_rank="{r}"}} 0.915\n'
        for r in range(4)
    )
    got = read_metrics(page + 'sglang:num_running_reqs{tp_rank="0"} 16.0\n')
    assert (got.engine, got.tokens, got.used_tokens, got.usage, got.ranks) == (
        "sglang", 262144, 239901, 0.915, 4,
    )  # fmt: skip
    assert got.running == 16


def test_a_collector_may_have_renamed_colons() -> None:
    assert read_metrics("sglang_token_usage 0.25\n").usage == 0.25


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "many", "1.2.3"])
def test_values_that_are_no_number_are_not_said(value: str) -> None:
    got = read_metrics(f"vllm:kv_cache_usage_perc {value}\nvllm:num_requests_running 1\n")
    assert (got.usage, got.running) == (None, 1)


def test_windows_line_ends_and_timestamps_do() -> None:
    assert read_metrics("vllm:kv_cache_usage_perc 0.5 1700000000000\r\n").usage == 0.5


names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(names, texts, max_size=4), st.floats(allow_nan=False))
def test_any_labels_and_numbers_come_back(labels: dict[str, str], value: float) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    written = ",".join(f"{name}={quoted(text)}" for name, text in labels.items())
    (sample,) = samples(f"m:x{{{written}}} {value!r}\n")
    assert (sample.labels, sample.value) == (labels, value)


@given(st.text())
def test_any_text_is_read_or_refused_by_name(text: str) -> None:
    with suppress(NotAMetricsPage):
        read_metrics(text)
    assert all(not math.isnan(s.value) for s in samples(text))


def test_labels_that_break_the_grammar_are_passed_over() -> None:
    for broken in ('{a="b" 1', "{a=b} 1", '{a="b""} 1', '{="b"} 1', '{a="b"}1', json.dumps({"a": 1})):
        assert list(samples(f"vllm:x{broken}\n")) == []
