"""How fast a device moves bytes and multiplies: the measurements behind `Machine`.

A rate here is the best of its repetitions, as in J. McCalpin's STREAM benchmark: it becomes the roof under
which other times are judged, and a roof is what a machine can do, not what it did while it was disturbed.
"""

import ctypes
import os
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from memlessons.measure.timing import Run, timed
from memlessons.units import KIB, MIB

# Enough bytes in one call of the staircase that its fixed cost hardly counts.
_CALL_BYTES = {"cpu": 16 * MIB, "cuda": 512 * MIB, "mps": 0}


class CacheLevel(NamedTuple):
    """A level of a CPU's cache: "L2", the bytes of one cache, and how many such caches there are."""

    name: str
    bytes: int
    instances: int


def best_device() -> str:
    """The device lessons run on: CUDA where there is one, then MPS, then the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_name(device: Any) -> str:
    """The maker's name of a torch device, "NVIDIA H200" or "AMD EPYC"."""
    if torch.device(device).type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    if platform.system() == "Darwin":
        command = ("sysctl", "-n", "machdep.cpu.brand_string")
        asked = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        if asked.stdout.strip():
            return asked.stdout.strip()
    return platform.processor() or platform.machine() or "unnamed CPU"


def memory_bytes(device: Any) -> int | None:
    """Bytes of memory of a device: a GPU's own, otherwise the machine's; None where nobody says."""
    if torch.device(device).type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return _windows_memory()


def _windows_memory() -> int | None:
    """What Windows' GlobalMemoryStatusEx says: eight 8-byte fields, its own size first, then the total."""
    ask = getattr(getattr(getattr(ctypes, "windll", None), "kernel32", None), "GlobalMemoryStatusEx", None)
    status = (ctypes.c_ulonglong * 8)(64)
    return int(status[1]) if ask is not None and ask(ctypes.byref(status)) else None


def cache_levels(device: Any, root: Path = Path("/sys/devices/system/cpu")) -> tuple[CacheLevel, ...]:
    """Data caches from the nearest to the last, as Linux or CUDA report them; empty where neither does."""
    if torch.device(device).type == "cuda":
        size = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
        return (CacheLevel("L2", size, 1),) if size else ()
    found: dict[str, dict[str, int]] = {}
    for index in sorted(root.glob("cpu[0-9]*/cache/index[0-9]*")):
        try:
            level, kind, size, shared = (
                (index / name).read_text(encoding="utf-8").strip()
                for name in ("level", "type", "size", "shared_cpu_list")
            )
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K") and size[:-1].isdigit():
            found.setdefault(f"L{level}", {})[shared] = int(size[:-1]) * KIB
    return tuple(CacheLevel(name, max(each.values()), len(each)) for name, each in sorted(found.items()))


def room(device: Any, caches: tuple[CacheLevel, ...], quick: bool) -> int:
    """Bytes of the largest working set to measure: far beyond the last cache, within an eighth of memory."""
    last = caches[-1].bytes * caches[-1].instances if caches else 0
    least = (1024 if torch.device(device).type == "cuda" else 128 if quick else 256) * MIB
    wanted = max(least, (2 if quick else 4) * last)
    limit = (memory_bytes(device) or 2048 * MIB) // 8
    if torch.device(device).type == "cuda":
        limit = min(limit, torch.cuda.mem_get_info(device)[0] // 4)  # others may use it too
    return 1 << (min(wanted, limit, 4096 * MIB).bit_length() - 1)


def copy_rate(block: torch.Tensor, seconds: float) -> float:
    """Bytes/s of copying one half of a block onto the other, bytes read plus bytes written."""
    half = block.numel() // 2
    source, target = block[:half], block[half : 2 * half]
    return _rate(2 * half * block.element_size(), lambda: target.copy_(source), block.device, seconds)


def read_rate(block: torch.Tensor, seconds: float) -> float:
    """Bytes/s of reading a block once, by adding it up; of torch's reductions, `sum` streams best."""
    out = torch.empty((), device=block.device)
    return _rate(_bytes(block), lambda: torch.sum(block, 0, out=out), block.device, seconds)


def matmul_rate(device: Any, width: int, dtype: torch.dtype, seconds: float) -> float:
    """FLOP/s of multiplying two matrices of `width` x `width`, 2 width^3 FLOP."""
    left, right = (torch.randn(width, width, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(left)
    return _rate(2 * width**3, lambda: torch.mm(left, right, out=out), device, seconds)


def call_seconds(device: Any, seconds: float) -> float:
    """Median seconds of a call that does next to nothing: the fixed cost of any call, many in a row."""
    one = torch.ones(1, device=device)
    return timed(lambda: torch.add(one, one, out=one), device=device, seconds=seconds).seconds


def staircase(
    block: torch.Tensor, sizes: list[int], seconds: float, threads: int = 1
) -> tuple[tuple[int, float], ...]:
    """(working set in bytes, bytes/s of reading it again and again), for each size.

    On a CPU `threads` cores read, each its own share of the working set. One core is the default: its steps
    are as wide as the caches are, and it needs no other core to be free. Alone it may not fill the memory's
    bandwidth: `read_rate` asks all.
    """
    before = torch.get_num_threads()
    if block.device.type == "cpu":
        torch.set_num_threads(threads)
    try:
        return tuple((size, _rate(*reread(block, size), block.device, seconds)) for size in sizes)
    finally:
        torch.set_num_threads(before)


def sizes_up_to(largest: int, device: Any, step: int = 2) -> list[int]:
    """Working sets for a staircase, `step` times apart, the largest one last.

    Below 16 KiB, or 1 MiB on a GPU, starting to read costs more than reading.
    """
    least = 16 * KIB if torch.device(device).type == "cpu" else MIB
    sizes = [largest]
    while sizes[-1] // step >= least:
        sizes.append(sizes[-1] // step)
    return sizes[::-1]


def reread(block: torch.Tensor, size: int) -> tuple[int, Run]:
    """(bytes read by a call, call): one call that reads the block's first `size` bytes many times over.

    The working set is seen `passes` times through a stride of 0, and every row's sum is an output of its
    own: torch adds each row up anew. On a CPU the rows are the threads' shares, each with all its passes
    (torch splits the outer dim among threads), so that a thread comes back to its own share. On a GPU a
    pass covers all rows before the next begins. MPS would copy such a view: one pass.
    """
    kind = block.device.type
    rows = torch.get_num_threads() if kind == "cpu" else max(1, size // (16 * KIB))
    width = size // block.element_size() // rows
    passes = max(1, _CALL_BYTES[kind] // size)
    seen = block[: rows * width].view(rows, width)
    if kind == "cpu":
        seen = seen.unsqueeze(1).expand(rows, passes, width)
    else:
        seen = seen.unsqueeze(0).expand(passes, rows, width)
    out = torch.empty(seen.shape[:2], device=block.device)
    return passes * rows * width * block.element_size(), lambda: torch.sum(seen, 2, out=out)


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _rate(amount: int, run: Callable[[], Any], device: Any, seconds: float) -> float:
    return amount / timed(run, device=device, seconds=seconds).fastest
