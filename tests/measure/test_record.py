"""Records: whole or absent on disk, strict when read, and honest about where they come from."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memlessons.errors import MemlessonsError
from memlessons.measure import CorruptFile, Record, Timing, Value, provenance
from memlessons.measure import record as record_module
from memlessons.measure.files import read_json, write_json

RECORD = Record(
    "decode",
    {"step": Value(0.5, 0.4, 0.7, 9, "seconds"), "rate": Value.of(12.0, "tokens/s")},
    {"commit": "abc", "seed": 7, "versions": {"python": "3.11"}},
)


def test_a_record_reads_back_equal(tmp_path: Path) -> None:
    path = RECORD.write(tmp_path / "deep" / "er" / "decode.json")
    assert Record.read(path) == RECORD
    assert [p.name for p in path.parent.iterdir()] == ["decode.json"]


def test_values_come_from_timings_samples_or_single_numbers() -> None:
    timing = Timing.of([1.0, 2.0, 3.0, 4.0, 50.0])
    assert Value.of(timing) == Value(3.0, 2.0, 4.0, 5, "seconds") == Value.of([1.0, 2.0, 3.0, 4.0, 50.0])
    assert Value.of(timing).iqr == 2.0
    assert Value.of(7, "GiB") == Value(7.0, 7.0, 7.0, 1, "GiB")


@pytest.mark.parametrize("fails", ["json", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    if fails == "json":
        with pytest.raises(ValueError):
            write_json(path, {"new": float("nan")})
    else:
        monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            write_json(path, {"new": 1})
    assert read_json(path) == {"old": 1}
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "null", '{"a": NaN}', '{"a": 1} x', "\x00\x01", "[" * 100_000, '"text"']
)
def test_anything_but_a_json_object_is_a_named_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorruptFile, match=r"a\.json") as caught:
        read_json(path)
    assert isinstance(caught.value, MemlessonsError)
    assert str(tmp_path) not in str(caught.value)


def test_bytes_that_are_no_text_are_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff\xfe\x00{}")
    with pytest.raises(CorruptFile, match=r"a\.json"):
        read_json(tmp_path / "a.json")


def without(key: str, of: str | None = None):
    def edit(source: dict) -> None:
        (source if of is None else source["values"][of]).pop(key)

    return edit


def setting(key: str, value: object, of: str | None = None):
    def edit(source: dict) -> None:
        (source if of is None else source["values"][of])[key] = value

    return edit


@pytest.mark.parametrize(
    ("edit", "names"),
    [
        (without("form"), "form"),
        (setting("form", "memlessons.record/99"), "form"),
        (without("name"), "name"),
        (setting("name", 3), "name"),
        (without("values"), "values"),
        (setting("values", []), "values"),
        (without("provenance"), "provenance"),
        (without("median", "step"), "median"),
        (setting("median", "0.5", "step"), "median"),
        (setting("median", True, "step"), "median"),
        (setting("median", 99.0, "step"), "low <= median <= high"),
        (setting("repetitions", 0, "step"), "repetition"),
        (setting("repetitions", 1.5, "step"), "repetitions"),
        (without("unit", "rate"), "unit"),
    ],
)
def test_reading_is_strict_and_says_what_is_wrong(tmp_path: Path, edit, names: str) -> None:
    path = RECORD.write(tmp_path / "a.json")
    source = json.loads(path.read_text())
    edit(source)
    path.write_text(json.dumps(source))
    with pytest.raises(CorruptFile, match=names):
        Record.read(path)


def test_a_truncated_record_is_a_named_error_at_every_length(tmp_path: Path) -> None:
    path = RECORD.write(tmp_path / "a.json")
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:end])
        with pytest.raises(CorruptFile):
            Record.read(path)


def test_a_record_that_is_not_there_is_simply_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Record.read(tmp_path / "none.json")


def test_provenance_is_complete_and_names_no_host_user_or_path() -> None:
    got = provenance(seed=11)
    assert set(got) == {"commit", "dirty", "device", "driver", "system", "versions", "seed", "date"}
    assert got["seed"] == 11 and got["versions"]["python"] == platform.python_version()
    assert got["date"].endswith("+00:00") and got["date"][4] == "-"
    text = json.dumps(got)
    for private in (str(Path.home()), str(Path.cwd()), platform.node()):
        assert len(private) < 2 or private not in text


def test_provenance_survives_a_machine_without_git_or_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        raise FileNotFoundError("no such program")

    monkeypatch.setattr(subprocess, "run", nothing)
    got = provenance()
    assert got["commit"] == "not a git tree" and got["dirty"] is None and got["seed"] is None


def test_an_installed_copy_inside_another_repository_is_not_of_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = repository(tmp_path)
    git("commit", "--allow-empty", "-m", "theirs")
    inside = tmp_path / "site-packages"
    inside.mkdir()
    monkeypatch.setattr(record_module, "_TREE", inside)
    assert record_module._commit() == ("not a git tree", None)


def test_commit_and_changes_of_our_own_tree_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = repository(tmp_path)
    (tmp_path / "a.txt").write_text("one")
    git("add", "a.txt")
    git("commit", "-m", "first")
    monkeypatch.setattr(record_module, "_TREE", tmp_path.resolve())
    commit, dirty = record_module._commit()
    assert commit == git("rev-parse", "HEAD") and dirty is False
    (tmp_path / "a.txt").write_text("two")
    assert record_module._commit() == (commit, True)


def repository(folder: Path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(
            ("git", "-C", str(folder), *identity, *arguments), capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q")
    return git


def test_timing_records_and_accounts_load_no_torch() -> None:
    code = (
        "import sys; from memlessons.measure import timed, Record, audit, Account;"
        "timed(lambda: None, repetitions=1);"
        "print(sorted({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
