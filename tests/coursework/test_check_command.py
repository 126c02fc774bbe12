"""`memlessons check`: answers from a .py file and from a notebook's cells."""

import json

import pytest

from memlessons import cli
from memlessons.coursework.progress import progress

RIGHT = "def clipped_sum(values, most):\n    return min(sum(values), most)\n"
WRONG = "def clipped_sum(values, most):\n    return sum(values)\n"
DOUBLED = "def doubled(x, store):\n    store[0] = 2 * x\n    return store[0].sum()\n"
HEAD = "from memlessons.coursework import exercise\n"


def decorated(source, id="98.1"):
    return f'{HEAD}\n@exercise("{id}")\n{source}'


def notebook(path, *cells):
    kinds = [("markdown", "# Title"), *(("code", cell) for cell in cells)]
    data = {
        "cells": [{"cell_type": k, "source": s.splitlines(keepends=True), "metadata": {}} for k, s in kinds],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def check(made_up, tmp_path, capsys):
    """`check("98.1", source)`: exit code and output for a file with this source."""

    def run(what, source=None, name="answers.py", *options):
        arguments = [what]
        if source is not None:
            path = tmp_path / name
            path.write_text(source)
            arguments.append(str(path))
        code = cli.main(["check", *arguments, *options])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return run


@pytest.mark.parametrize("source", [RIGHT, decorated(RIGHT), decorated(RIGHT.replace("clipped_sum", "mine"))])
def test_a_function_is_found_by_its_name_or_by_its_decorator(check, source):
    code, out = check("98.1", source)
    assert (code, out.count("98.1 Clipped sum: passed")) == (0, 1)


def test_a_decorated_function_is_checked_once(check):
    _, out = check("98.1", decorated(WRONG))
    assert out.count("98.1 Clipped sum") == 1
    assert progress()["98.1"]["tries"] == 1


def test_a_decorator_counts_more_than_a_name(check):
    code, _ = check("98.1", decorated(RIGHT.replace("clipped_sum", "mine")) + WRONG)
    assert code == 0


def test_a_whole_chapter(check):
    code, out = check("98", RIGHT + DOUBLED)
    assert code == 0
    assert out.endswith("2 of 2 passed.\n")
    code, out = check("98", WRONG + DOUBLED)
    assert code == 1
    assert out.endswith("1 of 2 passed.\n")
    assert 'this looks like "no limit"' in out


def test_what_is_missing_is_named_and_not_passed(check):
    code, out = check("98", RIGHT)
    assert code == 1
    assert "98.2 Doubled: no answer in answers.py; write `def doubled(...)` there." in out


def test_other_exercises_in_the_file_are_left_alone(check):
    code, out = check("98.1", decorated(RIGHT) + decorated(DOUBLED, "98.2") + decorated(DOUBLED, "97.7"))
    assert code == 0
    assert "98.2" not in out


def test_what_is_only_imported_is_no_answer(check):
    code, out = check("98.1", "from tests.coursework.samples import clipped_sum\n")
    assert code == 1
    assert "no answer" in out


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:\n", "does not parse: line 1:"),
        ("x = 1\ny = undefined + 1\n", "stops with an error: line 2: y = undefined + 1: NameError"),
        ("raise SystemExit(2)\n", "stops with an error: line 1: raise SystemExit(2): SystemExit: 2"),
        ("import no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("", "no answer in answers.py"),
    ],
)
def test_a_file_that_cannot_be_used_gets_a_clear_line(check, source, words):
    code, out = check("98.1", source)
    assert code == 1
    assert words in out
    assert "Traceback" not in out


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.py", None, "does not exist; name a .py file or a notebook"),
        ("answers.txt", "x", "is neither a .py file nor a notebook"),
        ("broken.ipynb", "{", "is not a notebook"),
        ("other.ipynb", "[1]", "is not a notebook"),
        ("binary.py", b"\xff\xfe", "cannot be read (UnicodeDecodeError)"),
    ],
)
def test_no_file_of_answers_is_one_line(check, made_up, tmp_path, capsys, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert cli.main(["check", "98.1", str(path)]) == 1
    assert words in capsys.readouterr().err


def test_an_unknown_exercise_or_chapter_is_one_line(check):
    assert "there is no exercise" in check("98.7", RIGHT)[1]
    assert "chapter 90 has no exercises yet" in check("90", RIGHT)[1]


def test_a_seed_and_a_traceback_can_be_asked_for(check):
    raises = "def clipped_sum(values, most):\n    return values['x']\n"
    code, out = check("98.1", raises, "answers.py", "--seed", "1234", "--traceback")
    assert code == 1
    assert "`--seed 1234` draws the same again" in out
    assert "line 2: return values['x']" in out
    assert 'answers.py", line 2' in out


def test_dataclasses_and_main_guards_work_in_a_file_of_answers(check):
    source = (
        "from dataclasses import dataclass\n@dataclass\nclass Box:\n    x: 'int'\n"
        "if __name__ == '__main__':\n    raise RuntimeError\n"
        "def clipped_sum(values, most):\n    return Box(min(sum(values), most)).x\n"
    )
    assert check("98.1", source)[0] == 0


def test_the_readers_own_notebook_is_taken_if_no_file_is_given(check, work):
    notebook(work / "98_sums.ipynb", decorated(RIGHT), decorated(DOUBLED, "98.2"))
    notebook(work / "98_sums.1.ipynb", decorated(WRONG))
    code, out = check("98")
    assert code == 0
    assert out.endswith("2 of 2 passed.\n")


def test_without_a_notebook_it_says_how_to_get_one(check):
    code, out = check("98")
    assert code == 1
    assert "`memlessons start 98` copies one" in out


def test_only_cells_of_exercises_run_and_each_by_itself(check, tmp_path):
    path = notebook(
        tmp_path / "n.ipynb",
        "raise RuntimeError('a cell of the chapter')",
        "%matplotlib inline\nlimit = 3",
        "%%time\n" + decorated(RIGHT),
        decorated("def doubled(x, store):\n    store[0] = limit * x\n    return store[0].sum()\n", "98.2"),
    )
    code, out = check("98", None, "", str(path))
    assert code == 1
    assert "98.1 Clipped sum: passed" in out
    assert "98.2 Doubled: it raises NameError: name 'limit' is not defined" in out
    assert "a cell of the chapter" not in out


def test_a_chapters_own_function_of_that_name_does_not_count_beside_an_exercise_cell(check, tmp_path):
    path = notebook(tmp_path / "n.ipynb", WRONG, decorated(RIGHT), WRONG)
    assert check("98.1", None, "", str(path))[0] == 0
    path = notebook(tmp_path / "n.ipynb", RIGHT)
    assert check("98.1", None, "", str(path))[0] == 0


def test_a_cell_that_does_not_parse_is_named(check, tmp_path):
    path = notebook(
        tmp_path / "n.ipynb", decorated(DOUBLED, "98.2"), decorated("def clipped_sum(values, most:\n")
    )
    code, out = check("98", None, "", str(path))
    assert code == 1
    assert "n.ipynb, code cell 2 does not parse: line 4" in out
    assert "98.2 Doubled: passed" in out


def test_an_error_in_a_notebook_shows_the_cells_line(check, tmp_path):
    path = notebook(
        tmp_path / "n.ipynb", decorated("def clipped_sum(values, most):\n    return values / most\n")
    )
    assert "line 5: return values / most" in check("98.1", None, "", str(path))[1]
