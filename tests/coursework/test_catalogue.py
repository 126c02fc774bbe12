"""Exercises are found by file name, and only the one asked for is imported."""

import subprocess
import sys

import pytest

from memlessons.coursework.catalogue import UnknownExercise, exercise_names, find, of_chapter


def test_every_file_is_an_exercise_of_its_own_id():
    names = exercise_names()
    assert list(names) == sorted(names)
    assert [id for id in names if find(id).id != id] == []
    assert {id.partition(".")[0] for id in names} >= {"00", "01"}


@pytest.mark.parametrize("chapter", ["00", "0"])
def test_a_chapter_is_named_as_its_files_or_by_its_number(chapter):
    assert of_chapter(chapter) == ["00.1", "00.2", "00.3", "00.4"]


def test_a_chapter_without_exercises_says_which_have_some():
    with pytest.raises(UnknownExercise, match="chapter 97 has no exercises yet; these have: 00, 01"):
        of_chapter("97")


@pytest.mark.parametrize(
    ("id", "words"),
    [
        ("00.9", "there is no exercise '00.9'; chapter 00 has: 00.1, 00.2, 00.3, 00.4"),
        ("97.1", "there is no exercise '97.1'; write one such as '00.1'"),
        ("merge", "write one such as '00.1'"),
        (3.2, "an exercise is named by its id in quotes"),
    ],
)
def test_an_unknown_id_lists_what_there_is(id, words):
    with pytest.raises(UnknownExercise) as failed:
        find(id)
    assert words in str(failed.value)
    assert not str(failed.value).startswith('"')


def test_others_are_not_imported(tmp_path):
    code = (
        "import sys\n"
        "from memlessons.coursework.catalogue import exercise_names, find\n"
        "exercise_names(); find('00.1')\n"
        "print([n for n in sorted(sys.modules) if n.startswith('memlessons.coursework.exercises.')])\n"
        "print([n for n in ('torch', 'numpy', 'hypothesis', 'plotly') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["['memlessons.coursework.exercises.c00_1_room_left']", "[]"]
