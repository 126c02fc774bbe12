"""Execute chapters on this machine and leave a notebook and a page of each.

The committed notebooks are not touched: what a reader builds is theirs and lies under `_build/`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path

from memlessons.files import write_whole
from memlessons.places import TREE, work_folder

from .execute import CELL_SECONDS, Execution, execute
from .index import Entry, entries, index_page, record_path
from .page import Link, page
from .report import Board
from .sources import Chapter, notebook_text, read, title
from .tidy import settle


def build_folder() -> Path:
    """Where built chapters go: the tree's `_build/`, or one beside the reader for an installed book."""
    return (TREE if (TREE / "book").is_dir() else Path.cwd()) / "_build"


def build(
    chapters: Sequence[Chapter],
    to: Path,
    board: Board,
    *,
    siblings: Sequence[Chapter] = (),
    cell_seconds: int = CELL_SECONDS,
) -> bool:
    """Execute chapters one after the other, each in its own kernel; returns whether all succeeded.

    Leaves `NN_slug.ipynb` and `NN_slug.html` for each in the folder `to`, and `index.html` over all
    chapters ever built there. A chapter that fails is kept as far as it came, its error visible, and
    the others go on. `siblings` are all chapters of the book, for the links between pages.
    """
    siblings = siblings or chapters
    succeeded = True
    # All sources are read first: a malformed one is reported before minutes are spent on the others.
    for chapter, notebook in [(chapter, read(chapter.source)) for chapter in chapters]:
        board.begin(chapter.name, cells=len(notebook.cells))
        execution = execute(notebook, work_folder(), cell_seconds=cell_seconds, on_cell=board.cell)
        _leave(chapter, execution, to, siblings)
        board.end(chapter.name, execution)
        succeeded &= execution.failure is None
    write_whole(to / "index.html", index_page(entries(to, siblings)))
    return succeeded


def _leave(chapter: Chapter, execution: Execution, to: Path, siblings: Sequence[Chapter]) -> None:
    notebook = execution.notebook
    settle(notebook)
    name, heading = chapter.name, title(notebook) or chapter.name
    failed_cell = execution.failure.cell_id if execution.failure else None
    entry = Entry(name, heading, round(execution.seconds, 1), date.today().isoformat(), failed_cell)
    write_whole(to / f"{name}.ipynb", notebook_text(notebook))
    write_whole(to / f"{name}.html", page(notebook, heading, _links(chapter, siblings)))
    write_whole(record_path(to, name), json.dumps(asdict(entry)) + "\n")


def _links(chapter: Chapter, siblings: Sequence[Chapter]) -> tuple[Link, ...]:
    """Contents, the chapter before and the chapter after."""
    links = [Link("Contents", "index.html")]
    position = [other.number for other in siblings].index(chapter.number)
    if position > 0:
        before = siblings[position - 1]
        links.append(Link(f"← {before.number}", f"{before.name}.html"))
    if position + 1 < len(siblings):
        after = siblings[position + 1]
        links.append(Link(f"{after.number} →", f"{after.name}.html"))
    return tuple(links)
