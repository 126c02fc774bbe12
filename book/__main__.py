"""`python -m memlessons.book`: build (readers), notebooks and check (authors), screens (to look at).

Everything heavy is imported inside the commands: `--help` is quick, and Ctrl-C is met at once.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from memlessons.errors import MemlessonsError
from memlessons.places import book_folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memlessons.book", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_text in (
        ("build", "execute chapters on this machine; leaves notebooks and pages in _build/"),
        ("notebooks", "authors: execute chapters and write the notebooks that are committed"),
        ("check", "do the committed notebooks' cells equal their sources?"),
        ("screens", "authors: pictures of the built pages, light and dark"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument(
            "chapters", nargs="*", metavar="NN", help="chapters, such as 01; all if left out"
        )
        command.add_argument("--source", type=Path, help="folder of the sources (default: the book's)")
        command.add_argument("--to", type=Path, help="folder of the results, for check: of the notebooks")
        if name in ("build", "notebooks"):
            command.add_argument("--cell-seconds", type=int, default=1800, help="most seconds for one cell")
        if name == "screens":
            command.add_argument("--built", type=Path, help="folder of the built pages (default: _build)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code: 0, 1 where a chapter failed or differs, 130 on Ctrl-C."""
    options = _parser().parse_args(arguments)
    run = {"build": _build, "notebooks": _notebooks, "check": _check, "screens": _screens}[options.command]
    try:
        return run(options)
    except MemlessonsError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; finished chapters are kept", file=sys.stderr)
        return 130


def _build(options: argparse.Namespace) -> int:
    from . import sources
    from .build import build, build_folder
    from .report import board

    chosen = sources.chapters(options.source, options.chapters)
    if not chosen:
        print(f"no chapters in {options.source or sources.source_folder()}", file=sys.stderr)
        return 1
    to = options.to or build_folder()
    every = sources.chapters(options.source)
    with board(len(chosen)) as shown:
        succeeded = build(chosen, to, shown, siblings=every, cell_seconds=options.cell_seconds)
        shown.open_next(to / "index.html", chosen[0].number)
    return 0 if succeeded else 1


def _notebooks(options: argparse.Namespace) -> int:
    from . import sources
    from .committed import regenerate
    from .pictures import drawing
    from .report import board

    chosen = sources.chapters(options.source, options.chapters)
    with drawing() as draw, board(len(chosen)) as shown:
        to = options.to or book_folder()
        return 0 if regenerate(chosen, to, draw, shown, cell_seconds=options.cell_seconds) else 1


def _check(options: argparse.Namespace) -> int:
    from . import sources
    from .committed import differences, without_source

    chosen = sources.chapters(options.source, options.chapters)
    found = [text for chapter in chosen for text in differences(chapter, options.to)]
    if not options.chapters:
        found += without_source(chosen, options.to)
    for text in found:
        print(text)
    print("run `make notebooks`" if found else f"{len(chosen)} notebooks equal their sources")
    return 1 if found else 0


def _screens(options: argparse.Namespace) -> int:
    from . import sources
    from .build import build_folder
    from .screens import take_screens

    chosen = sources.chapters(options.source, options.chapters)
    to = options.to or build_folder() / "screens"
    built = options.built or build_folder()
    for path in take_screens(built, [chapter.name for chapter in chosen], to):
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
