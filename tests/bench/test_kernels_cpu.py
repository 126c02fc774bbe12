"""The kernel race on a CPU: right answers, ratios of the same round, targets said in words."""

import json
from pathlib import Path

import pytest
import torch

from memlessons.bench import kernel_cpu
from memlessons.bench.kernel_budget import Budget
from memlessons.bench.kernel_cpu_results import table, targets_of, values_of
from memlessons.kernels.cases import Case
from memlessons.measure import Record, Timing

CARD = {"device": "a CPU", "driver": None, "commit": "abc", "versions": {}}
NAMES = [f"kv{n} {what}" for n in (32, 8, 1) for what in ("twin", "sdpa", "stream")] + ["matmul"]


def test_it_measures_writes_and_then_has_it_all(tmp_path: Path, capsys) -> None:
    def run() -> int:
        return kernel_cpu.measure(
            tmp_path, CARD, Budget(200), 0, tokens=64, rounds=3, chosen=[Case("full rows", lengths=(64,))]
        )

    assert run() == 0
    written = json.loads((tmp_path / "kernels-cpu.json").read_text())
    values, row = written["values"], written["facts"]["rows"]["cpu"]
    for name in ("kv32 stream / twin", "kv32 twin / kv8 twin", "kv4 sdpa / twin", "kv1 copied twin / twin"):
        assert values[f"T64 {name}"]["repetitions"] == 3
    assert row["rows"]["kv8"]["sdpa backend"] in ("FLASH_ATTENTION", "MATH") and row["T"] == 64
    assert row["torch threads at the end"] == written["facts"]["device"]["torch threads"]
    assert written["facts"]["left_out"] == {} and "float32" in written["facts"]["checked"]
    assert "reached" in capsys.readouterr().out
    assert run() == 0 and "has it all already" in capsys.readouterr().out


def test_without_numba_nothing_is_measured_and_an_older_file_stays(
    tmp_path: Path, capsys, monkeypatch
) -> None:
    Record("kernels", {}, CARD | {"commit": "older"}).write(tmp_path / "kernels-cpu.json")
    before = (tmp_path / "kernels-cpu.json").read_bytes()
    monkeypatch.setattr(kernel_cpu, "find_spec", lambda name: None)
    assert kernel_cpu.measure(tmp_path, CARD, Budget(100), 0) == 0
    assert "numba is not installed: nothing to measure" in capsys.readouterr().out
    assert (tmp_path / "kernels-cpu.json").read_bytes() == before


def test_a_budget_too_small_measures_nothing_and_says_so(tmp_path: Path, capsys) -> None:
    chosen = [Case("full rows", lengths=(64,))]
    assert kernel_cpu.measure(tmp_path, CARD, Budget(10), 0, tokens=64, chosen=chosen) == 0
    assert "out of time" in capsys.readouterr().out
    assert Record.read(tmp_path / "kernels-cpu.json").facts["left_out"] == {"cpu": "out of time"}


def test_the_stream_reads_exactly_the_bytes_of_k_and_v(monkeypatch) -> None:
    runs, facts = kernel_cpu.contestants(16, 0)
    streamed = {name: run.args[0] for name, run in runs.items() if name.endswith("stream")}  # type: ignore[attr-defined]
    for name, flat in streamed.items():
        kv_heads = int(name.removeprefix("kv").partition(" ")[0])
        assert flat.numel() == 2 * kv_heads * 16 * kernel_cpu.WIDTH and bool(flat.any())
        assert facts[f"kv{kv_heads}"]["bytes_moved"] == 4 * (flat.numel() + 2 * 32 * kernel_cpu.WIDTH)


def times(**seconds: float) -> dict[str, Timing]:
    return {name: Timing.of([seconds.get(name.replace(" ", "_"), 1.0)] * 3) for name in NAMES}


def test_ratios_are_what_their_names_say_and_targets_are_said_in_words() -> None:
    taken = times(kv32_twin=4.0, kv8_twin=1.0, kv32_stream=3.0, kv1_twin=0.5, matmul=0.25)
    values = values_of(taken, (32, 8, 1), tokens=10, heads=32, width=8, flops=4 * 32 * 10 * 8)
    assert values["T10 kv32 stream / twin"].median == 0.75
    assert values["T10 kv32 twin / kv8 twin"].median == 4.0
    assert values["T10 kv1 twin's share of matmul"].median == 0.5  # as much arithmetic in twice the time
    assert values["matmul rate"].median == 4 * 4 * 32 * 10 * 8
    printed = {line.split("  ")[1]: line for line in table(values, (32, 8, 1), 10).splitlines()[1:]}
    assert printed["T10 kv32 stream / twin"].endswith(">= 0.80 not reached")
    assert printed["T10 kv32 twin / kv8 twin"].endswith(">= 2.80 reached")
    assert printed["T10 kv1 twin's share of matmul"].endswith(">= 0.40 reached")
    assert "reached" not in printed["T10 kv8 twin's share of matmul"]


@pytest.mark.parametrize("kv", [32, 8, 4, 1])
def test_only_many_heads_over_one_memory_have_the_arithmetic_target(kv: int) -> None:
    named = f"T9 kv{kv} twin's share of matmul" in targets_of((32, 8, 4, 1), 9, 32)
    assert named == (kv in (4, 1))


def test_copied_heads_give_the_same_answer() -> None:
    from memlessons.bench.kernel_shapes import Shape, pool

    (one,) = pool(Shape("x", 1, 8, 1, 20, 16), 1, torch.float32, torch.device("cpu"), 0)
    plain = kernel_cpu._sdpa(one)
    for attend in (kernel_cpu._twin, kernel_cpu._sdpa):
        assert torch.allclose(kernel_cpu._copied(one, attend), plain, atol=1e-5)
