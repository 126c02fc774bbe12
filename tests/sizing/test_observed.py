"""Recorded logs and a server's page held against predictions: equal where they are, else named."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from memlessons import cli
from memlessons.measure.observed.log import read_log
from memlessons.plan.truths import named_rows, read_rows
from memlessons.sizing import Question
from memlessons.sizing.differences import held_against
from memlessons.sizing.models import of_config

TESTS = Path(__file__).parent.parent
LOGS = TESTS / "measure" / "logs"
ROWS = {
    row.id: row for row in (*named_rows(), *read_rows(TESTS / "plan" / "truths" / "unknown_origin.jsonl"))
}

# A log, the published figure with that model's configuration, and verdicts in the log's order.
CASES = [
    ("llama_cpp_gptoss_120b", "lcpp-gptoss120b-64k", ["equal", "equal"]),
    ("llama_cpp_llama31_70b_rpc", "lcpp-llama31-70b-4096", ["equal"]),
    ("llama_cpp_llama31_8b_iq4nl", "lcpp-llama31-8b-iq4nlK-f16V", ["equal"]),
    ("llama_cpp_openllama_2023", "lcpp-openllama-3b-512", ["equal"]),
    ("llama_cpp_qwen_27b_states", "lcpp-qwen-27b-3seq", ["equal"]),
    ("llama_cpp_v25_comma", "lcpp-v25-32k", ["equal"]),
    ("llama_cpp_v3_two_copies", "lcpp-v3-mla1-16k", ["values are kept beside keys"]),
    ("llama_cpp_flashnext_indexer", "lcpp-qwen38-flashnext-indexer-old",
     ["equal", "values are kept beside keys"]),
    ("llama_cpp_qwen_27b_mtp", "lcpp-qwen27b-mtp-rs7", ["equal", "7 copies of the state", "a draft head's"]),
    ("sglang_mimo_v2_flash", "sglang-mimo-v2-flash-K", ["pool of layers with a window"] * 2),
    ("sglang_qwen3_235b_tp4", "sglang-qwen3-235b-K", ["equal", "equal"]),
    ("vllm_v0_llama31_8b", "vllm-llama31-8b-1478", ["equal"]),
    ("vllm_v1_merged", "vllm-gptoss120b-tokens", ["equal, every layer charged as full"]),
    ("vllm_v1_qwen38_27b_tp2", "vllm-qwen38-27b-fp8-tp2", ["equal, with a pool for groups"]),
    ("vllm_v1_qwen3_235b_tp4", "vllm-qwen3-235b-tokens", ["a worker with less memory"]),
    ("whisper_base_2023", "whisper-base-self-2023", ["equal", "equal"]),
    ("whisper_small_2025", "whisper-small-self", ["equal", "equal", "not predicted"]),
]  # fmt: skip


def asked(row_id: str, **more: object) -> Question:
    row = ROWS[row_id]
    model = of_config(row.config, row.model, row.source, weigh=False)
    kv = "bf16" if row.kv_dtype.startswith("fp8") else row.kv_dtype  # the log says that it is fp8
    return Question(model, **({"context": row.context_tokens, "kv_dtype": kv, "tp": row.tp} | more))


@pytest.mark.parametrize(("log", "row", "verdicts"), CASES, ids=[case[0] for case in CASES])
def test_what_a_log_says_is_predicted_or_its_difference_named(log, row, verdicts):
    lines = held_against(read_log(LOGS / f"{log}.txt"), asked(row))
    assert len(lines) == len(verdicts)
    for line, verdict in zip(lines, verdicts, strict=True):
        assert verdict in line.verdict, line
        assert line.equal == verdict.startswith("equal") or "pool" in verdict


def test_the_wrong_model_is_not_called_equal():
    lines = held_against(read_log(LOGS / "llama_cpp_gptoss_120b.txt"), asked("lcpp-qwen3-32b-40960"))
    assert not any(line.equal for line in lines)
    assert "18 layers, the plan has 64" in lines[0].verdict


def test_another_batch_of_prompts_is_named_by_its_cells(tmp_path):
    log = (
        (LOGS / "llama_cpp_gptoss_120b.txt")
        .read_text()
        .replace("n_ubatch      = 512", "n_ubatch      = 2048")
    )
    path = tmp_path / "log.txt"
    path.write_text(log)
    swa = held_against(read_log(path), asked("lcpp-gptoss120b-64k"))[1]
    assert not swa.equal and "1,024 cells, predicted 2,560" in swa.verdict


def test_the_command_line_prints_the_table_and_without_a_model_what_was_said(capsys, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(ROWS["lcpp-gptoss120b-64k"].config))
    log = str(LOGS / "llama_cpp_gptoss_120b.txt")
    assert cli.main(["size", str(config), "--log", log]) == 0
    shown = capsys.readouterr().out
    assert "2.25 GiB" in shown and "2 of 2 figures equal" in shown
    assert cli.main(["size", "--log", log]) == 0
    assert "Name a model" in capsys.readouterr().out
    assert cli.main(["size", "--log", str(config)]) == 1
    assert "llama.cpp" in capsys.readouterr().err


PAGE = b"""\
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",num_gpu_blocks="1478",gpu_memory_utilization="0.9"} 1.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{model_name="llama"} 0.25
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="llama"} 3.0
"""


@pytest.fixture
def server() -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_: object) -> None:
            pass

    made = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()
    made.server_close()


def test_a_servers_page_is_held_against_the_plan(capsys, tmp_path, server):
    config = tmp_path / "config.json"
    config.write_text(json.dumps(ROWS["vllm-llama31-8b-1478"].config))
    assert cli.main(["size", str(config), "--server", server]) == 0
    shown = capsys.readouterr().out
    # 1,478 blocks of 16; a quarter of them in use is 5,912 tokens of 128 KiB.
    assert "23,648" in shown and "5,912" in shown and "739 MiB" in shown


def test_a_dead_server_is_one_line(capsys):
    assert cli.main(["size", "--server", "http://127.0.0.1:1"]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
