"""`memlessons start`: clean copies, and nobody's work is lost."""

import argparse
import json
from pathlib import Path

import pytest

from memlessons.coursework.start import AlreadyStarted, UnknownChapter, add_arguments, run, start


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "book"
    folder.mkdir()
    code = {"cell_type": "code", "id": "01-first", "metadata": {"tags": ["a"]}, "source": "1 + 1"}
    code |= {"execution_count": 7, "outputs": [{"output_type": "stream", "name": "stdout", "text": "2"}]}
    prose = {"cell_type": "markdown", "id": "01-open", "metadata": {}, "source": "# One"}
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "widgets": {"x": 1}}
    notebook = {"cells": [prose, code], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    for name in ("01_one", "A_appendix", "unrelated"):
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    return folder


def test_the_copy_has_the_chapters_cells_and_ids_but_no_outputs(book: Path, tmp_path: Path) -> None:
    copied = json.loads(start("01", book=book, work=tmp_path / "work").read_text(encoding="utf-8"))
    original = json.loads((book / "01_one.ipynb").read_text(encoding="utf-8"))
    assert [(c["id"], c["source"]) for c in copied["cells"]] == [
        (c["id"], c["source"]) for c in original["cells"]
    ]
    assert copied["cells"][1]["outputs"] == []
    assert copied["cells"][1]["execution_count"] is None
    assert copied["cells"][1]["metadata"] == {"tags": ["a"]}
    assert set(copied["metadata"]) == {"kernelspec"}


@pytest.mark.parametrize("number", ["1", "01", "01_one"])
def test_a_chapter_can_be_named_by_number_or_name(book: Path, tmp_path: Path, number: str) -> None:
    assert start(number, book=book, work=tmp_path).name == "01_one.ipynb"


def test_an_appendix_is_named_by_its_letter(book: Path, tmp_path: Path) -> None:
    assert start("a", book=book, work=tmp_path).name == "A_appendix.ipynb"


def test_a_started_chapter_is_not_overwritten(book: Path, tmp_path: Path) -> None:
    path = start("01", book=book, work=tmp_path)
    path.write_text("my work", encoding="utf-8")
    with pytest.raises(AlreadyStarted, match="memlessons start 01 --again"):
        start("01", book=book, work=tmp_path)
    assert path.read_text(encoding="utf-8") == "my work"


def test_again_keeps_every_earlier_copy_beside_the_new_one(book: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    path = start("01", again=True, book=book, work=work)
    clean = path.read_text(encoding="utf-8")
    for text in ("first", "second"):
        path.write_text(text, encoding="utf-8")
        assert start("01", again=True, book=book, work=work) == path
    kept = {found.name: found.read_text(encoding="utf-8") for found in work.iterdir()}
    assert kept == {"01_one.ipynb": clean, "01_one.1.ipynb": "first", "01_one.2.ipynb": "second"}


def test_an_unknown_chapter_is_answered_with_those_that_exist(book: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownChapter, match=r"no chapter 07; there are: 01, A$"):
        start("07", book=book, work=tmp_path)


def test_the_command_says_where_the_notebook_lies_and_how_to_begin_again(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMLESSONS_WORK", str(tmp_path / "work"))
    monkeypatch.setattr("memlessons.coursework.start.book_folder", lambda: book)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert run(parser.parse_args(["01"])) == 0
    assert str(tmp_path / "work" / "01_one.ipynb") in capsys.readouterr().out
    assert run(parser.parse_args(["01"])) == 0
    assert "--again" in capsys.readouterr().out
    assert run(parser.parse_args(["01", "--again"])) == 0
    assert (tmp_path / "work" / "01_one.1.ipynb").is_file()
