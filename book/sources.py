"""Chapter sources: percent-format Python with explicit cell ids, read into notebooks.

A notebook is generated from its source and never paired with it, so the ids must come from the
source: tools that convert text to notebooks draw random ones, and a committed notebook would change
with every run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from memlessons.errors import MemlessonsError
from memlessons.places import book_folder

CHAPTER_NAME = re.compile(r"(?P<number>\d\d|[A-Z])_(?P<slug>[a-z0-9_]+)")
CELL_ID = re.compile(r"[a-zA-Z0-9-_]{1,64}")
_HEADER_KEYS = {"id", "tags"}
# What jupytext notes about blank lines: of use only when a notebook is turned back into text.
_LAYOUT_KEYS = {"lines_to_next_cell", "lines_to_end_of_cell_marker"}
_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
# What the kernel reports, without its version: that one differs between machines.
_LANGUAGE = {
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}


class SourceError(MemlessonsError):
    """A chapter's source cannot become a notebook; the message names the file and the cell."""


class UnknownChapter(MemlessonsError):
    """No chapter has that number; the message lists those that exist."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter: its number ("01", or a letter for an appendix), slug and source file."""

    number: str
    slug: str
    source: Path

    @property
    def name(self) -> str:
        """The stem of all of its files, "01_attention"."""
        return f"{self.number}_{self.slug}"


def source_folder() -> Path:
    """The folder that holds the sources of this book."""
    return book_folder() / "source"


def chapters(folder: Path | None = None, only: Sequence[str] = ()) -> tuple[Chapter, ...]:
    """List the chapters of a folder in reading order: numbers first, then letters.

    `only` picks some of them, as "01", "1" or "01_attention". Raises UnknownChapter for one that is
    not there and SourceError for a file that is not named NN_slug.py or two with one number.
    """
    folder = folder or source_folder()
    found: dict[str, Chapter] = {}
    for path in sorted(folder.glob("*.py")):
        match = CHAPTER_NAME.fullmatch(path.stem)
        if match is None:
            raise SourceError(f"{path.name}: name a chapter's source NN_slug.py or A_slug.py, in lower case")
        chapter = Chapter(match["number"], match["slug"], path)
        if chapter.number in found:
            other = found[chapter.number].source.name
            raise SourceError(f"{path.name} and {other} have the same number: rename one of them")
        found[chapter.number] = chapter
    if not only:
        return tuple(found.values())
    wanted = {_number(text) for text in only}
    if unknown := sorted(wanted - found.keys()):
        existing = ", ".join(found) or f"none in {folder}"
        raise UnknownChapter(f"there is no chapter {', '.join(unknown)}; there are: {existing}")
    return tuple(chapter for number, chapter in found.items() if number in wanted)


def _number(text: str) -> str:
    head = text.split("_")[0]
    return head.zfill(2) if head.isdigit() else head.upper()


def read(path: Path) -> NotebookNode:
    """Read a source into a notebook (format 4.5) without outputs; the same text gives the same bytes.

    Each cell's id is the one in its header, `# %% id="01-first"`; tags may follow. Raises SourceError
    where an id is missing, malformed or used twice, or where a header says something else.
    """
    import jupytext

    parsed = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent")
    if not parsed.cells:
        raise SourceError(f'{path.name} has no cells: start one with `# %% [markdown] id="..."`')
    cells: list[NotebookNode] = []
    seen: dict[str, int] = {}
    for position, raw in enumerate(parsed.cells, start=1):
        cell = _cell(path, position, raw)
        if cell.id in seen:
            raise SourceError(f"{path.name}: cells {seen[cell.id]} and {position} share the id {cell.id!r}")
        seen[cell.id] = position
        cells.append(cell)
    metadata = {"kernelspec": dict(_KERNEL), "language_info": dict(_LANGUAGE)}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata, nbformat_minor=5)


def _cell(path: Path, position: int, raw: NotebookNode) -> NotebookNode:
    header = {key: value for key, value in raw.metadata.items() if key not in _LAYOUT_KEYS}
    first_line = raw.source.strip().split("\n")[0][:60]
    where = f"{path.name}, cell {position} ({first_line!r})"
    cell_id = header.get("id")
    if cell_id is None:
        raise SourceError(f'{where} has no id: write `# %% id="{path.stem[:2]}-..."` in its header')
    if not isinstance(cell_id, str) or not CELL_ID.fullmatch(cell_id):
        raise SourceError(
            f"{where} has the id {cell_id!r}: use 1 to 64 letters, digits, hyphens or underscores"
        )
    if unknown := sorted(header.keys() - _HEADER_KEYS):
        raise SourceError(f"{where}: its header has {', '.join(unknown)}; only id and tags are known")
    make = {
        "markdown": nbformat.v4.new_markdown_cell,
        "code": nbformat.v4.new_code_cell,
        "raw": nbformat.v4.new_raw_cell,
    }[raw.cell_type]
    metadata = {"tags": list(header["tags"])} if header.get("tags") else {}
    return make(raw.source, id=cell_id, metadata=metadata)


def notebook_text(notebook: NotebookNode) -> str:
    """The text of a notebook's file: sorted keys, one space of indentation, a final newline."""
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook, version=nbformat.NO_CONVERT)
    return text if text.endswith("\n") else text + "\n"


def title(notebook: NotebookNode) -> str:
    """The chapter's title: its first Markdown heading, or an empty text."""
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    match = re.search(r"^#\s+(.+?)\s*$", text, flags=re.MULTILINE)
    return match[1] if match else ""
