"""The races by name; each brings its own arguments and is imported only when it runs."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from memlessons.errors import MemlessonsError

RACES = {
    "decode": (
        "memlessons.bench.decode",
        "decode steps and prefill of SmolLM2 against a peer and a bare stream",
    ),
    "kernels": (
        "memlessons.bench.kernels.command",
        "decode attention against its ceiling, torch, and its own targets",
    ),
    "size": ("memlessons.bench.size", "how long `memlessons size` takes, as whole processes"),
    "conversation": ("memlessons.bench.conversation", "twenty turns with SmolLM2, timed turn by turn"),
}


def main(words: Sequence[str]) -> int:
    """Run the race named first; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m memlessons.bench", description=__doc__)
    races = parser.add_subparsers(dest="race", required=True)
    for name, (module, what) in RACES.items():
        one = races.add_parser(name, help=what, description=what)
        if words and words[0] == name:
            import_module(module).add_arguments(one)
    given = parser.parse_args(words)
    try:
        return int(import_module(RACES[given.race][0]).run(given))
    except MemlessonsError as error:
        print(f"memlessons: {error}", file=sys.stderr)
        return 1
