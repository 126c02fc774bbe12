"""`memlessons start NN`: a clean copy of a chapter in the reader's work folder."""

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.files import write_whole
from memlessons.places import book_folder, work_folder

_NAME = re.compile(r"(\d\d|[A-Z])_[a-z0-9_]+")


class UnknownChapter(MemlessonsError):
    """No chapter has that number; the message lists those that exist."""


class AlreadyStarted(MemlessonsError):
    """The work folder has this chapter; the message says how to begin again without losing it."""


def start(number: str, *, again: bool = False, book: Path | None = None, work: Path | None = None) -> Path:
    """Copy a chapter, its outputs cleared, into the work folder; returns the new notebook.

    `number` is "01", "1" or "01_attention". Where the notebook is there already, raises
    AlreadyStarted, or, with `again`, keeps the old one beside it as NN_slug.1.ipynb, .2 and so on.
    Raises UnknownChapter.
    """
    source = _find(number, book or book_folder())
    target = (work or work_folder()) / source.name
    if target.exists():
        if not again:
            raise AlreadyStarted(
                f"{target} exists: open it to go on, or run `memlessons start {source.name[:2].rstrip('_')} "
                "--again` for a clean copy; the old one is kept beside it"
            )
        os.replace(target, _free_name(target))
    write_whole(target, json.dumps(_clean(json.loads(source.read_text(encoding="utf-8"))), indent=1) + "\n")
    return target


def _find(number: str, book: Path) -> Path:
    found = {
        path.stem.split("_")[0]: path for path in sorted(book.glob("*.ipynb")) if _NAME.fullmatch(path.stem)
    }
    head = number.split("_")[0]
    wanted = head.zfill(2) if head.isdigit() else head.upper()
    if wanted not in found:
        existing = ", ".join(found) or f"none in {book}"
        raise UnknownChapter(f"there is no chapter {number}; there are: {existing}")
    return found[wanted]


def _free_name(path: Path) -> Path:
    """The first of NN_slug.1.ipynb, NN_slug.2.ipynb ... that is not taken."""
    count = 1
    while (free := path.with_name(f"{path.stem}.{count}{path.suffix}")).exists():
        count += 1
    return free


def _clean(notebook: dict[str, Any]) -> dict[str, Any]:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
    notebook["metadata"].pop("widgets", None)
    return notebook


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `memlessons start`."""
    parser.add_argument("chapter", metavar="NN", help="the chapter, such as 01")
    parser.add_argument("--again", action="store_true", help="a clean copy; the old one is kept beside it")


def run(args: argparse.Namespace) -> int:
    """Run `memlessons start`. A chapter that is there already is said to be, and is no failure."""
    try:
        path = start(args.chapter, again=args.again)
    except AlreadyStarted as there:
        print(there)
        return 0
    print(f"{path} is ready: open it with `make lab` (or `jupyter lab {path.parent}`)")
    return 0
