"""The ledger: rows are replaced by name, nothing is ever lost, and no reader sees half a file."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from memlessons.plan import INT8, presets
from memlessons.show import keep
from memlessons.show.keep import NotKept
from memlessons.show.row import Row, UnusableRow
from memlessons.show.rows import Ledger, recorded_rows, with_recorded

SMOL = presets.get("smollm2-135m")
RECORD = {
    "tokens_per_second": 12.5,
    "time_to_first_token_seconds": 0.8,
    "perplexity": 11.06,
    "perplexity_spread": 0.3,
    "context": 2048,
    "provenance": {"device": "2 cores", "date": "2026-02-03T04:05:06+00:00", "commit": "abc"},
}


@pytest.fixture
def ledger(work):
    return Ledger()


def names(ledger):
    return [row["name"] for row in json.loads(ledger.path.read_text())["rows"]]


def test_bytes_come_from_the_plan_and_speed_from_the_record(ledger, work):
    row = ledger.add("full attention", SMOL.plan, RECORD, chapter="00", weights=SMOL.weights, corner="none")
    assert ledger.path == work / "scoreboard.json"
    # By hand: 30 layers, 3 heads of 64 numbers, K and V, 2 bytes each.
    assert row.stored_bytes_per_token == 30 * 3 * 64 * 2 * 2 == 23_040
    assert row.bytes_read_per_step == 23_040 * 2048
    # Two for each parameter; 30 layers of 9 query heads, 64 + 64 multiply-adds for each of 2,048 tokens.
    assert row.flop_per_token == 2 * 134_515_008 + 30 * 9 * 128 * 2 * 2048
    assert (row.tokens_per_second, row.time_to_first_token_seconds) == (12.5, 0.8)
    assert (row.perplexity, row.perplexity_spread) == (11.06, 0.3)
    assert (row.device, row.date) == ("2 cores", "2026-02-03T04:05:06+00:00")
    assert row.provenance["commit"] == "abc"
    assert ledger.rows() == [row]


def test_a_records_values_are_their_medians_and_the_spread_is_half_the_quartiles_distance(ledger):
    from memlessons.measure.record import Record, Value

    values = {
        "tokens_per_second": Value.of([10.0, 12.0, 14.0], "tokens/s"),
        "perplexity": Value(11.0, 10.5, 11.7, 5, ""),
        "context": Value.of(512, "tokens"),
    }
    row = ledger.add(
        "measured", SMOL.plan, Record("run", values, {"device": "cpu", "date": "2026-01-01"}), chapter="00"
    )
    assert (row.tokens_per_second, row.perplexity, row.context) == (12.0, 11.0, 512)
    assert row.perplexity_spread == pytest.approx(0.6)
    assert row.flop_per_token is None
    once = ledger.add(
        "once",
        SMOL.plan,
        SimpleNamespace(values={"perplexity": Value.of(11.0, "")}, provenance={}),
        context=8,
    )
    assert once.perplexity_spread is None


def test_a_row_of_the_same_name_is_replaced_in_place_and_the_others_kept(ledger):
    for name in ("full", "int8", "window"):
        ledger.add(name, SMOL.plan, context=100)
    ledger.add("int8", SMOL.plan.with_format(INT8), context=100)
    assert [row.name for row in ledger.rows()] == ["full", "int8", "window"]
    assert ledger.rows()[1].stored_bytes_per_token < ledger.rows()[0].stored_bytes_per_token


def test_what_a_later_version_wrote_stays(ledger):
    ledger.add("full", SMOL.plan, context=100)
    data = json.loads(ledger.path.read_text())
    data["rows"][0]["new_column"] = 7
    data["rows"].append({"name": "from the future", "strange": True})
    data["note"] = "keep me"
    ledger.path.write_text(json.dumps(data))
    ledger.add("int8", SMOL.plan, context=100)
    after = json.loads(ledger.path.read_text())
    assert after["note"] == "keep me"
    assert after["rows"][0]["new_column"] == 7
    assert after["rows"][1] == {"name": "from the future", "strange": True}
    assert [row.name for row in ledger.rows()] == ["full", "int8"]


@pytest.mark.parametrize(
    "content",
    [
        b"{torn",
        b"",
        b"[1, 2]",
        b'{"rows": 3}',
        b'{"other": "program"}',
        b"\xff\xfe\x00",
        b'{"rows": ["text"]}',
        b"[" * 100_000,
    ],
    ids=["torn", "empty", "list", "rows", "foreign", "binary", "strings", "deep"],
)
def test_a_corrupt_or_foreign_file_is_moved_aside_whole_and_said(ledger, capsys, content):
    ledger.path.parent.mkdir(parents=True)
    ledger.path.write_bytes(content)
    assert ledger.rows() == []
    assert "left as it is" in capsys.readouterr().out
    assert ledger.path.read_bytes() == content
    ledger.add("full", SMOL.plan, context=100)
    assert "moved aside to scoreboard.json.broken-1, nothing of it is lost" in capsys.readouterr().out
    assert (ledger.path.parent / "scoreboard.json.broken-1").read_bytes() == content
    assert names(ledger) == ["full"]


def test_broken_files_never_replace_each_other(ledger):
    ledger.path.parent.mkdir(parents=True)
    for i in range(1, 4):
        ledger.path.write_text(f"broken {i}")
        ledger.add("full", SMOL.plan, context=100)
    for i in range(1, 4):
        assert (ledger.path.parent / f"scoreboard.json.broken-{i}").read_text() == f"broken {i}"


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failure_half_way_leaves_the_old_file_and_nothing_beside_it(ledger, monkeypatch, step):
    ledger.add("full", SMOL.plan, context=100)
    before = ledger.path.read_bytes()

    def fails(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full_disk, pytest.raises(NotKept, match="No space left on device"):
        full_disk.setattr(keep.os, step, fails)
        ledger.add("int8", SMOL.plan, context=100)
    assert ledger.path.read_bytes() == before
    assert [p.name for p in ledger.path.parent.iterdir()] == ["scoreboard.json"]


def test_no_folder_is_a_named_error(work, ledger):
    work.write_text("a file")
    with pytest.raises(NotKept, match=r"scoreboard\.json was not written"):
        ledger.add("full", SMOL.plan, context=100)


WRITER = """
import sys
from pathlib import Path
from memlessons.plan import presets
from memlessons.show.rows import Ledger
plan = presets.get("smollm2-135m").plan
ledger = Ledger(Path(sys.argv[1]))
print("ready", flush=True)
for i in range(int(sys.argv[3])):
    ledger.add(f"{sys.argv[2]}-{i}", plan, context=100)
