"""`memlessons measure`: this device's roofs, and where decode attention stands under them."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from memlessons.errors import MemlessonsError
from memlessons.places import pace, work_folder

if TYPE_CHECKING:
    from memlessons.device.recorded import Recorded
    from memlessons.device.result import Result

__all__ = ["CannotMeasure", "add_arguments", "run"]

TOKENS, SECONDS = 8192, 60.0


class CannotMeasure(MemlessonsError):
    """A device, time or file with which nothing can be measured; the message says what to give instead."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `memlessons measure`."""
    add = parser.add_argument
    add("--out", type=Path, metavar="DIR", help="folder of measure.html (if not given, work/)")
    add("--json", type=Path, metavar="FILE", help="write the values as a record with provenance, too")
    add("--seconds", type=float, default=SECONDS, metavar="S",
        help="about how long it may take, compiling for the first time apart (%(default).0f)")  # fmt: skip
    add("--device", choices=("cpu", "cuda"), help="what to measure (if not given, a CUDA GPU, else the CPU)")
    add("--quick", action="store_true", help="a rehearsal in seconds: a short context, few rounds")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the table, write the figure; 0, or an error that names what is wrong."""
    began = monotonic()
    if not arguments.seconds > 0:
        raise CannotMeasure(f"--seconds {arguments.seconds}: must be above 0")
    quick = arguments.quick or pace() == "quick"
    _say("importing torch")
    result = _measured(arguments.device, quick, began, arguments.seconds)
    from memlessons.device.table import table

    if arguments.json is not None:
        result.record().write(arguments.json)
    text = table(result)
    print(text + "\n")
    print("\n".join(_pictured(result, text, arguments.out or work_folder())))
    if arguments.json is not None:
        print(f"record: {arguments.json}")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _measured(device: str | None, quick: bool, began: float, seconds: float) -> "Result":
    import torch

    from memlessons.device.arena import Arena, arena_bytes
    from memlessons.device.field import best_dtype, gather
    from memlessons.device.result import result_of
    from memlessons.device.rounds import MOST_PIECES, PIECE, race
    from memlessons.device.rows import fitting_tokens
    from memlessons.measure import provenance

    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if where.type == "cuda" and not torch.cuda.is_available():
        raise CannotMeasure(
            "--device cuda: torch finds no CUDA GPU here; try --device cpu, or memlessons doctor"
        )
    if where.type == "cuda":
        os.environ.pop("TRITON_INTERPRET", None)  # the interpreter computes, and times nothing
    dtype, size = best_dtype(where), arena_bytes(where, quick)
    _say(f"{size // 2**20:,} MiB of random numbers, as {str(dtype).removeprefix('torch.')}")
    arena = Arena.of(where, dtype, size)
    tokens = fitting_tokens(arena.bytes, dtype.itemsize, TOKENS)
    _say(
        "checking every answer against float64, on a short context; "
        "a kernel's first call compiles for some seconds"
    )
    field = gather(arena, tokens, quick, _say)
    runs = {c.name: c.run for c in field.contestants} | {name: r.run for name, r in field.roofs.items()}
    _say(f"{field.checked} answers are right; timing, {monotonic() - began:.0f} s after the start")
    piece, most = (3, 1) if quick else (PIECE, MOST_PIECES)
    # A first run spends most of its time compiling: that must not leave it without rounds.
    left = max(seconds / 3, seconds - (monotonic() - began))
    times = race(runs, where, left, _say, piece=piece, most=most)
    facts = _facts(where, field, quick, arena.bytes)
    return result_of(times, field.contestants, field.roofs, facts, provenance(0, where), field.left_out)


def _facts(where: Any, field: Any, quick: bool, arena: int) -> dict[str, Any]:
    """What a reader must know of the values beside their spread."""
    import torch

    from memlessons.measure import probe

    return {
        "kind": where.type,
        "quick": quick,
        "tokens": field.tokens,
        "dtype": field.dtype,
        "sequences": field.sequences,
        "product_width": field.product_width,
        "block_bytes": arena,
        "threads": torch.get_num_threads() if where.type == "cpu" else 0,
        "memory_bytes": probe.memory_bytes(where),
        "caches": [list(level) for level in probe.cache_levels(where)],
        "checked": field.checked,
    }


def _pictured(result: "Result", text: str, folder: Path) -> list[str]:
    """Write the figure's page; the lines that say where it is, and what stands beside this device."""
    from memlessons.device.recorded import measurements, recorded_devices

    beside: list[Recorded] = recorded_devices()
    if beside:
        notes = f"recorded beside it, fainter: {'; '.join(r.name for r in beside)}"
    elif measurements().is_dir():
        notes = "no other device is recorded in the book's measurements"
    else:
        notes = "no recorded devices beside it: they come with the book's folder, which is not installed here"
    if find_spec("plotly") is None:
        return [
            f"no figure: it needs plotly, which is not installed; pip install 'memlessons[book]' ({notes})"
        ]
    from memlessons.device.figure import roofline_of
    from memlessons.device.page import write_page

    title = f"Roofline of {result.device}"
    path = write_page(folder / "measure.html", title, roofline_of(result, beside), text, notes)
    return [f"figure: {path}", notes]
