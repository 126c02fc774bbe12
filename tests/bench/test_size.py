"""The race of whole processes runs, writes its record, and stops at a command that fails."""

import argparse

import pytest

from memlessons.bench import size
from memlessons.measure import Record


def test_it_times_each_process_and_writes_the_record(tmp_path, capsys):
    assert size.run(argparse.Namespace(rounds=1, out=tmp_path / "size-cpu.json")) == 0
    record = Record.read(tmp_path / "size-cpu.json")
    assert set(record.values) == set(size.RUNS) and all(v.median > 0 for v in record.values.values())
    assert "import numpy" in capsys.readouterr().out


def test_a_command_that_fails_is_not_timed(monkeypatch):
    monkeypatch.setitem(size.RUNS, "interpreter", ["-c", "raise SystemExit(3)"])
    with pytest.raises(size.SizeFailed, match="interpreter"):
        size.race(1)
