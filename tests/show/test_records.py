"""Recorded kernel runs as rows: CPUs and GPUs alike, rehearsals never."""

from pathlib import Path

import pytest

from memlessons.measure import Record, Value
from memlessons.measure.files import CorruptFile
from memlessons.show.records import kernel_rows


def record(folder: Path, name: str, values: dict[str, Value], **facts: object) -> None:
    provenance = {"device": name, "date": "2026-01-31T12:00:00+00:00"}
    Record("kernels", values, provenance, facts).write(folder / f"kernels-{name}.json")


def test_each_recorded_call_is_a_row_with_its_share_of_bare_reading(tmp_path: Path) -> None:
    share = Value(0.84, 0.8, 0.9, 11, "ratio of the same round")
    seconds = Value(0.02, 0.019, 0.021, 11, "seconds")
    cpu = {"T8192 kv32 twin": seconds, "T8192 kv32 stream / twin": share, "T8192 kv32 sdpa": seconds}
    record(tmp_path, "cpu", cpu | {"T8192 kv8 twin": seconds})
    gpu = {"mqa 256 MiB ours": seconds, "mqa 256 MiB ours of ceiling": share, "mqa 256 MiB flex": seconds}
    record(tmp_path, "some-gpu", gpu)
    record(tmp_path, "rehearsal", gpu, rehearsal=True)
    rows = kernel_rows(tmp_path)
    assert [(r["device"], r["query heads on memories"], r["share of bare reading"]) for r in rows] == [
        ("cpu", "32 on 32", "84%"),
        ("cpu", "32 on 8", "–"),
        ("some-gpu", "32 on 1", "84%"),
    ]
    assert (
        rows[0] | {"time": "20.0 ms", "date": "2026-01-31", "half of the runs within": "80% to 90%"}
        == rows[0]
    )


def test_no_record_is_no_row_and_a_broken_one_is_named(tmp_path: Path) -> None:
    assert kernel_rows(tmp_path) == []
    (tmp_path / "kernels-broken.json").write_text("{")
    with pytest.raises(CorruptFile, match=r"kernels-broken\.json"):
        kernel_rows(tmp_path)
