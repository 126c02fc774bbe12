"""Other devices from records: those of the race on CPUs and GPUs, and our own; rehearsals never."""

from pathlib import Path

import pytest

from memlessons.device.recorded import measurements, recorded_devices, row_name
from memlessons.measure import Record, Value
from memlessons.measure.files import CorruptFile
from tests.device.made import a_result


def value(median: float, unit: str = "seconds") -> Value:
    return Value(median, median, median, 11, unit)


def record(folder: Path, name: str, values: dict[str, Value], **facts: object) -> None:
    provenance = {"device": name, "date": "2026-01-31T12:00:00+00:00"}
    Record("kernels", values, provenance, facts).write(folder / f"kernels-{name}.json")


def test_a_cpu_record_gives_its_longest_loops_rate_and_a_point_for_each_row(tmp_path: Path) -> None:
    rows = {"kv32": {"bytes_moved": 1_000_000}, "kv1": {"bytes_moved": 100_000}}
    facts = {"rows": {"cpu": {"HQ": 32, "T": 1000, "D": 10, "rows": rows}}}
    values = {
        "T1000 kv32 twin": value(0.001), "T1000 kv32 stream": value(0.0005), "T1000 kv1 twin": value(0.0004),
        "T1000 kv1 stream": value(0.00001), "matmul rate": value(1e11, "FLOP/s"),
        "T1000 kv4 twin": value(1.0), "T1000 kv32 sdpa": value(0.002),
    }  # fmt: skip
    record(tmp_path, "cpu", values, **facts)
    (one,) = recorded_devices(tmp_path)
    assert (one.name, one.read, one.multiply) == ("cpu, 2026-01-31", 2e9, 1e11)
    flops = 4 * 32 * 1000 * 10
    assert one.points == {
        "MHA": (pytest.approx(flops / 1e6), pytest.approx(flops / 0.001)),
        "MQA": (pytest.approx(flops / 1e5), pytest.approx(flops / 0.0004)),
    }


def test_a_gpu_record_gives_its_ceiling_and_points_by_their_sizes(tmp_path: Path) -> None:
    def row(**sizes: object) -> dict[str, object]:
        return {"B": 2, "HQ": 32, "HKV": 8, "T": 4096, "D": 128, "bytes_moved": 10**8} | sizes

    rows = {
        "g": row(),
        "w": row(window=1024),
        "m": row(HQ=16, HKV=1, D=576, value_width=512),
        "other": {"T": 1},
    }
    rows["unknown"] = row(HKV=4)
    values = {"ceiling": value(4e12, "bytes/s")} | {
        f"{n} ours": value(1e-4) for n in ("g", "w", "m", "other")
    }
    record(tmp_path, "gpu", values, rows=rows)
    (one,) = recorded_devices(tmp_path)
    assert (one.read, one.multiply) == (4e12, None)
    assert set(one.points) == {"GQA 32/8", "GQA 32/8 window", "latent"}
    assert one.points["GQA 32/8"][1] == pytest.approx(4 * 2 * 32 * 4096 * 128 / 1e-4)
    assert one.points["GQA 32/8 window"][1] == pytest.approx(4 * 2 * 32 * 1024 * 128 / 1e-4)
    assert one.points["latent"][0] == pytest.approx(2 * 2 * 16 * 4096 * (576 + 512) / 1e8)


def test_our_own_record_comes_back_with_our_points_only(tmp_path: Path) -> None:
    a_result().record().write(tmp_path / "measure-a.json")
    (one,) = recorded_devices(tmp_path)
    assert one.device == "A <CPU>" and one.read == pytest.approx(10e9)
    assert one.points == {"MHA": (0.5, pytest.approx(4e9)), "MQA": (20.0, pytest.approx(50e9))}


def test_rehearsals_quick_runs_and_other_files_are_no_devices(tmp_path: Path) -> None:
    record(tmp_path, "rehearsal", {"ceiling": value(1e12, "bytes/s")}, rehearsal=True)
    record(tmp_path, "no-ceiling", {"x ours": value(1.0)})
    a_result(quick=True).record().write(tmp_path / "measure-quick.json")
    a_result().record().write(tmp_path / "size-cpu.json")
    assert recorded_devices(tmp_path) == []
    assert recorded_devices(tmp_path / "not there") == []


def test_a_file_that_is_no_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "measure-broken.json").write_text("{")
    with pytest.raises(CorruptFile, match=r"measure-broken\.json"):
        recorded_devices(tmp_path)


def test_the_books_own_records_are_read() -> None:
    found = recorded_devices()
    assert len(found) >= 1 and measurements().is_dir()
    for one in found:
        assert one.device != "not known" and one.date.startswith("20") and one.read > 1e9
        assert one.points and "MHA" in one.points
        # No point lies above the memory's roof by more than a cache could explain.
        assert all(rate <= 1.05 * intensity * one.read for intensity, rate in one.points.values())


@pytest.mark.parametrize(
    ("heads", "kv", "name"), [(32, 32, "MHA"), (32, 8, "GQA 32/8"), (16, 1, "MQA"), (1, 1, "MHA")]
)
def test_rows_are_named_by_their_heads(heads: int, kv: int, name: str) -> None:
    assert row_name(heads, kv) == name
