"""The table of targets: what a record reaches, and why a value is not in it."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memlessons.bench import command
from memlessons.bench.kernels import report as reports
from memlessons.bench.kernels.command import add_arguments
from memlessons.bench.kernels.targets import GPU, Target, cpu_targets
from memlessons.measure import CorruptFile, Record, Value

CARD = {"device": "a card", "date": "2026-03-04T05:06:07+00:00"}


def record(values: Mapping[str, float], name: str = "kernels", **facts: Any) -> Record:
    made = {n: Value(x, 0.9 * x, 1.1 * x, 5, "any") for n, x in values.items()}
    return Record(name, made, CARD, {"device": {"arch": "sm_90"}} | facts)


def row_of(said: str, name: str, metric: str) -> str:
    (found,) = [
        " ".join(line.split()) for line in said.splitlines() if line.startswith(name) and metric in line
    ]
    return found.removeprefix(f"{name} {metric} ")


def test_each_target_stands_beside_what_was_reached() -> None:
    said = reports.report(
        record(
            {
                "gqa B32 T4096 ours of ceiling": 0.93,
                "mha 256 MiB ours of ceiling": 0.86,
                "mqa 256 MiB ours of ceiling": 0.5,
                "int8 B32 T4096 int8 / 16-bit": 0.6,
                "window 1024 of 32768 window / T=W": 1.5,
                "pages B32 T4096 pages of 64 / contiguous": 1.02,
                "short B1 T1024 ours": 11e-6,
            }
        )
    )
    assert said.startswith("targets, a card, 2026-03-04\n")
    share = "share of the ceiling"
    assert row_of(said, "grouped, 512 MiB", share) == ">= 85% >= 92% 93% 84% to 102% good"
    assert row_of(said, "multi-head", share) == ">= 85% >= 92% 86% 77% to 95% reached"
    assert row_of(said, "multi-query", share).endswith("missed")
    assert row_of(said, "int8", "time / 16-bit") == "<= 0.65 x <= 0.57 x 0.60 x 0.54 x to 0.66 x reached"
    assert row_of(said, "window of 1,024 in 32,768", "time / memory of 1,024").endswith("missed")
    assert row_of(said, "pages of 64", "time / contiguous").endswith("good")
    assert row_of(said, "short, 1,024 tokens", "time, both steps").startswith("– <= 12.0 µs 11.0 µs")


def test_a_speedup_over_a_rival_is_turned_round_where_its_target_is_a_time() -> None:
    target = next(t for t in GPU if t.inverse and "flashinfer" in t.value)
    value = reports.found(target, record({target.value: 0.8}))
    assert value is not None and value.median == pytest.approx(1.25)
    assert value.low == pytest.approx(1 / 0.88) and value.high == pytest.approx(1 / 0.72)
    assert reports.verdict(target, value, record({})) == "missed"


def test_the_fastest_of_all_rivals_counts() -> None:
    target = next(t for t in GPU if "*" in t.value)
    rivals = {f"short B1 T1024 {name} / ours": x for name, x in (("sdpa flash", 2.0), ("flashinfer", 0.8))}
    rivals |= {"short B1 T1024, libraries flash-attn / ours": 0.9, "gqa B1 T8192 flex / ours": 0.1}
    value = reports.found(target, record(rivals))
    assert value is not None and value.median == pytest.approx(1 / 0.8)


FAILED = {"failed": {"mha 256 MiB": "RuntimeError: no"}}
LEFT_OUT = {"left_out": {"mha 256 MiB": "out of time"}}
REFUSED = {"refused": {"mha 256 MiB ours": "1.30 of the ceiling: a mistake"}}


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (FAILED, "failed, RuntimeError: no"),
        (LEFT_OUT, "left out, out of time"),
        (REFUSED, "ours was refused, 1.30 of the ceiling: a mistake"),
        ({"rehearsal": True}, "a rehearsal has no figures"),
        ({}, "not in this record"),
    ],
)
def test_what_was_not_measured_has_its_reason(facts: dict[str, Any], why: str) -> None:
    said = row_of(reports.report(record({}, **facts)), "multi-head", "share of the ceiling")
    assert said.endswith(f"not measured: {why}")


def test_a_rival_that_was_not_there_is_the_reason_for_its_own_ratio_only() -> None:
    rows = {"gqa B1 T32768, libraries": {"not_accepted": {"flashinfer": "not installed"}}}
    rows["gqa B1 T32768"] = {"not_accepted": {"sdpa flash": "no such card"}}
    said = reports.report(record({}, rows=rows))
    assert row_of(said, "grouped, alone, T32768", "time / flashinfer").endswith("flashinfer, not installed")
    assert row_of(said, "grouped, 32,768", "speedup over torch's flash").endswith("sdpa flash, no such card")
    assert row_of(said, "grouped, alone, T32768", "share of the ceiling").endswith("not in this record")


def test_a_cpus_record_has_the_cpus_targets() -> None:
    values = {
        "T64 kv32 stream / twin": 0.81,
        "T64 kv32 twin / kv8 twin": 2.7,
        "T64 kv32 int8 / twin": 0.44,
        "T64 kv4 twin's share of matmul": 0.5,
    }
    said = reports.report(record(values, device={"tokens": 64}))
    assert row_of(said, "multi-head", "share of bare reading").endswith("reached")
    assert row_of(said, "multi-head", "time / 8 kv heads").endswith("missed")
    assert row_of(said, "multi-head, int8", "time / float32").endswith("reached")
    assert row_of(said, "4 kv heads", "share of matmul rate").endswith("reached")
    assert row_of(said, "1 kv head", "share of matmul rate").endswith("not measured: not in this record")


@pytest.mark.parametrize("target", [*GPU, *cpu_targets(8192)], ids=lambda t: f"{t.name}, {t.metric}")
def test_a_good_value_is_better_than_one_that_must_be(target: Target) -> None:
    assert target.anchors and bool(target.value) != bool(target.missing)
    assert target.must is not None or target.good is not None
    if target.must is not None and target.good is not None:
        assert (target.good > target.must) == target.least


def test_the_command_prints_the_table_of_a_file_and_measures_nothing(
    tmp_path: Path, capsys, monkeypatch
) -> None:
    path = record({"mha 256 MiB ours of ceiling": 0.86}).write(tmp_path / "kernels-x.json")
    before = path.read_bytes()
    assert command.main(["kernels", "--report", str(path)]) == 0
    said = capsys.readouterr().out
    assert row_of(said, "multi-head", "share of the ceiling").endswith("reached")
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["kernels-x.json"]


def test_a_file_of_something_else_is_named(tmp_path: Path, capsys) -> None:
    path = record({}, name="decode").write(tmp_path / "decode.json")
    with pytest.raises(CorruptFile, match=r"decode\.json: a record of 'decode'"):
        reports.report_file(path)
    assert command.main(["kernels", "--report", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err


def test_the_race_has_its_arguments() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    given = parser.parse_args([])
    assert 330 <= given.budget <= 360 and given.report is None
