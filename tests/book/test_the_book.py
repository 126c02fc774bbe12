"""The real chapters: what is committed equals its source, is light enough, and runs here."""

import os
from pathlib import Path

import nbformat
import pytest

from memlessons.book.committed import MOST_BYTES, differences, without_source
from memlessons.book.execute import execute
from memlessons.book.sources import Chapter, chapters, read
from memlessons.book.tidy import PLOTLY
from memlessons.places import book_folder

CHAPTERS = chapters()
every_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=[chapter.name for chapter in CHAPTERS])


@every_chapter
def test_committed_cells_equal_their_source_ids_included(chapter: Chapter) -> None:
    assert differences(chapter) == []


def test_every_committed_notebook_has_a_source() -> None:
    assert without_source(CHAPTERS) == []


@every_chapter
def test_a_committed_notebook_is_executed_light_pictured_and_without_errors(chapter: Chapter) -> None:
    path = book_folder() / f"{chapter.name}.ipynb"
    assert path.stat().st_size <= MOST_BYTES
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error" or "raises-exception" in cell.metadata.get("tags", [])
            data = output.get("data", {})
            assert PLOTLY not in data or data.keys() & {"image/svg+xml", "image/png"}, cell.id


@every_chapter
@pytest.mark.model
def test_a_chapter_runs_from_top_to_bottom(
    chapter: Chapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `make test-all` sets the full pace; whoever runs pytest alone gets the quick one.
    monkeypatch.setenv("MEMLESSONS_PACE", os.environ.get("MEMLESSONS_PACE", "quick"))
    notebook = read(chapter.source)
    execution = execute(notebook, tmp_path, cell_seconds=600)
    assert execution.failure is None, "\n".join([str(execution.failure), *execution.failure.last_lines])
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count is not None for cell in code)
