"""What is kept of a reader's work, and the table of `memlessons progress`."""

import json

import pytest

from memlessons import cli
from memlessons.coursework.progress import note_hint, note_solution, note_try, overview, progress

NAMES = {"00.1": "room left", "00.2": "time bound", "01.1": "attend"}


def test_tries_count_and_the_first_pass_keeps_its_date(work):
    for passed in (False, True, False):
        assert note_try("00.1", passed) == ""
    entry = progress()["00.1"]
    assert entry["tries"] == 3
    first = entry["passed"]
    data = json.loads((work / "progress.json").read_text())
    data["exercises"]["00.1"]["passed"] = "2020-01-01"
    (work / "progress.json").write_text(json.dumps(data))
    note_try("00.1", True)
    assert first[:2] == "20"
    assert progress()["00.1"]["passed"] == "2020-01-01"


def test_hints_keep_the_highest_and_solutions_the_first_day(work):
    for number in (1, 3, 2):
        note_hint("00.1", number)
    note_solution("00.1")
    assert progress()["00.1"]["hints"] == 3
    assert "solution" in progress()["00.1"]
    assert "passed" not in progress()["00.1"]


def test_nothing_yet_is_a_friendly_line(work):
    assert overview({}, NAMES) == [
        "Nothing tried yet, and nothing is graded. Begin with `memlessons start 00`."
    ]
    assert overview({"97.1": {"tries": 1}}, NAMES)[0].startswith("Nothing tried yet")
    assert overview({}, {}) == ["Nothing tried yet, and nothing is graded."]


def test_the_table_in_whole():
    kept = {"00.1": {"tries": 2, "passed": "2026-01-01", "solution": "2026-01-02"}, "01.1": {"tries": 1}}
    assert overview(kept, NAMES) == [
        "chapter  done   tried  open",
        "00       00.1*  -      00.2",
        "01       -      01.1   -",
        "* with its solution seen",
        "",
        "Next: 00.2 time bound (chapter 00)",
    ]


def test_all_done_is_said():
    assert overview({id: {"tries": 1, "passed": "2026-01-01"} for id in NAMES}, NAMES)[-1] == "All done."


def test_a_hint_alone_counts_as_tried():
    assert overview({"00.2": {"hints": 1}}, NAMES)[1].split() == ["00", "-", "00.2", "00.1"]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"exercises": []}', '{"exercises": {"00.1": 3}}', '"\\udcff"']
)
def test_a_corrupt_file_is_said_and_left_for_the_next_check(made_up, work, capsys, content):
    work.mkdir()
    (work / "progress.json").write_text(content)
    assert cli.main(["progress"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Note: progress.json is ")
    assert "Nothing tried yet" in out
    assert (work / "progress.json").read_text() == content


def test_strange_entries_do_not_stop_a_count(work):
    work.mkdir()
    (work / "progress.json").write_text(
        '{"format": 1, "exercises": {"00.1": {"tries": "many", "hints": null}}}'
    )
    note_try("00.1", False)
    note_hint("00.1", 2)
    assert progress()["00.1"] == {"tries": 1, "hints": 2}


def test_the_command_shows_the_real_chapters(work, capsys):
    note_try("00.1", True)
    assert cli.main(["progress"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:2] == ["00", "00.1"]
    assert "Next: 00.2 time bound (chapter 00)" in lines
