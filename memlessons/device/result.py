"""What was measured, as values with their spread: roofs, and for each contestant its share of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memlessons.measure import CorruptFile, Record, Timing, Value
from memlessons.measure.files import take

RECORD_NAME = "measure"
CACHED = 1.02
"""A share of the reading rate above this was not read from memory alone."""
ROUND = "ratio of the same round"
OURS = "memlessons"


@dataclass(frozen=True, slots=True)
class Point:
    """One contestant's time, and its shares of reading and of multiplying, round by round.

    `against` is its time over that of this book's kernel in the same row; None where there is none.
    """

    row: str
    who: str
    note: str
    bytes_moved: int
    flops: int
    seconds: Value
    of_read: Value
    of_multiply: Value
    against: Value | None = None

    @property
    def name(self) -> str:
        """The name by which it was timed and is recorded."""
        return f"{self.row}, {self.who}"

    @property
    def intensity(self) -> float:
        """FLOP for each byte that has to be moved."""
        return self.flops / self.bytes_moved

    @property
    def rate(self) -> float:
        """FLOP per second that were reached, at the median time."""
        return self.flops / self.seconds.median

    @property
    def cached(self) -> bool:
        """Whether it was faster than the memory was read in the same rounds."""
        return self.of_read.median > CACHED


@dataclass(frozen=True, slots=True)
class Result:
    """One run on one device. `read` and `copy` in bytes/s, `multiply` in FLOP/s, `ridge` in FLOP per byte."""

    facts: Mapping[str, Any]
    provenance: Mapping[str, Any]
    read: Value
    copy: Value
    multiply: Value
    ridge: Value
    points: tuple[Point, ...]
    left_out: Mapping[str, str]

    @property
    def device(self) -> str:
        """The maker's name of the device."""
        return str(self.provenance.get("device", "not known"))

    def limit(self, point: Point) -> str:
        """Which roof is over a point: "memory", "compute", or "either" within the ridge's middle half."""
        if self.ridge.low <= point.intensity <= self.ridge.high:
            return "either"
        return "memory" if point.intensity < self.ridge.median else "compute"

    def record(self) -> Record:
        """This result as a record with provenance; `of_record` reads it back."""
        roofs = {"read": self.read, "copy": self.copy, "multiply": self.multiply, "ridge": self.ridge}
        values, rows = dict(roofs), {}
        for p in self.points:
            values |= {
                p.name: p.seconds,
                f"{p.name}: of read": p.of_read,
                f"{p.name}: of multiply": p.of_multiply,
            }
            if p.against is not None:
                values[f"{p.name}: / {OURS}"] = p.against
            told = asdict(p)
            rows[p.name] = {key: told[key] for key in ("row", "who", "note", "bytes_moved", "flops")}
        facts = dict(self.facts) | {"rows": rows, "left_out": dict(self.left_out)}
        return Record(RECORD_NAME, values, self.provenance, facts)


def of_record(record: Record) -> Result:
    """The result that a record keeps. CorruptFile, naming what is missing, for any other record."""
    facts, values, where = dict(record.facts), record.values, f"record {record.name!r}"
    rows, left_out = take(facts, "rows", dict, where), take(facts, "left_out", dict, where)
    try:
        points = [
            Point(
                **{key: take(told, key, kind, f"{where}: {name}") for key, kind in _TOLD.items()},
                seconds=values[name],
                of_read=values[f"{name}: of read"],
                of_multiply=values[f"{name}: of multiply"],
                against=values.get(f"{name}: / {OURS}"),
            )
            for name, told in rows.items()
        ]
        roofs = {name: values[name] for name in ("read", "copy", "multiply", "ridge")}
    except KeyError as error:
        raise CorruptFile(f"{where}: the value {error} is missing") from None
    rest = {key: value for key, value in facts.items() if key not in ("rows", "left_out")}
    return Result(rest, record.provenance, points=tuple(points), left_out=left_out, **roofs)


_TOLD: dict[str, type] = {"row": str, "who": str, "note": str, "bytes_moved": int, "flops": int}


def result_of(
    times: Mapping[str, Timing],
    contestants: Any,
    roofs: Mapping[str, Any],
    facts: Mapping[str, Any],
    provenance: Mapping[str, Any],
    left_out: Mapping[str, str],
) -> Result:
    """Values from times: each share and ratio is one of the same round, then a median and its middle half.

    `contestants` and `roofs` are those of the field; where two loops read, the faster one is the roof.
    """
    readers = [name for name in roofs if name.startswith("read")]
    best = max(readers, key=lambda name: roofs[name].amount / times[name].seconds)
    read, copy, multiply = (
        [roofs[name].amount / s for s in times[name].samples] for name in (best, "copy", "multiply")
    )
    points = []
    for c in contestants:
        samples = times[c.name].samples
        base = times.get(c.rival or f"{c.row}, {OURS}") if c.who != OURS else None
        against = None
        if base is not None:
            against = Value.of([a / b for a, b in zip(samples, base.samples, strict=True)], ROUND)
        of_read, of_multiply = (
            Value.of([amount / s / rate for s, rate in zip(samples, rates, strict=True)], ROUND)
            for amount, rates in ((c.bytes_moved, read), (c.flops, multiply))
        )
        seconds = Value.of(times[c.name])
        points.append(
            Point(c.row, c.who, c.note, c.bytes_moved, c.flops, seconds, of_read, of_multiply, against)
        )
    ridge = Value.of([m / r for m, r in zip(multiply, read, strict=True)], "FLOP per byte")
    return Result(
        dict(facts) | {"read by": best}, provenance, Value.of(read, "bytes/s"), Value.of(copy, "bytes/s"),
        Value.of(multiply, "FLOP/s"), ridge, tuple(points), dict(left_out),
    )  # fmt: skip
