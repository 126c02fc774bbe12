"""Data-sheet figures of accelerators, each with its source and how sure it is.

The figures lie in `accelerators.json` in the units of the box. Cards are sold in GB, and `memory_bytes`
takes that word literally, 10^9 bytes. Makers count chips in binary units, and error correction and the
driver keep a part, so that a program finds some 98 % to 107 % of it. `visible_bytes` is what it finds: the
device's total as CUDA, HIP or SYCL report it, the least that public logs show. That is less than
nvidia-smi shows (an RTX 4090, sold as 24 GB, has 23.52 GiB for torch on Linux and 23.99 GiB for
nvidia-smi); on Windows both are nearly the same. Where the CPU shares the memory, as on a Mac, it is what
the GPU may take by default. `usable_bytes` is the better known of the two.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from memlessons.errors import MemlessonsError
from memlessons.units import GIB, MIB, bytes_text, flops_text, rate_text

Confidence = Literal["cited", "partly cited", "recalled", "measured here", "assumed"]


class UnknownAccelerator(MemlessonsError, KeyError):
    """No accelerator of that name is in the table."""

    def __str__(self) -> str:  # KeyError would print the message in quotes
        return str(self.args[0])


class MissingFigure(MemlessonsError, ValueError):
    """A bound needs a figure that is not known for this accelerator; we never invent one."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A device as a roofline sees it; None is "not known", never zero.

    `memory_bytes` as sold, `visible_bytes` as seen by a program; `bandwidth` of its own memory,
    `host_link` to the host and `peer_link` to other devices (each direction) in bytes/s; dense FLOP/s:
    `matmul_flops` for 16-bit inputs accumulated in 32 bits, `fp16_accumulate_flops` accumulated in 16,
    `fp8_flops`, `fp4_flops`; `l2_bytes` is the last cache on the device. `confidence` says whether the
    figures are cited, recalled or measured; `source` and `note` say the rest.
    """

    name: str
    kind: str
    memory_bytes: int
    visible_bytes: int | None
    bandwidth: float
    matmul_flops: float | None
    fp8_flops: float | None
    l2_bytes: int | None
    host_link: float | None
    source: str
    confidence: Confidence
    fp16_accumulate_flops: float | None = None
    fp4_flops: float | None = None
    peer_link: float | None = None
    note: str = ""

    @property
    def usable_bytes(self) -> int:
        """Bytes a program can count on before any reserve: visible where known, as sold otherwise."""
        return self.memory_bytes if self.visible_bytes is None else self.visible_bytes

    def figure(self, field: str) -> float:
        """The figure called `field`; raises MissingFigure where it is not known."""
        value = getattr(self, field)
        if value is None:
            raise MissingFigure(
                f"{self.name}: {field} is not known; look it up, then "
                f"dataclasses.replace(accelerator, {field}=...)"
            )
        return value

    def __str__(self) -> str:
        matmul = "matmul rate not known" if self.matmul_flops is None else flops_text(self.matmul_flops)
        figures = (bytes_text(self.usable_bytes), rate_text(self.bandwidth), matmul)
        return f"{self.name}: {', '.join(figures)} ({self.confidence})"


@cache
def accelerators() -> tuple[Accelerator, ...]:
    """All accelerators of the table, in its order: desktop, laptop, data centre, unified memory."""
    table = json.loads(files("memlessons.cost").joinpath("accelerators.json").read_text(encoding="utf-8"))
    return tuple(_accelerator(entry) for entry in table["accelerators"])


def get(name: str) -> Accelerator:
    """The accelerator of that name, in any case and spacing; UnknownAccelerator suggests close ones."""
    wanted = _plain(name)
    by_name = {_plain(a.name): a for a in accelerators()}
    if wanted in by_name:
        return by_name[wanted]
    # "h100" is no typing mistake but half a name: several cards carry it.
    parts = [a.name for key, a in by_name.items() if wanted and wanted in key]
    close = parts or [by_name[key].name for key in get_close_matches(wanted, by_name, n=4, cutoff=0.5)]
    hint = f"did you mean {' or '.join(close[:6])}?" if close else "accelerators() lists the known ones"
    raise UnknownAccelerator(f"no accelerator {name!r}; {hint}")


def _plain(name: str) -> str:
    return "".join(str(name).lower().replace("-", " ").split())


def _accelerator(entry: dict[str, Any]) -> Accelerator:
    def scaled(key: str, unit: float, kind: Callable[[float], Any] = float) -> Any:
        return None if entry.get(key) is None else kind(entry[key] * unit)

    return Accelerator(
        name=entry["name"],
        kind=entry["kind"],
        memory_bytes=scaled("memory_gb", 1e9, round),
        visible_bytes=scaled("visible_gib", GIB, round),
        bandwidth=scaled("bandwidth_gb_s", 1e9),
        matmul_flops=scaled("matmul_tflops", 1e12),
        fp8_flops=scaled("fp8_tflops", 1e12),
        l2_bytes=scaled("cache_mib", MIB, round),
        host_link=scaled("host_link_gb_s", 1e9),
        source=entry["source"],
        confidence=entry["confidence"],
        fp16_accumulate_flops=scaled("fp16_accumulate_tflops", 1e12),
        fp4_flops=scaled("fp4_tflops", 1e12),
        peer_link=scaled("peer_link_gb_s", 1e9),
        note=entry.get("note", ""),
    )
