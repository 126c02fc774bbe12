"""Other devices' roofs and points, from the records that come with the book."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memlessons.device.result import OURS, RECORD_NAME, of_record
from memlessons.measure import Record
from memlessons.places import book_folder

_TWIN = re.compile(r"T(\d+) (kv(\d+)) twin")


class Recorded(NamedTuple):
    """A device as it was recorded: bytes/s, FLOP/s (None: not recorded), (FLOP per byte, FLOP/s) by row."""

    device: str
    date: str
    read: float
    multiply: float | None
    points: dict[str, tuple[float, float]]

    @property
    def name(self) -> str:
        """The device and the day: "AMD EPYC, 2026-11-30"."""
        return f"{self.device}, {self.date}"


def measurements() -> Path:
    """The folder of the book's records, whether it is there or not."""
    return book_folder() / "measurements"


def recorded_devices(folder: Path | None = None) -> list[Recorded]:
    """Devices in `kernels-*.json` and `measure-*.json` of a folder, the book's if not given; often none.

    Rehearsals and quick runs are no measurements; a record without a reading rate is left out. CorruptFile
    for a file that is no record.
    """
    found = []
    for path in sorted((folder or measurements()).glob("*.json")):
        if not path.name.startswith(("kernels-", f"{RECORD_NAME}-")):
            continue
        record = Record.read(path)
        if record.facts.get("rehearsal") or record.facts.get("quick"):
            continue
        one = _own(record) if record.name == RECORD_NAME else _race(record)
        if one is not None:
            found.append(one)
    return found


def _own(record: Record) -> Recorded:
    """A record that `memlessons measure` wrote."""
    result = of_record(record)
    points = {p.row: (p.intensity, p.rate) for p in result.points if p.who == OURS}
    return Recorded(*_where(record), result.read.median, result.multiply.median, points)


def _race(record: Record) -> Recorded | None:
    """A record of the kernel race: a GPU's has its ceiling, a CPU's a loop that reads the same bytes."""
    values = record.values
    multiply = values["matmul rate"].median if "matmul rate" in values else None
    rows = [row for row in record.facts.get("rows", {}).values() if isinstance(row, dict)]
    points: dict[str, tuple[float, float]] = {}
    read, longest = values["ceiling"].median if "ceiling" in values else 0.0, 0
    for row in rows:
        for name, moved, flops, seconds, stream in _cpu(row, values):
            points.setdefault(name, (flops / moved, flops / seconds))
            # The longest of the loops that only read: a short one may have read from a cache.
            if "ceiling" not in values and stream and moved > longest:
                read, longest = moved / stream, moved
    for name, row in record.facts.get("rows", {}).items():
        gpu = _gpu(row, f"{name} ours", values) if isinstance(row, dict) else None
        if gpu is not None:
            points.setdefault(*gpu)
    return Recorded(*_where(record), read, multiply, points) if read else None


def _where(record: Record) -> tuple[str, str]:
    told = record.provenance
    return str(told.get("device", "not known")), str(told.get("date", ""))[:10]


def _cpu(row: Mapping[str, Any], values: Any) -> Iterator[tuple[str, int, int, float, float | None]]:
    """(row, bytes, FLOP, seconds, seconds of only reading) of a CPU's calls with so many kv heads."""
    for value_name, value in values.items():
        call = _TWIN.fullmatch(value_name)
        inner = row.get("rows")
        told = inner.get(call[2]) if call and isinstance(inner, dict) else None
        if not call or not isinstance(told, dict) or "HQ" not in row or "D" not in row:
            continue
        flops = 4 * row["HQ"] * int(call[1]) * row["D"]
        stream = values.get(value_name.replace(" twin", " stream"))
        name = row_name(row["HQ"], int(call[3]))
        yield name, told["bytes_moved"], flops, value.median, stream.median if stream else None


def _gpu(row: Mapping[str, Any], name: str, values: Any) -> tuple[str, tuple[float, float]] | None:
    """The point of a GPU's row, by its sizes: B, HQ, HKV, T, D, window, value_width, int8."""
    if name not in values or not {"B", "HQ", "HKV", "T", "D", "bytes_moved"} <= set(row):
        return None
    seen = min(row["T"], row.get("window") or row["T"])
    flops = 2 * row["B"] * row["HQ"] * seen * (row["D"] + (row.get("value_width") or row["D"]))
    kind = "latent" if row.get("value_width") else row_name(row["HQ"], row["HKV"])
    for form in ("int8", "window", "page"):
        kind += f" {form}" if row.get(form) else ""
    return kind, (flops / row["bytes_moved"], flops / values[name].median)


def row_name(query_heads: int, kv_heads: int) -> str:
    """What a row of so many heads is called: "MHA", "GQA 32/8", "MQA"."""
    if kv_heads == query_heads:
        return "MHA"
    return "MQA" if kv_heads == 1 else f"GQA {query_heads}/{kv_heads}"
