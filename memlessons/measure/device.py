"""This machine as a memory system: its rates, measured once in a few seconds and kept with their date."""

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import torch

from memlessons.cost import Accelerator, MissingFigure
from memlessons.errors import MemlessonsError
from memlessons.measure import probe
from memlessons.measure.files import CorruptFile, read_json, take, write_json
from memlessons.measure.probe import CacheLevel
from memlessons.measure.record import versions
from memlessons.places import cache_folder, pace
from memlessons.units import bytes_text, flops_text, rate_text, seconds_text

_FORM = "memlessons.machine/1"
_KEPT_FOR = timedelta(days=30)


class NoSuchDevice(MemlessonsError, ValueError):
    """A device that this machine or this build of torch does not have."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A device's measured rates.

    `copy_rate` (read plus written) and `read_rate` in bytes/s of large blocks; `matmul_rate` in FLOP/s for
    float32 and `half_matmul_rate` for 16-bit (None where not measured: CPUs); `call_seconds`, the fixed cost
    of a call; `staircase`, pairs of (working set in bytes, bytes/s), read by one core where the device is a
    CPU. All other rates are those of all its `threads` (0 on a GPU).
    """

    name: str
    device: str
    copy_rate: float
    read_rate: float
    matmul_rate: float
    half_matmul_rate: float | None
    call_seconds: float
    staircase: tuple[tuple[int, float], ...]
    threads: int
    memory_bytes: int | None
    caches: tuple[CacheLevel, ...]
    measured_at: str
    pace: str
    versions: dict[str, str]

    @property
    def ridge(self) -> float:
        """FLOP in float32 per byte read from which this device computes rather than waits."""
        return self.matmul_rate / self.read_rate

    def accelerator(self) -> Accelerator:
        """This device as a roofline sees it: read rate; 16-bit matmul where measured, else float32."""
        if self.memory_bytes is None:
            raise MissingFigure(f"{self.name}: memory_bytes is not known on this system")
        half = self.half_matmul_rate
        last = self.caches[-1] if self.caches else None
        return Accelerator(
            name=self.name,
            kind=self.device.partition(":")[0],
            memory_bytes=self.memory_bytes,
            visible_bytes=self.memory_bytes,
            bandwidth=self.read_rate,
            matmul_flops=self.matmul_rate if half is None else half,
            fp8_flops=None,
            l2_bytes=None if last is None else last.bytes * last.instances,
            host_link=None,
            source=f"measured on {self.measured_at[:10]} with torch {self.versions.get('torch', '?')}",
            confidence="measured here",
            note=f"matmul rate of {'float32' if half is None else 'float16'}",
        )

    def __str__(self) -> str:
        threads = f", {self.threads} threads" if self.threads else ""
        rows = [
            ("reads", rate_text(self.read_rate)),
            ("copies", f"{rate_text(self.copy_rate)}, read and written"),
            ("multiplies", f"{flops_text(self.matmul_rate)} in float32"),
            ("ridge", f"{self.ridge:.1f} FLOP per byte"),
            ("a call costs", seconds_text(self.call_seconds)),
        ]
        if self.half_matmul_rate is not None:
            rows.insert(3, ("", f"{flops_text(self.half_matmul_rate)} in float16"))
        if self.caches:
            levels = (
                f"{c.name} {bytes_text(c.bytes)}{f' x {c.instances}' if c.instances > 1 else ''}"
                for c in self.caches
            )
            rows.append(("caches", ", ".join(levels)))
        rows.append(("reads again and again" + (", one core" if self.threads else ""), ""))
        rows += [(f"  {bytes_text(size)}", rate_text(rate)) for size, rate in self.staircase]
        head = f"{self.name} ({self.device}{threads}), measured {self.measured_at[:16].replace('T', ' ')} UTC"
        return "\n".join([head, *(f"  {name:<14}{text}" for name, text in rows)])


