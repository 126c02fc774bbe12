"""Published figures of caches, and whether this package says the same: anybody can check it with their own.

A file of rows is JSON lines; a row is one published figure with its configuration, engine, source and
tolerance. `named.jsonl` holds rows whose source anybody can open.
"""

import json
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.plan.engines import allocation
from memlessons.plan.errors import InvalidPlan

MOST_LINE = 2**20
# What a row says in fields of its own, or not at all.
_NO_ARGUMENTS = frozenset((
    "config_or_plan", "engine", "context_tokens", "batch", "kv_dtype", "tp", "draft", "unknown_state",
    "without",
))  # fmt: skip
_NUMBERS = ("context_tokens", "batch", "tp", "tolerance")
# Measures that have no state in them can be summed where a configuration does not describe its states.
_STATELESS = ("bytes", "k", "v", "base", "swa", "idx", "cross", "self", "tokens")


class BadRow(MemlessonsError, ValueError):
    """A line that is no row: the message gives the line's number and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure: `expected` bytes (or tokens) of a `measure`, within a relative `tolerance`."""

    id: str
    config: Mapping[str, Any]
    engine: str
    context_tokens: int
    batch: int
    kv_dtype: str
    tp: int
    engine_args: Mapping[str, Any]
    measure: str
    expected: float
    tolerance: float
    source: str = ""
    model: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A row and what we say: `got` is None where we refuse to say, and `reason` then tells why."""

    row: Row
    got: int | None
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether ours lies within the row's tolerance."""
        # A published figure has a last digit; a relative 1e-9 is what reading it as a float may cost.
        allowed = (self.row.tolerance + 1e-9) * abs(self.row.expected)
        return self.got is not None and abs(self.got - self.row.expected) <= allowed

    def line(self) -> str:
        """`id expected got ok|off`, with the reason where nothing was got."""
        got = "-" if self.got is None else str(self.got)
        more = f" ({self.reason})" if self.reason else ""
        expected = self.row.expected
        shown = str(int(expected)) if float(expected).is_integer() else str(expected)
        return f"{self.row.id} {shown} {got} {'ok' if self.ok else 'off'}{more}"


def read_rows(path: str | Path) -> Iterator[Row]:
    """The rows of a file, one a line; empty lines do not count. BadRow for a line that is none."""
    try:
        # A pipe or a device may have no end, and opening one may wait for ever.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise BadRow(f"{path} is no file (a folder, a pipe or a device): give a file of JSON lines")
        with Path(path).open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_LINE + 1), b""), start=1):
                if len(line) > MOST_LINE:
                    raise BadRow(f"{path}, line {number}: longer than {MOST_LINE:,} bytes")
                if line.strip():
                    yield _row(line, f"{path}, line {number}")
    except BadRow:
        raise
    except (OSError, ValueError) as error:
        raise BadRow(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def named_rows() -> list[Row]:
    """The rows that come with the package; each names a source that a reader can open."""
    text = files("memlessons.plan.truths").joinpath("named.jsonl").read_text(encoding="utf-8")
    return [_row(line.encode(), f"named.jsonl, line {i}") for i, line in enumerate(text.splitlines(), 1)]


def check(row: Row, without: frozenset[str] = frozenset()) -> Checked:
    """What this package says to a row; `without` names rules to leave out."""
    wrong = sorted(_NO_ARGUMENTS & row.engine_args.keys())
    if wrong:
        return Checked(row, None, f"engine_args must not name {', '.join(wrong)}: a row has fields for it")
    try:
        got = allocation(
            row.config,
            engine=row.engine,
            context_tokens=row.context_tokens,
            batch=row.batch,
            kv_dtype=row.kv_dtype,
            tp=row.tp,
            unknown_state="leave out" if row.measure in _STATELESS else "refuse",
            without=without,
            **row.engine_args,
        ).measured(row.measure)
    except InvalidPlan as error:
        return Checked(row, None, str(error))
    return Checked(row, got)


def _row(line: bytes, where: str) -> Row:
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadRow(f"{where}: no JSON ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise BadRow(f"{where}: must be an object")
    expected = found.get("expected_bytes", found.get("expected_tokens"))
    values: dict[str, Any] = {
        "batch": 1,
        "tp": 1,
        "kv_dtype": "f16",
        "engine": "ideal",
        "engine_args": {},
        "tolerance": 0.0,
    }
    values |= {"measure": "bytes" if "expected_bytes" in found else "tokens", **found, "expected": expected}
    for name in ("id", "engine", "kv_dtype", "measure"):
        if not isinstance(values.get(name), str):
            raise BadRow(f"{where}: {name} must be a text")
    for name in ("config", "engine_args"):
        if not isinstance(values.get(name), dict):
            raise BadRow(f"{where}: {name} must be an object")
    for name in (*_NUMBERS, "expected"):
        value = values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e30:
            raise BadRow(f"{where}: {name} must be a number, 0 or more")
    for name in ("context_tokens", "batch", "tp"):
        if not float(values[name]).is_integer():
            raise BadRow(f"{where}: {name} must be a whole number")
        values[name] = int(values[name])
    values |= {name: str(values.get(name, "")) for name in ("source", "model", "evidence")}
    return Row(**{name: values[name] for name in Row.__dataclass_fields__})
