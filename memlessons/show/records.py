"""Recorded runs of the kernel race as rows of a table: other devices, with their names and dates."""

import re
from pathlib import Path
from typing import Any

from memlessons.measure import Record, Value
from memlessons.places import book_folder
from memlessons.units import seconds_text

# What a row is called in a CPU's record, and in a GPU's: how many query heads share how many memories.
_CPU = re.compile(r"(T\d+ kv(\d+)) twin")
_GPU = {"gqa B32 T4096": "32 on 8", "mha 256 MiB": "32 on 32", "mqa 256 MiB": "32 on 1"}


def kernel_rows(folder: Path | None = None) -> list[dict[str, Any]]:
    """One row for each recorded call: device, date, heads, time, share of the speed of bare reading.

    Reads `kernels-*.json` in `folder` (the book's measurements if not given); a rehearsal is no
    measurement and is left out. Raises CorruptFile for a file that is no record.
    """
    rows = []
    for path in sorted((folder or book_folder() / "measurements").glob("kernels-*.json")):
        record = Record.read(path)
        if not record.facts.get("rehearsal"):
            rows += [_row(record, *found) for found in _found(record)]
    return rows


def _found(record: Record) -> list[tuple[str, Value, Value | None]]:
    """(heads, time, share of reading) of the calls that the chapters speak of."""
    found = []
    for name, value in record.values.items():
        cpu = _CPU.fullmatch(name)
        if cpu:
            found.append((f"32 on {cpu[2]}", value, record.values.get(f"{cpu[1]} stream / twin")))
    for name, heads in _GPU.items():
        if f"{name} ours" in record.values:
            share = record.values.get(f"{name} ours of ceiling")
            found.append((heads, record.values[f"{name} ours"], share))
    return found


def _row(record: Record, heads: str, time: Value, share: Value | None) -> dict[str, Any]:
    return {
        "device": record.provenance.get("device", "not known"),
        "date": str(record.provenance.get("date", ""))[:10],
        "query heads on memories": heads,
        "time": seconds_text(time.median),
        "share of bare reading": "–" if share is None else f"{share.median:.0%}",
        "half of the runs within": "–" if share is None else f"{share.low:.0%} to {share.high:.0%}",
    }
