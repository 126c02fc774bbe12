"""What every measurement on a GPU needs: inputs that fit, answers that are right, a race, a place for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from memlessons.bench.kernels import contenders as who
from memlessons.bench.kernels.budget import Budget
from memlessons.bench.kernels.check import WrongKernel
from memlessons.bench.kernels.device import Device
from memlessons.bench.kernels.inputs import COLD, Inputs, pool, sets_needed
from memlessons.bench.kernels.ledger import Ledger
from memlessons.bench.kernels.race import Contender, Times, race
from memlessons.bench.kernels.results import kept
from memlessons.bench.kernels.shapes import Shape
from memlessons.units import bytes_text


@dataclass(frozen=True, slots=True)
class Bench:
    """What every job needs."""

    device: Device
    dtype: torch.dtype
    ledger: Ledger
    budget: Budget
    seed: int = 0

    @property
    def element_bytes(self) -> int:
        """Bytes of a number in keys and values."""
        return self.dtype.itemsize

    def inputs(self, shape: Shape) -> tuple[Shape, list[Inputs], dict[str, Any]]:
        """The shape (tiny in a rehearsal), its pool, and what the record should say of both."""
        shape = shape.tiny() if self.device.rehearsal else shape
        each, stored = shape.bytes_moved(self.element_bytes), shape.stored_bytes(self.element_bytes)
        sets = sets_needed(each, self.device.cache_bytes, self.device.most_sets)
        if sets * stored > 0.6 * self.device.free_bytes():
            raise MemoryError(f"needs {bytes_text(sets * stored)} for its inputs")
        cold = sets * each >= COLD * self.device.cache_bytes
        facts = shape.facts() | {"dtype": str(self.dtype).removeprefix("torch.")}
        facts |= {"bytes_moved": each, "sets": sets, "l2": "cold" if cold else "warm"}
        return shape, pool(shape, sets, self.dtype, self.device.where, self.seed), facts

    def ours(self, job: str, shape: Shape, name: str = "ours") -> tuple[Contender, dict[str, Any]]:
        """Our kernel on a shape, its answer checked, and what the record should say of it."""
        shape, sets, facts = self.inputs(shape)
        contender = who.ours(shape, sets, name=name)
        self.check(job, contender, sets[0])
        return contender, facts

    def run(self, field: Sequence[Contender]) -> dict[str, Times]:
        """Race them, and end after the least number of rounds if time runs out."""
        return race(field, self.device, seed=self.seed, in_time=lambda: self.budget.left > 0)

    def check(self, name: str, contender: Contender, first: Inputs) -> str | None:
        """What is wrong with a contender's answer, None if nothing. WrongKernel if the contender is ours."""
        error, most = who.error_of(contender, first), who.gate(contender, self.dtype)
        if error <= most:
            return None
        said = f"{name}, {contender.name}: error {error:.3g}, at most {most:.0e}"
        if not contender.rival:
            raise WrongKernel(f"{said}: the kernel is wrong on this shape")
        return said

    def finish(
        self,
        job: str,
        field: Sequence[Contender],
        base: str,
        row: dict[str, Any],
        pairs: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Race, and put values and facts into the ledger; `pairs` are further ratios, of names."""
        ceiling = self.ledger.values.get("ceiling")
        values, facts, refused = kept(
            job, self.run(field), field, base, ceiling.median if ceiling else None, pairs
        )
        for what, why in refused.items():
            self.ledger.refuse(what, why)
        self.ledger.put(job, values, row | {"contenders": facts})
