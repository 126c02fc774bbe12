"""`memlessons size` as people call it: tables, JSON, flags, checks, errors, and what it may not load."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memlessons import cli
from memlessons.plan import MemoryPlan, full_attention
from memlessons.sizing.export import as_python
from memlessons.sizing.question import Question
from tests.sizing.models import A_TOKEN, CONFIG, model


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "toy" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return str(path)


def say(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert cli.main(["size", *words]) == code
    out = capsys.readouterr()
    return out.err if code else out.out


def test_the_table_and_the_json_give_the_same_numbers(capsys, config):
    words = [config, "--context", "8k", "--batch", "4", "--gpu", "RTX 4090", "--params", "50M"]
    found = json.loads(say(capsys, *words, "--json"))
    assert found["kv_bytes"] == 4 * 8192 * A_TOKEN and found["weights"]["stored_bytes"] == 100_000_000
    assert found["sequences_that_fit"] == (found["card_bytes"] - 100_000_000) // (8192 * A_TOKEN)
    shown = say(capsys, *words)
    assert "4 sequences of 8,192 tokens" in shown and "64.0 MiB" in shown
    assert f"Room for {found['sequences_that_fit']:,} sequences" in shown


def test_a_folder_a_text_and_a_plan_are_sized_alike(capsys, config, tmp_path):
    folder = json.loads(say(capsys, str(Path(config).parent), "--json"))
    plan = tmp_path / "plan.json"
    plan.write_text(full_attention(4, 8, 2, 64).to_json(), encoding="utf-8")
    assert folder["kv_bytes"] == json.loads(say(capsys, str(plan), "--json"))["kv_bytes"]
    assert folder["model"] == "toy" and MemoryPlan.from_json(plan.read_text()).bytes(1) == A_TOKEN


def test_a_checkpoint_folder_knows_its_weights(capsys, config):
    index = Path(config).with_name("model.safetensors.index.json")
    index.write_text(json.dumps({"metadata": {"total_size": 123_456_789}, "weight_map": {}}))
    found = json.loads(say(capsys, str(Path(config).parent), "--json"))
    assert found["weights"]["stored_bytes"] == 123_456_789


def test_why_names_each_rule_its_source_and_what_a_sizer_without_it_says(capsys, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG | {"multi_query": True}), encoding="utf-8")
    shown = say(capsys, str(path), "--why")
    line = next(line for line in shown.splitlines() if line.startswith("kv_heads: multi_query"))
    # Without it the field beside it counts: two heads instead of one.
    assert "x 2.00" in line and "vLLM" in line


def test_comparing_gives_a_row_each(capsys, config):
    shown = say(capsys, "llama-3.1-8b", "deepseek-r1", config, "--context", "128k")
    assert len([line for line in shown.splitlines() if line.strip()]) == 5
    assert "68.6 KiB" in shown and "128 KiB" in shown


@pytest.mark.parametrize(
    ("engine", "kv", "words"),
    [
        ("vllm", "fp8", ["vllm serve /", "/toy ", "--max-model-len 8192", "--max-num-seqs 4",
                         "--tensor-parallel-size 2", "--kv-cache-dtype fp8"]),
        ("sglang", "fp8", ["--context-length 8192", "--max-running-requests 4", "--tp-size 2",
                           "--kv-cache-dtype fp8_e4m3"]),
        ("llama.cpp", "q8_0/f16", ["llama-server", "-c 32768", "-np 4", "-ctk q8_0 -ctv f16"]),
        ("llama.cpp", "q4_0", ["-ctk q4_0 -ctv q4_0", "-fa on"]),
    ],
)  # fmt: skip
def test_flags_serve_what_was_asked(capsys, config, engine, kv, words):
    asked = [config, "--context", "8k", "--batch", "4", "--tp", "2", "--kv", kv]
    shown = say(capsys, *asked, "--export", engine)
    assert all(word in shown for word in words), shown


def test_what_would_keep_a_command_from_running_is_said_beside_it(capsys):
    asked = ["llama-3.1-8b", "--context", "1m", "--gpu", "RTX 3060 12GB", "--export", "vllm"]
    assert cli.main(["size", *asked]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("vllm serve PATH/TO/llama-3.1-8b --max-model-len 1048576")
    assert "made to read 131,072" in shown.err and "does not fit" in shown.err and "PATH" not in shown.err


def test_the_memory_fraction_leaves_the_reserve(capsys, config):
    words = [config, "--gpu", "H100 SXM 80GB", "--visible", "100GiB", "--reserve", "12.5GiB"]
    assert "--gpu-memory-utilization 0.87" in say(capsys, *words, "--export", "vllm")


def test_the_python_that_is_copied_asks_the_same(capsys, config):
    code = as_python(Question(model(), context=77, batch=2)).replace("'toy'", repr(config))
    exec(code, {})
    assert capsys.readouterr().out.split()[0] == str(2 * 77 * A_TOKEN)


def test_checking_rows_says_which_are_off_and_exits_accordingly(capsys, tmp_path):
    row = {
        "id": "a",
        "config": CONFIG,
        "context_tokens": 10,
        "kv_dtype": "bf16",
        "expected_bytes": 10 * A_TOKEN,
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n\n")
    assert say(capsys, "--check", str(path)).splitlines() == [
        f"a {10 * A_TOKEN} {10 * A_TOKEN} ok", "1 of 1 rows within tolerance",
    ]  # fmt: skip
    path.write_text(json.dumps(row) + "\n" + json.dumps(row | {"id": "b", "expected_bytes": 5}) + "\n")
    assert cli.main(["size", "--check", str(path)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"b 5 {10 * A_TOKEN} off", "1 of 2 rows within tolerance",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        [], ["no-such-model"], ["./missing.json"], ["--check", "/nowhere.jsonl"],
        ["llama-3.1-8b", "--gpu", "RTX 9999"], ["llama-3.1-8b", "--context", "many"],
        ["llama-3.1-8b", "--kv", "q0"], ["llama-3.1-8b", "--engine", "x"],
        ["llama-3.1-8b", "--lengths", "5"], ["llama-3.1-8b", "--lengths", "9k,1k"],
        ["llama-3.1-8b", "--export", "ideal"], ["llama-3.1-8b", "--kv", "q8_0", "--export", "vllm"],
        ["llama-3.1-8b", "--batch", "0"], ["llama-3.1-8b", "--batch", "2.5"], ["llama-3.1-8b", "--tp", "1k"],
        ["llama-3.1-8b", "--context", "2.5"], ["llama-3.1-8b", "--gpu", ""],
        ["llama-3.1-8b", "--weights", "heavy"], ["x" * 5000], ["\x00"],
        ["hf:" + "no/such/repository/name"],
    ],
)  # fmt: skip
def test_a_wrong_call_ends_in_one_line_and_exit_code_1(capsys, words, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    said = say(capsys, *words, code=1)
    assert said.startswith("memlessons: ") and len(said.strip().splitlines()) == 1


def test_it_loads_nothing_heavy(config):
    heavy = ["torch", "numpy", "rich", "typer", "plotly", "numba", "transformers", "statistics"]
    code = (
        "import sys; from memlessons import cli\n"
        f"assert cli.main(['size', {config!r}, '--gpu', 'RTX 4090', '--why']) == 0\n"
        f"print('LOADED', [name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_a_pipe_and_a_device_are_refused_and_not_waited_for(capsys, tmp_path):
    pipe = tmp_path / "config.json"
    os.mkfifo(pipe)
    for words in ([str(pipe)], ["--check", str(pipe)], ["--log", "/dev/zero"]):
        assert cli.main(["size", *words]) == 1
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_format_that_a_checkpoint_asks_for_is_told(capsys, tmp_path):
    path = tmp_path / "config.json"
    scheme = {"num_bits": 8, "type": "float"}
    quantised = {"quant_method": "compressed-tensors", "kv_cache_scheme": scheme}
    path.write_text(json.dumps(CONFIG | {"quantization_config": quantised}))
    assert "asks engines to keep K and V in fp8: --kv fp8" in say(capsys, str(path))
