"""Sources become notebooks with the ids that their authors wrote."""

from collections.abc import Callable

import nbformat
import pytest

from memlessons.book.sources import (
    Chapter,
    SourceError,
    UnknownChapter,
    chapters,
    notebook_text,
    read,
    title,
)

Write = Callable[[dict[str, str]], tuple[Chapter, ...]]


def test_each_cell_keeps_its_id_its_kind_its_text_and_its_tags(write: Write) -> None:
    source = (
        '# %% [markdown] id="07-open"\n# # Title\n#\n# Two lines: `a`\n'
        '# * a list\n\n# %% id="07-first_cell" tags=["x", "y"]\na = 1\n\n\ndef f():\n    return a\n\n\n'
        '# %% id="07-magic"\n# %matplotlib inline\n# a comment\nf()\n'
    )
    notebook = read(write({"07_x": source})[0].source)
    assert [(c.id, c.cell_type, c.source, c.metadata.get("tags")) for c in notebook.cells] == [
        ("07-open", "markdown", "# Title\n\nTwo lines: `a`\n* a list", None),
        ("07-first_cell", "code", "a = 1\n\n\ndef f():\n    return a", ["x", "y"]),
        ("07-magic", "code", "%matplotlib inline\n# a comment\nf()", None),
    ]
    assert title(notebook) == "Title"
    assert all(cell.metadata.keys() <= {"tags"} for cell in notebook.cells)


def test_the_notebook_is_valid_and_not_paired_with_its_source(good: Chapter) -> None:
    notebook = read(good.source)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert notebook.metadata.kernelspec.name == "python3"


def test_the_same_source_gives_the_same_bytes(good: Chapter) -> None:
    assert notebook_text(read(good.source)) == notebook_text(read(good.source))


def test_a_notebook_file_reads_back_as_it_was_written(good: Chapter) -> None:
    notebook = read(good.source)
    assert nbformat.reads(notebook_text(notebook), as_version=nbformat.NO_CONVERT) == notebook


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('# %% id="01-a"\n1\n\n# %%\nx = 2\n', r"01_x\.py, cell 2 \('x = 2'\) has no id"),
        ('x = 0\n# %% id="01-a"\n1\n', r"01_x\.py, cell 1 \('x = 0'\) has no id"),
        ('# %% id="01-a"\n1\n\n# %% id="01-a"\n2\n', r"cells 1 and 2 share the id '01-a'"),
        ('# %% id="01 a"\n1\n', r"has the id '01 a': use 1 to 64 letters"),
        ('# %% id="01-é"\n1\n', r"has the id '01-é'"),
        (f'# %% id="{"a" * 65}"\n1\n', r"use 1 to 64 letters"),
        ('# %% id=""\n1\n', r"has the id ''"),
        ('# %% id="01-a" tag=["x"]\n1\n', r"its header has tag; only id and tags"),
        ("", r"01_x\.py has no cells|has no id"),
    ],
)
def test_a_bad_id_is_refused_with_the_cell_it_is_in(write: Write, source: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        read(write({"01_x": source})[0].source)


def test_chapters_come_in_reading_order_and_can_be_picked(write: Write) -> None:
    everything = write({"10_b": "", "A_appendix": "", "02_a": ""})
    assert [chapter.name for chapter in everything] == ["02_a", "10_b", "A_appendix"]
    folder = everything[0].source.parent
    assert [chapter.number for chapter in chapters(folder, ["a", "2"])] == ["02", "A"]
    assert [chapter.number for chapter in chapters(folder, ["10_b"])] == ["10"]


def test_an_unknown_chapter_is_answered_with_those_that_exist(write: Write) -> None:
    folder = write({"02_a": "", "03_b": ""})[0].source.parent
    with pytest.raises(UnknownChapter, match=r"no chapter 07; there are: 02, 03$"):
        chapters(folder, ["7"])


@pytest.mark.parametrize("names", [["notes"], ["01_Upper"], ["1_short"], ["01_one", "01_two"]])
def test_a_misnamed_source_is_refused(write: Write, names: list[str]) -> None:
    with pytest.raises(SourceError):
        write(dict.fromkeys(names, ""))
