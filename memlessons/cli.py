"""The command line: `memlessons NAME ...`.

A sub-command is a module with `add_arguments(parser)` and `run(arguments) -> int`, imported only when it
was chosen, so that `memlessons --help` starts in milliseconds.
"""

import argparse
import importlib
import os
import sys
from typing import NamedTuple

from memlessons import __version__
from memlessons.errors import MemlessonsError


class Command(NamedTuple):
    """Where a sub-command lives and what `memlessons --help` says about it."""

    module: str
    help: str


COMMANDS = {
    "doctor": Command("memlessons.doctor", "check this machine, and say how to mend what is wrong"),
    "fetch": Command("memlessons.model.fetch", "download a model once, and check it"),
    "size": Command("memlessons.sizing.command", "what a model's memory takes, what fits, and how fast"),
    "measure": Command(
        "memlessons.device", "this device's roofs, and where decode attention stands under them"
    ),
    "start": Command("memlessons.coursework.start", "copy a clean chapter into work/"),
    "check": Command("memlessons.coursework.check_command", "check your answers to a chapter's exercises"),
    "progress": Command("memlessons.coursework.progress", "which exercises are done, tried and open"),
    "chat": Command("memlessons.model.chat", "talk to the model"),
}


def _overview() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memlessons", description="How language models remember, and what it costs.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"memlessons {__version__}")
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    # Only the names are needed here; the sub-command parses what follows its name.
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        commands.add_parser(name, help=command.help, add_help=False)
    return parser


def _run(arguments: list[str], debug: bool) -> int:
    name, rest = arguments[0], arguments[1:]
    try:
        module = importlib.import_module(COMMANDS[name].module)
        parser = argparse.ArgumentParser(prog=f"memlessons {name}", description=COMMANDS[name].help)
        parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
        module.add_arguments(parser)
        options = parser.parse_args(rest)
        debug = debug or options.debug
        return int(module.run(options) or 0)
    except KeyboardInterrupt:
        print(f"\nmemlessons {name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # `memlessons doctor | head` has seen enough; Python would flush once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemlessonsError as error:
        if debug:
            raise
        print(f"memlessons: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if debug or (error.name or "").partition(".")[0] == "memlessons":
            raise
        print(
            f"memlessons: `{name}` needs the package {error.name}, which is not installed; "
            f"`memlessons doctor` says how to install it",
            file=sys.stderr,
        )
        return 1


def main(arguments: list[str] | None = None) -> int:
    """Run one sub-command; returns 0 (fine), 1 (a named error), 2 (wrong usage) or 130 (interrupted)."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = _overview()
    # Everything from the sub-command's name on belongs to the sub-command.
    at = next((index for index, word in enumerate(given) if not word.startswith("-")), len(given))
    options = parser.parse_args(given[: at + 1])
    debug = options.debug or os.environ.get("MEMLESSONS_DEBUG", "") not in ("", "0")
    if options.command is None:
        parser.print_help()
        return 0
    return _run(given[at:], debug)
