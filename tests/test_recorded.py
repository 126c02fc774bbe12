"""Cells that need Triton where there is none: the recorded output stands in, and says so."""

import json
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from memlessons import recorded

CELL = "# needs Triton\nimport no_such_module\n\nprint(1 / 0)"
OUTPUTS = [
    {"output_type": "stream", "name": "stdout", "text": ["from a ", "GPU\n"]},
    {
        "output_type": "display_data",
        "data": {"text/plain": ["[figure] bars"], "text/markdown": "**bars**"},
        "metadata": {},
    },
]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    cells = [
        {"cell_type": "markdown", "source": CELL},
        {"cell_type": "code", "source": ["x = 1\n"], "outputs": []},
        {"cell_type": "code", "source": CELL.splitlines(keepends=True), "outputs": OUTPUTS},
    ]
    (tmp_path / "03_kernels.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(recorded, "book_folder", lambda: tmp_path)
    made = InteractiveShell()
    recorded.install(made)
    recorded.install(made)  # every lesson() installs again
    return made


def test_a_marked_cell_shows_its_recorded_outputs_and_does_not_run(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell(CELL + "\n").success
    said = capsys.readouterr().out
    assert said.index("does not run on this system") < said.index("from a GPU") < said.index("[figure] bars")
    assert said.count("from a GPU") == 1


def test_an_edited_cell_says_that_nothing_was_recorded_of_it(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell(CELL.replace("1 / 0", "2 / 0")).success
    said = capsys.readouterr().out
    assert "this one was changed" in said and "from a GPU" not in said


def test_other_cells_run_as_they_are(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_cell("x = 20\nprint(x + 22)  # needs Triton, some day").success
    assert capsys.readouterr().out == "42\n"


def test_a_lesson_asks_for_it_only_where_triton_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import IPython

    import memlessons

    made = InteractiveShell()
    monkeypatch.setattr(IPython, "get_ipython", lambda: made)
    for found, installed in ((object(), False), (None, True)):
        monkeypatch.setattr(recorded.importlib.util, "find_spec", lambda name, found=found: found)
        memlessons.lesson("03")
        assert (recorded.instead in made.input_transformers_cleanup) is installed
