"""Records: measured values with their spread, and where, when and with what they were measured."""

import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import memlessons
from memlessons.measure.files import CorruptFile, read_json, take, write_json
from memlessons.measure.timing import Timing

NOT_A_TREE = "not a git tree"
_FORM = "memlessons.record/1"
_TREE = Path(memlessons.__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Value:
    """One measured value: its median, the quartiles `low` and `high`, repetitions and unit."""

    median: float
    low: float
    high: float
    repetitions: int
    unit: str

    @staticmethod
    def of(measured: Timing | Sequence[float] | float, unit: str = "seconds") -> "Value":
        """The value of a timing, of samples, or of a single number that has no spread."""
        samples = (float(measured),) if isinstance(measured, int | float) else measured
        timing = samples if isinstance(samples, Timing) else Timing.of(samples)
        return Value(timing.seconds, timing.low, timing.high, timing.repetitions, unit)

    @property
    def iqr(self) -> float:
        """The interquartile range: the middle half of the repetitions lies within it."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Record:
    """A run that was kept: its name, its values by name, and its provenance (see `provenance`).

    `facts` are what a reader must know of the values beside their spread: shapes, what was left out.
    """

    name: str
    values: Mapping[str, Value]
    provenance: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write this record as JSON, whole or not at all; returns the path."""
        fields = asdict(self)
        if not self.facts:
            del fields["facts"]
        write_json(path, {"form": _FORM} | fields)
        return path

    @staticmethod
    def read(path: Path) -> "Record":
        """The record in a file; CorruptFile says what is wrong with any other."""
        source = read_json(path)
        if source.get("form") != _FORM:
            raise CorruptFile(f"{path.name}: the field 'form' must be {_FORM!r}")
        values = take(source, "values", dict, path.name)
        return Record(
            take(source, "name", str, path.name),
            {name: _value(entry, f"{path.name}: {name}") for name, entry in values.items()},
            take(source, "provenance", dict, path.name),
            take(source, "facts", dict, path.name) if "facts" in source else {},
        )


def _value(entry: Any, where: str) -> Value:
    if not isinstance(entry, dict):
        raise CorruptFile(f"{where} must be an object")
    median, low, high = (take(entry, key, float, where) for key in ("median", "low", "high"))
    repetitions, unit = take(entry, "repetitions", int, where), take(entry, "unit", str, where)
    if not low <= median <= high or repetitions < 1:
        raise CorruptFile(f"{where}: must have low <= median <= high and at least one repetition")
    return Value(median, low, high, repetitions, unit)


def provenance(seed: int | None = None, device: Any = None) -> dict[str, Any]:
    """Where a measurement comes from: commit, device, driver, versions, seed, date. Never fails.

    `device` is the torch device measured on, the best one here if not given. No host or user names, no
    paths: a record can be shared.
    """
    commit, dirty = _commit()
    return {
        "commit": commit,
        "dirty": dirty,
        "device": _device_name(device),
        "driver": driver_version(),
        "system": f"{platform.system()} {platform.machine()}".strip(),
        "versions": versions(),
        "seed": seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def versions() -> dict[str, str]:
    """Versions of what decides a measurement; a package that is not installed is left out."""
    found = {"memlessons": memlessons.__version__, "python": platform.python_version()}
    for package in ("torch", "triton", "numpy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def driver_version() -> str | None:
    """The NVIDIA driver's version, None where there is no such driver."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
        found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", text)
        if found:
            return found.group(1)
    except OSError:
        pass
    answer = _ask("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return answer.splitlines()[0].strip() if answer else None


def _commit() -> tuple[str, bool | None]:
    """The commit of the tree this package lies in, and whether it was changed since."""
    git = ("git", "-C", str(_TREE))
    top = _ask(*git, "rev-parse", "--show-toplevel")
    # A wheel installed inside somebody else's repository is not of that repository's commit.
    if not top or Path(top).resolve() != _TREE:
        return NOT_A_TREE, None
    commit = _ask(*git, "rev-parse", "HEAD")
    changes = _ask(*git, "status", "--porcelain", "--untracked-files=no")
    return (commit or NOT_A_TREE), (None if changes is None or not commit else bool(changes))


def _ask(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _device_name(device: Any) -> str:
    try:
        from memlessons.measure.probe import best_device, device_name

        return device_name(best_device() if device is None else device)
    except Exception:  # a record is worth more than the name of its device
        return "not known"