def machine(device: Any = None, fresh: bool = False) -> Machine:
    """This machine's device (the best one if not given), measured now or read from the kept measurement.

    A kept one counts if it is readable, at most 30 days old, of the same device, threads and torch, and not
    of the quick pace where the full one is asked. NoSuchDevice for a device that is not here.
    """
    try:
        where = torch.device(probe.best_device() if device is None else device)
        torch.empty(1, device=where)
    except (RuntimeError, AssertionError, TypeError) as error:
        first = str(error).splitlines()[0]
        raise NoSuchDevice(f"device={device!r}: not on this machine ({first}); try 'cpu'") from None
    path = cache_folder() / f"machine-{str(where).replace(':', '-')}.json"
    kept = None if fresh else _kept(path, where)
    if kept is not None:
        return kept
    measured = measure(where)
    # A full or read-only disk costs the next call a few seconds, no more.
    with suppress(OSError):
        write_json(path, {"form": _FORM} | asdict(measured))
    return measured


def measure(device: Any) -> Machine:
    """Measure a device now, at the present pace; takes a few seconds (quick: about one)."""
    where, quick = torch.device(device), pace() == "quick"
    caches = probe.cache_levels(where)
    largest = probe.room(where, caches, quick)
    each = 0.03 if quick else 0.15
    gpu = where.type != "cpu"
    block = torch.ones(largest // 4, device=where)
    half = None
    if gpu:
        half = probe.matmul_rate(where, 4096 if quick else 8192, torch.float16, each)
    return Machine(
        name=probe.device_name(where),
        device=str(where),
        copy_rate=probe.copy_rate(block, 2 * each),
        read_rate=probe.read_rate(block, 2 * each),
        matmul_rate=probe.matmul_rate(where, 4096 if gpu else 1024, torch.float32, 2 * each),
        half_matmul_rate=half,
        call_seconds=probe.call_seconds(where, each),
        staircase=probe.staircase(block, probe.sizes_up_to(largest, where, 4 if quick else 2), each),
        threads=0 if gpu else torch.get_num_threads(),
        memory_bytes=probe.memory_bytes(where),
        caches=caches,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pace=pace(),
        versions=versions(),
    )


def _kept(path: Path, device: torch.device) -> Machine | None:
    """The kept measurement if it still tells about this device, else None."""
    try:
        found = _from_json(read_json(path), path.name)
        age = datetime.now(UTC) - datetime.fromisoformat(found.measured_at)
    except (OSError, ValueError, TypeError):
        return None
    threads = torch.get_num_threads() if device.type == "cpu" else 0
    same = (found.name, found.device, found.threads) == (probe.device_name(device), str(device), threads)
    same = same and found.versions.get("torch") == versions().get("torch")
    enough = found.pace == "full" or pace() == "quick"
    return found if same and enough and age <= _KEPT_FOR else None


def _from_json(source: dict[str, Any], where: str) -> Machine:
    if source.get("form") != _FORM:
        raise CorruptFile(f"{where}: the field 'form' must be {_FORM!r}")
    number, text, maybe = float, str, type(None)
    kinds: dict[str, Any] = {
        "name": text, "device": text, "copy_rate": number, "read_rate": number, "matmul_rate": number,
        "half_matmul_rate": (number, maybe), "call_seconds": number, "threads": int,
        "memory_bytes": (int, maybe), "measured_at": text, "pace": text, "versions": dict,
    }  # fmt: skip
    fields = {key: take(source, key, kind, where) for key, kind in kinds.items()}
    try:
        steps = tuple((int(size), float(rate)) for size, rate in take(source, "staircase", list, where))
        caches = tuple(CacheLevel(str(n), int(b), int(c)) for n, b, c in take(source, "caches", list, where))
    except (TypeError, ValueError):
        raise CorruptFile(f"{where}: staircase or caches are not lists of numbers") from None
    return Machine(**fields, staircase=steps, caches=caches)
