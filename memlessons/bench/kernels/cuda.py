"""The GPU as the kernel race sees it: CUDA graphs for calls without the CPU's part, events for a clock."""

import gc
import subprocess
from itertools import pairwise
from typing import Any

import torch

from memlessons.bench.kernels.device import Pass, Ready
from memlessons.units import MIB


class Cuda:
    """The GPU that torch calls "cuda"."""

    rehearsal = False
    most_sets = 1024
    most_splits = 64
    least_calls = 8  # in one pass: a graph's own start counts less
    rounds = 5
    replays = 4

    def __init__(self) -> None:
        self.where = torch.device("cuda", torch.cuda.current_device())
        self._properties = torch.cuda.get_device_properties(self.where)
        # Matrix units compute in bfloat16 from sm_80 on.
        self.has_bfloat16 = bool(torch.version.hip) or self._properties.major >= 8
        self.cache_bytes = int(getattr(self._properties, "L2_cache_size", 0)) or 64 * MIB
        if torch.version.hip:
            self.cache_bytes = max(self.cache_bytes, 256 * MIB)  # a last cache that HIP does not count

    @property
    def arch(self) -> str:
        """As Triton names it: "sm_90", "gfx942"."""
        if torch.version.hip:
            return str(self._properties.gcnArchName).partition(":")[0]
        return f"sm_{self._properties.major}{self._properties.minor}"

    def ready(self, one_pass: Pass) -> Ready:
        """See Device. Warmed up on a stream of its own, as capturing asks for."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                one_pass()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        gc.collect()
        was_on = gc.isenabled()
        gc.disable()  # a finaliser that unloads a module would end the capture
        try:
            with torch.cuda.graph(graph):
                one_pass()
        except RuntimeError:
            # A capture that fails leaves its own stream as the current one.
            torch.cuda.set_stream(torch.cuda.default_stream())
            torch.cuda.synchronize()
            return Ready(one_pass, False)
        finally:
            if was_on:
                gc.enable()
        torch.cuda.synchronize()
        return Ready(graph.replay, True)

    def times(self, ready: Ready) -> list[float]:
        """See Device. The first pass is not counted: it lets the CPU get ahead of the device."""
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(self.replays + 1)]
        torch.cuda.synchronize()
        ready.go()
        marks[0].record()
        for mark in marks[1:]:
            ready.go()
            mark.record()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 for a, b in pairwise(marks)]

    def wait(self) -> None:
        """See Device."""
        torch.cuda.synchronize()

    def release(self) -> None:
        """See Device."""
        gc.collect()
        torch.cuda.empty_cache()

    def free_bytes(self) -> int:
        """See Device."""
        return int(torch.cuda.mem_get_info()[0])

    def clocks(self) -> str | None:
        """See Device. As `nvidia-smi` prints them; None where it is missing."""
        fields = (
            "clocks.sm,clocks.max.sm,clocks.mem,clocks.max.mem,power.draw,power.limit,temperature.gpu,pstate"
        )
        command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv"]
        uuid = getattr(self._properties, "uuid", None)
        for which in ([f"--id=GPU-{uuid}"], []):
            try:
                said = subprocess.run(command + which, capture_output=True, text=True, timeout=5, check=False)
            except (OSError, subprocess.SubprocessError):
                return None
            if said.returncode == 0:
                return said.stdout.strip()
        return None

    def facts(self) -> dict[str, Any]:
        """See Device."""
        p = self._properties
        return {
            "arch": self.arch,
            "processors": p.multi_processor_count,
            "memory_bytes": p.total_memory,
            "cache_bytes": self.cache_bytes,
            "cuda": torch.version.cuda,
            "hip": torch.version.hip,
        }
