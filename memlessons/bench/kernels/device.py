"""What the kernel race asks of a device: repeat a pass, and say how long it took.

`memlessons.bench.kernels.cuda` asks a GPU; `Rehearsal` stands in where there is none: it runs each pass
once, and its clock does not run.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch

from memlessons.units import MIB

Pass = Callable[[], Any]


class Ready(NamedTuple):
    """A pass that is warm; `graph` says whether it is a captured graph, without the CPU's part."""

    go: Pass
    graph: bool


class Device(Protocol):
    """See the module."""

    where: torch.device
    rehearsal: bool
    has_bfloat16: bool
    cache_bytes: int
    most_sets: int
    most_splits: int
    least_calls: int
    rounds: int
    replays: int

    def ready(self, one_pass: Pass) -> Ready:
        """Warm a pass up, and capture it as a graph if that works."""
        ...

    def times(self, ready: Ready) -> list[float]:
        """Seconds of each of `replays` passes in a row."""
        ...

    def wait(self) -> None:
        """Return when all is done; raises what went wrong on the device meanwhile."""
        ...

    def release(self) -> None:
        """Give memory back that nothing refers to."""
        ...

    def free_bytes(self) -> int:
        """Bytes of memory that are free."""
        ...

    def clocks(self) -> str | None:
        """What the device says of its clocks, power and temperature just now; None if nothing."""
        ...

    def facts(self) -> dict[str, Any]:
        """What a record should say of it."""
        ...


class Rehearsal:
    """A CPU that plays the GPU, for Triton's interpreter; every time it gives is one second."""

    rehearsal = True
    where = torch.device("cpu")
    arch = "rehearsal"
    has_bfloat16 = True
    cache_bytes = 2000
    most_sets = 2
    most_splits = 4
    least_calls = 2
    rounds = 3
    replays = 1

    def ready(self, one_pass: Pass) -> Ready:
        """Run the pass; that is all."""
        one_pass()
        return Ready(one_pass, False)

    def times(self, ready: Ready) -> list[float]:
        """A second each, whatever it was."""
        return [1.0] * self.replays

    def wait(self) -> None:
        """Nothing to wait for."""

    def release(self) -> None:
        """Nothing to give back."""

    def free_bytes(self) -> int:
        """Enough for what is tiny."""
        return 8 * MIB

    def clocks(self) -> str | None:
        """It has none."""
        return None

    def facts(self) -> dict[str, Any]:
        """Only its name."""
        return {"arch": self.arch}
