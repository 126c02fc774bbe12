"""The kernel race on a CPU: right answers, every form of memory, ratios of the same round."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from memlessons.bench.kernels import cpu, cpu_field
from memlessons.bench.kernels.budget import Budget
from memlessons.bench.kernels.cpu_results import table, values_of
from memlessons.bench.kernels.inputs import pool
from memlessons.bench.kernels.report import found, targets_for
from memlessons.bench.kernels.shapes import Shape
from memlessons.kernels.cases import Case
from memlessons.measure import Record, Timing

CARD = {"device": "a CPU", "driver": None, "commit": "abc", "versions": {}}


def test_it_measures_writes_and_then_has_it_all(tmp_path: Path, capsys) -> None:
    def run() -> int:
        return cpu.measure(
            tmp_path, CARD, Budget(200), 0, tokens=64, rounds=3, chosen=[Case("full rows", lengths=(64,))]
        )

    assert run() == 0
    written = json.loads((tmp_path / "kernels-cpu.json").read_text())
    values, row = written["values"], written["facts"]["rows"]["cpu"]
    for name in ("kv32 stream / twin", "kv32 twin / kv8 twin", "kv4 sdpa / twin", "kv1 copied twin / twin",
                 "kv1 int8 / twin", "kv32 pages of 64 / twin", "kv32 window 8 / twin",
                 "mla 16 heads' share of matmul"):  # fmt: skip
        assert values[f"T64 {name}"]["repetitions"] == 3
    assert row["rows"]["kv8"]["sdpa backend"] in ("FLASH_ATTENTION", "MATH") and row["T"] == 64
    assert row["torch threads at the end"] == written["facts"]["device"]["torch threads"]
    assert written["facts"]["left_out"] == {} and "float32" in written["facts"]["checked"]
    record = Record.read(tmp_path / "kernels-cpu.json")
    assert all(found(target, record) for target in targets_for(record)) and len(targets_for(record)) == 5
    assert "share of bare reading" in capsys.readouterr().out
    assert run() == 0
    said = capsys.readouterr().out
    assert "has it all already" in said and "share of bare reading" in said


def test_without_numba_nothing_is_measured_and_an_older_file_stays(
    tmp_path: Path, capsys, monkeypatch
) -> None:
    Record("kernels", {}, CARD | {"commit": "older"}).write(tmp_path / "kernels-cpu.json")
    before = (tmp_path / "kernels-cpu.json").read_bytes()
    monkeypatch.setattr(cpu, "find_spec", lambda name: None)
    assert cpu.measure(tmp_path, CARD, Budget(100), 0) == 0
    assert "numba is not installed: nothing to measure" in capsys.readouterr().out
    assert (tmp_path / "kernels-cpu.json").read_bytes() == before


def test_a_budget_too_small_measures_nothing_and_says_so(tmp_path: Path, capsys) -> None:
    chosen = [Case("full rows", lengths=(64,))]
    assert cpu.measure(tmp_path, CARD, Budget(10), 0, tokens=64, chosen=chosen) == 0
    assert "out of time" in capsys.readouterr().out
    assert Record.read(tmp_path / "kernels-cpu.json").facts["left_out"] == {"cpu": "out of time"}


def test_the_stream_reads_exactly_the_bytes_of_k_and_v() -> None:
    runs, rows = cpu_field.contestants(16, 0)
    streamed: dict[str, Any] = {name: run.args[0] for name, run in runs.items() if name.endswith("stream")}  # type: ignore[attr-defined]
    for name, flat in streamed.items():
        kv_heads = int(name.removeprefix("kv").partition(" ")[0])
        assert flat.numel() == 2 * kv_heads * 16 * cpu_field.WIDTH and bool(flat.any())
        assert rows[f"kv{kv_heads}"]["bytes_moved"] == 4 * (flat.numel() + 2 * 32 * cpu_field.WIDTH)
    assert {f"kv{n} int8" for n in (32, 8, 4, 1)} | {"mla 16 heads"} <= set(runs)


def times(**seconds: float) -> dict[str, Timing]:
    names = [f"kv{n} {what}" for n in (32, 8, 1) for what in ("twin", "sdpa", "stream", "int8")]
    names += ["kv1 copied twin", "kv32 pages of 64", "mla 16 heads", "matmul"]
    return {name: Timing.of([seconds.get(name.replace(" ", "_"), 1.0)] * 3) for name in names}


def test_ratios_are_what_their_names_say() -> None:
    taken = times(kv32_twin=4.0, kv8_twin=1.0, kv32_stream=3.0, kv1_twin=0.5, matmul=0.25, kv32_int8=1.0,
                  mla_16_heads=2.0, kv1_copied_twin=5.0, kv32_pages_of_64=6.0)  # fmt: skip
    flops = {"kv32": 1000, "kv8": 1000, "kv1": 1000, "mla 16 heads": 4000}
    values = values_of(taken, 10, flops, product_flops=1000)
    wanted = {
        "kv32 stream / twin": 0.75,
        "kv32 twin / kv8 twin": 4.0,
        "kv1 twin's share of matmul": 0.5,  # as much arithmetic in twice the time
        "kv32 int8 / twin": 0.25,
        "kv1 copied twin / twin": 10.0,
        "kv32 pages of 64 / twin": 1.5,
        "mla 16 heads' share of matmul": 0.5,  # four times as much in eight times the time
    }
    assert {name: values[f"T10 {name}"].median for name in wanted} == wanted
    assert values["matmul rate"].median == 4000
    assert "T10 kv32 twin / kv32 twin" not in values
    printed = {line.split("  ")[1]: line for line in table(values, 10).splitlines()[1:]}
    assert "0.75" in printed["T10 kv32 stream / twin"] and "half within" in printed["T10 kv8 twin"]


@pytest.mark.parametrize("kv", [32, 8, 4, 1])
def test_only_many_heads_over_one_memory_have_the_arithmetic_target(kv: int) -> None:
    named = {target.value for target in targets_for(Record("kernels", {}, CARD, {"device": {"tokens": 9}}))}
    assert (f"T9 kv{kv} twin's share of matmul" in named) == (kv in (4, 1))


def test_copied_heads_give_the_same_answer() -> None:
    (one,) = pool(Shape("x", 1, 8, 1, 20, 16), 1, torch.float32, torch.device("cpu"), 0)
    plain = cpu_field.sdpa(one)
    for attend in (cpu_field.twin, cpu_field.sdpa):
        assert torch.allclose(cpu_field.copied(one, attend), plain, atol=1e-5)
