"""How long `memlessons size` takes: whole processes, beside an interpreter that does nothing."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from memlessons.errors import MemlessonsError
from memlessons.measure import Record, Timing, Value, interleaved, provenance
from memlessons.units import seconds_text

RUNS = {
    "interpreter": ["-c", "pass"],
    "size, a preset": ["-m", "memlessons", "size", "llama-3.1-8b", "--context", "128k"],
    "size, a card and why": ["-m", "memlessons", "size", "gemma-3-27b", "--gpu", "H200 SXM", "--why"],
    "size, ten models": ["-m", "memlessons", "size", "--gpu", "H200 SXM", "--compare", "gpt2", "falcon-7b",
                         "llama-3.1-8b", "qwen3-32b", "deepseek-r1", "gemma-3-27b", "gpt-oss-120b",
                         "qwen3-next-80b", "jamba-v0.1", "mamba-2.8b"],
    "import numpy": ["-c", "import numpy"],
}  # fmt: skip


class SizeFailed(MemlessonsError, RuntimeError):
    """The command that should be timed ended in an error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The race's own arguments."""
    parser.add_argument("--rounds", type=int, default=21, help="repetitions of each")
    parser.add_argument("--out", type=Path, help="write the record to this JSON file")


def run(given: argparse.Namespace) -> int:
    """Time each in turn, print medians and spread, and write the record if asked to."""
    timings = race(given.rounds)
    for name, timing in timings.items():
        spread = f"{seconds_text(timing.low)} to {seconds_text(timing.high)}"
        print(f"{name:<22} {seconds_text(timing.seconds):>8}  ({spread})")
    ours, theirs = timings["size, a preset"].seconds, timings["import numpy"].seconds
    print(f"a preset is sized in {ours / theirs:.2g} times the time of `import numpy` alone")
    record = Record("size", {name: Value.of(t) for name, t in timings.items()}, provenance())
    if given.out is not None:
        print(f"written: {record.write(given.out)}")
    return 0


def race(rounds: int) -> dict[str, Timing]:
    """Whole processes, interleaved; the files they read are warm. SizeFailed where one ends in an error."""
    return interleaved({name: _process(name, words) for name, words in RUNS.items()}, rounds)


def _process(name: str, words: list[str]) -> Callable[[], None]:
    def start() -> None:
        done = subprocess.run([sys.executable, *words], capture_output=True, check=False)
        if done.returncode:
            raise SizeFailed(f"{name}: {done.stderr.decode(errors='replace').strip()[-300:]}")

    return start