"""


def write_from_another_process(path, name, rows):
    command = [sys.executable, "-c", WRITER, str(path), name, str(rows)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_write_at_once_lose_no_row_and_no_reader_sees_half_a_file(ledger):
    writers = [write_from_another_process(ledger.path, str(k), 12) for k in range(3)]
    looks = 0
    while any(w.poll() is None for w in writers):
        if ledger.path.exists():
            json.loads(ledger.path.read_text())
            looks += 1
        time.sleep(0.002)
    assert [w.communicate()[1] for w in writers] == ["", "", ""]
    assert looks > 0
    assert sorted(names(ledger)) == sorted(f"{k}-{i}" for k in range(3) for i in range(12))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_writer_leaves_a_whole_file_and_the_next_one_goes_on(ledger, monkeypatch):
    monkeypatch.setattr(keep, "_STALE_SECONDS", 0.2)
    for round in range(4):
        writer = write_from_another_process(ledger.path, f"killed{round}", 10_000)
        writer.stdout.readline()
        time.sleep(0.05 + 0.03 * round)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        assert json.loads(ledger.path.read_text())["rows"]
        kept_so_far = set(names(ledger))
        time.sleep(0.25)  # a lock of the dead process grows stale
        ledger.add(f"after{round}", SMOL.plan, context=100)
        assert kept_so_far | {f"after{round}"} == set(names(ledger))


def test_a_lock_that_is_held_is_waited_for_and_then_named(ledger, monkeypatch):
    monkeypatch.setattr(keep, "_WAIT_SECONDS", 0.1)
    ledger.path.parent.mkdir(parents=True)
    (ledger.path.parent / ".scoreboard.json.lock").touch()
    with pytest.raises(NotKept, match="another process holds"):
        ledger.add("full", SMOL.plan, context=100)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": ""}, "give the design a name"),
        ({"corner": "nobody"}, "which corner paid"),
        ({"perplexity": float("nan")}, "perplexity"),
        ({"tokens_per_second": -1}, "tokens_per_second"),
        ({"stored_bytes_per_token": None}, "stored_bytes_per_token"),
        ({"bytes_read_per_step": "many"}, "bytes_read"),
        ({"context": True}, "context"),
    ],
)
def test_a_row_that_measures_nothing_is_refused_by_name(changed, words):
    usual = {
        "name": "full",
        "chapter": "00",
        "context": 10,
        "stored_bytes_per_token": 1.0,
        "bytes_read_per_step": 1,
    }
    with pytest.raises(UnusableRow, match=words):
        Row(**usual | changed)


@pytest.mark.parametrize("context", [None, 0, -1, 2.5, "many", True])
def test_a_row_needs_to_know_at_how_many_tokens(ledger, context):
    with pytest.raises(UnusableRow, match="context="):
        ledger.add("full", SMOL.plan, {"perplexity": 11.0}, context=context)
    assert not ledger.path.exists()


def test_provenance_that_is_no_json_is_refused_before_anything_is_written(ledger):
    with pytest.raises(UnusableRow, match="provenance"):
        ledger.add("full", SMOL.plan, {"provenance": {"x": object()}}, context=10)
    assert not ledger.path.exists()


def a_row(name, chapter):
    return Row(name, chapter, 10, 1.0, 1)


def test_recorded_rows_stand_in_only_for_chapters_the_reader_skipped(tmp_path):
    other = Ledger(tmp_path / "recorded" / "gpu.json")
    for name, chapter in (("full", "00"), ("GQA", "04"), ("int8", "06")):
        other.put(a_row(name, chapter))
    recorded = recorded_rows(tmp_path / "recorded")
    shown = with_recorded([a_row("full", "00"), a_row("my own", "06")], recorded)
    assert [(row.name, faint) for row, faint in shown] == [("full", False), ("GQA", True), ("my own", False)]
    assert recorded_rows(tmp_path / "nowhere") == []
