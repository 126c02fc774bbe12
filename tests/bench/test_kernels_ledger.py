"""The file of the kernel race: resumed by the same device and code, left alone by any other."""

import json
from pathlib import Path
from typing import Any

import pytest

from memlessons.bench.kernels import ledger as ledgers
from memlessons.bench.kernels.ledger import AnotherDevice, Ledger, file_name
from memlessons.measure import Record, Value
from memlessons.measure.files import CorruptFile

CARD = {
    "device": "NVIDIA H200",
    "driver": "570.1",
    "commit": "abc",
    "versions": {"torch": "2.11.0"},
    "date": "d",
}
ONE = Value.of([1.0, 2.0, 3.0])


def ledger(folder: Path, rehearsal: bool = False, **changes: Any) -> Ledger:
    return Ledger(folder / "kernels.json", CARD | changes, {"arch": "sm_90"}, ["a", "b"], rehearsal)


def written(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "kernels.json").read_text())
    return found


@pytest.mark.parametrize(
    ("device", "kind", "name"),
    [
        ("NVIDIA H200", "cuda", "kernels-nvidia-h200.json"),
        ("NVIDIA GeForce RTX 4090", "cuda", "kernels-nvidia-geforce-rtx-4090.json"),
        ("AMD EPYC", "cpu", "kernels-cpu.json"),
        ("AMD EPYC", "rehearsal", "kernels-rehearsal.json"),
    ],
)
def test_each_device_has_a_file_of_its_own(device: str, kind: str, name: str) -> None:
    assert file_name(device, kind) == name


def test_what_was_not_reached_is_in_the_file_after_every_step(tmp_path: Path) -> None:
    first = ledger(tmp_path)
    first.put("a", {"a ours": ONE}, {"T": 3})
    assert written(tmp_path)["facts"]["left_out"] == {"b": "not reached"}
    first.leave_out("b", "out of time")
    assert written(tmp_path)["facts"]["left_out"] == {"b": "out of time"}
    assert Record.read(tmp_path / "kernels.json").values == {"a ours": ONE}


def test_a_second_run_keeps_the_values_and_has_only_the_missing_ones_to_do(tmp_path: Path) -> None:
    ledger(tmp_path).put("a", {"a ours": ONE}, {"T": 3})
    second = ledger(tmp_path, date="later")
    assert second.todo() == ["b"] and second.values == {"a ours": ONE}
    second.put("b", {"b ours": ONE}, {})
    facts = written(tmp_path)["facts"]
    assert set(written(tmp_path)["values"]) == {"a ours", "b ours"}
    assert facts["rows"]["a"]["T"] == 3 and facts["left_out"] == {} and facts["done"] == ["a", "b"]
    assert written(tmp_path)["provenance"]["date"] == "d"


@pytest.mark.parametrize(
    "changes",
    [{"commit": "def"}, {"driver": "571"}, {"versions": {"torch": "2.13.0"}}],
    ids=lambda c: next(iter(c)),
)
def test_values_of_other_code_or_versions_are_measured_again_but_stay_until_then(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    ledger(tmp_path).put("a", {"a ours": ONE}, {})
    other = ledger(tmp_path, **changes)
    assert other.todo() == ["a", "b"] and other.values == {}
    other.leave_out("a", "out of time")
    assert written(tmp_path)["provenance"]["commit"] == "abc" and set(written(tmp_path)["values"]) == {
        "a ours"
    }
    other.put("b", {"b ours": ONE}, {})
    assert set(written(tmp_path)["values"]) == {"b ours"}


def test_changed_sources_are_other_code_whatever_the_commit_says(tmp_path: Path, monkeypatch) -> None:
    ledger(tmp_path).put("a", {"a ours": ONE}, {})
    monkeypatch.setattr(ledgers, "sources_digest", lambda: "another")
    assert ledger(tmp_path).todo() == ["a", "b"]


def test_another_devices_file_is_refused_and_untouched(tmp_path: Path) -> None:
    ledger(tmp_path).put("a", {"a ours": ONE}, {})
    before = (tmp_path / "kernels.json").read_bytes()
    with pytest.raises(AnotherDevice, match="measurements of NVIDIA H200, this is AMD EPYC"):
        ledger(tmp_path, device="AMD EPYC")
    assert (tmp_path / "kernels.json").read_bytes() == before


def test_a_file_that_is_no_record_is_named_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "kernels.json").write_text("{}")
    with pytest.raises(CorruptFile, match=r"kernels\.json"):
        ledger(tmp_path)
    assert (tmp_path / "kernels.json").read_text() == "{}"


def test_a_failed_job_is_named_and_tried_again_by_the_next_run(tmp_path: Path) -> None:
    first = ledger(tmp_path)
    first.fail("a", "RuntimeError: no")
    assert written(tmp_path)["facts"]["failed"] == {"a": "RuntimeError: no"}
    assert written(tmp_path)["facts"]["left_out"] == {"b": "not reached"}
    second = ledger(tmp_path)
    assert second.todo() == ["a", "b"] and second.facts["failed"] == {}


def test_a_rehearsal_writes_names_and_no_value(tmp_path: Path) -> None:
    for _ in range(2):  # and begins anew every time
        one = ledger(tmp_path, rehearsal=True)
        assert one.todo() == ["a", "b"]
        one.put("a", {"a ours": ONE}, {})
    assert written(tmp_path)["values"] == {} and written(tmp_path)["facts"]["walked"] == ["a ours"]


def test_done_is_done_also_if_the_alarm_rings_while_it_is_written(tmp_path: Path) -> None:
    one = ledger(tmp_path)
    one.put("a", {"a ours": ONE}, {})
    one.leave_out("a", "out of time")
    assert written(tmp_path)["facts"]["left_out"] == {"b": "not reached"}
