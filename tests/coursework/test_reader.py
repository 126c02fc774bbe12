"""What a reader calls: the decorator, hints and solutions."""

import json

import pytest

import memlessons.coursework as coursework
from memlessons.coursework import exercise, hint, solution
from memlessons.coursework.catalogue import UnknownExercise
from memlessons.coursework.exercise import BadExercise, Exercise
from memlessons.coursework.reader import collecting
from tests.coursework.samples import clipped_sum, no_limit


def kept(work):
    return json.loads((work / "progress.json").read_text())["exercises"]


def test_the_packages_exercise_is_the_decorator_and_the_module_is_found_too():
    assert coursework.exercise is exercise
    assert Exercise.__module__ == "memlessons.coursework.exercise"


def test_the_check_runs_as_the_cell_runs_and_the_function_stays_itself(made_up, work, capsys):
    assert exercise("98.1")(clipped_sum) is clipped_sum
    assert capsys.readouterr().out.startswith("98.1 Clipped sum: passed (")
    assert kept(work)["98.1"]["tries"] == 1


def test_feedback_is_shown_and_a_seed_repeats_it(made_up, work, capsys):
    exercise("98.1", seed=5)(no_limit)
    first = capsys.readouterr().out
    assert first.startswith('98.1 Clipped sum: this looks like "no limit".')
    assert '`@exercise("98.1", seed=5)` draws the same again' in first
    exercise("98.1", seed=5)(no_limit)
    assert capsys.readouterr().out == first
    assert kept(work)["98.1"] == {"tries": 2}


def test_a_traceback_only_if_asked_for(made_up, capsys):
    def raises(values, most):
        return values["key"]

    exercise("98.1")(raises)
    assert "Traceback" not in capsys.readouterr().out
    exercise("98.1", traceback=True)(raises)
    assert "in raises" in capsys.readouterr().out


def test_an_untouched_stub_is_no_try_and_writes_nothing(made_up, work, capsys):
    @exercise("98.1")
    def stub(values, most): ...

    assert "not done yet" in capsys.readouterr().out
    assert not work.exists()


def test_a_notebook_gets_html_beside_the_text(made_up, monkeypatch):
    bundles = []
    monkeypatch.setattr("memlessons.coursework.reader.publish", bundles.append)
    exercise("98.1")(no_limit)
    assert set(bundles[0]) == {"text/html", "text/plain"}
    assert bundles[0]["text/html"].startswith("<div><strong>98.1")


def test_an_unknown_exercise_is_said_at_once(made_up):
    with pytest.raises(UnknownExercise):
        exercise("98.9")(clipped_sum)


def test_the_id_may_not_be_forgotten():
    with pytest.raises(BadExercise, match=r"@exercise\('00.1'\)"):
        exercise(clipped_sum)


def test_while_a_file_is_read_nothing_is_checked(made_up, work, capsys):
    with collecting() as found:
        exercise("98.1")(no_limit)
    assert found == [("98.1", no_limit)]
    assert capsys.readouterr().out == ""
    assert not work.exists()


def test_hints_count_up_and_start_over(made_up, work, capsys):
    for _ in range(4):
        hint("98.1")
    assert capsys.readouterr().out.splitlines() == [
        "98.1, hint 1 of 3: What is asked?",
        "98.1, hint 2 of 3: Look at the sum.",
        "98.1, hint 3 of 3: min(sum(values), most)",
        'That was the last hint; solution("98.1") shows one way.',
        "98.1, hint 1 of 3: What is asked?",
    ]
    assert kept(work)["98.1"] == {"hints": 3}


def test_each_exercise_has_a_count_of_its_own(made_up, capsys):
    hint("98.1")
    hint("98.2")
    assert "98.2, hint 1 of 3" in capsys.readouterr().out


def test_the_solution_is_the_references_source_and_is_noted(made_up, work, capsys):
    solution("98.1")
    out = capsys.readouterr().out
    assert "return min(sum(values), most)" in out
    assert "no_limit" not in out
    assert list(kept(work)["98.1"]) == ["solution"]


def test_a_work_folder_that_cannot_be_written_stops_nothing(made_up, work, capsys):
    work.write_text("a file where the folder should be")
    exercise("98.1")(clipped_sum)
    hint("98.1")
    out = capsys.readouterr().out
    assert "passed" in out
    assert "Note: progress.json was not written" in out
    assert "hint 1 of 3" in out


def test_a_broken_progress_file_is_moved_aside(made_up, work, capsys):
    work.mkdir()
    (work / "progress.json").write_text("{not json")
    exercise("98.1")(clipped_sum)
    assert "progress.json is not JSON: moved aside to progress.json.broken-1" in capsys.readouterr().out
    assert (work / "progress.json.broken-1").read_text() == "{not json"
    assert kept(work)["98.1"]["tries"] == 1
