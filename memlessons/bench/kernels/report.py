"""Each target beside what a record has of it: reached, missed, or why it was not measured."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from memlessons.bench.kernels.targets import GPU, Target, cpu_targets
from memlessons.errors import MemlessonsError
from memlessons.measure import CorruptFile, Record, Value
from memlessons.units import seconds_text


def report(record: Record) -> str:
    """The table of targets for the device that the record is of."""
    head = f"targets, {record.provenance.get('device', 'a device')}, {record.provenance.get('date', '')[:10]}"
    rows = [("what", "measure", "must", "good", "reached", "half of the runs within", "verdict")]
    for target in targets_for(record):
        value = found(target, record)
        rows.append((target.name, target.metric, limit(target, target.must), limit(target, target.good),
                     *_reached(target, value), verdict(target, value, record)))  # fmt: skip
    return "\n".join([head, *_columns(rows)])


class NoSuchRecord(MemlessonsError, FileNotFoundError):
    """The file that should be reported on is not there."""


def report_file(path: Path) -> str:
    """The table of a file; NoSuchRecord where there is none, CorruptFile says what is wrong with another."""
    if not path.is_file():
        raise NoSuchRecord(f"--report {path}: there is no such file; --out DIR of a run says where it writes")
    record = Record.read(path)
    if record.name != "kernels":
        raise CorruptFile(f"{path.name}: a record of {record.name!r}, not of the kernel race")
    return report(record)


def targets_for(record: Record) -> Sequence[Target]:
    """Those of a CPU for a record of the CPU's race, else those of a GPU."""
    device = record.facts.get("device", {})
    return cpu_targets(int(device["tokens"])) if "tokens" in device else GPU


def found(target: Target, record: Record) -> Value | None:
    """The value that a target speaks of; of several (a star), the smallest. None if there is none."""
    matching = [v for name, v in record.values.items() if target.value and fnmatchcase(name, target.value)]
    if not matching:
        return None
    value = min(matching, key=lambda v: v.median)
    if not target.inverse:
        return value
    return Value(1 / value.median, 1 / value.high, 1 / value.low, value.repetitions, value.unit)


def verdict(target: Target, value: Value | None, record: Record) -> str:
    """In words: "good", "reached", "missed", or "not measured" and why."""
    if value is None:
        return f"not measured: {why_not(target, record)}"

    def reaches(aim: float | None) -> bool:
        return aim is not None and (value.median >= aim if target.least else value.median <= aim)

    if reaches(target.good):
        return "good"
    if target.must is None:
        return "missed"
    return "reached" if reaches(target.must) else "missed"


def why_not(target: Target, record: Record) -> str:
    """Why a record has no value for a target."""
    facts, job = record.facts, target.job
    if target.missing:
        return target.missing
    if facts.get("rehearsal"):
        return "a rehearsal has no figures"
    for state in ("failed", "left_out"):
        if job in facts.get(state, {}):
            return f"{state.replace('_', ' ')}, {facts[state][job]}"
    for contender, why in facts.get("refused", {}).items():
        # A ratio needs both of its contenders.
        name = contender.removeprefix(f"{job} ")
        if name != contender and name in _contenders(target):
            return f"{name} was refused, {why}"
    for name, why in facts.get("rows", {}).get(job, {}).get("not_accepted", {}).items():
        if name in _contenders(target):
            return f"{name}, {why}"
    return "not in this record"


def limit(target: Target, number: float | None) -> str:
    """A limit in the target's unit, with its direction; a dash for none."""
    return "–" if number is None else f"{'>=' if target.least else '<='} {_text(target, number)}"


def _contenders(target: Target) -> list[str]:
    what = target.value.removeprefix(f"{target.job} ").removesuffix(" of ceiling")
    return what.split(" / ")


def _reached(target: Target, value: Value | None) -> tuple[str, str]:
    if value is None:
        return "–", "–"
    return _text(target, value.median), f"{_text(target, value.low)} to {_text(target, value.high)}"


def _text(target: Target, number: float) -> str:
    if target.unit == "seconds":
        return seconds_text(number)
    return f"{number:.0%}" if target.unit == "share" else f"{number:.2f} x"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
