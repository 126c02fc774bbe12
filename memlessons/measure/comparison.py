"""Prediction against observation, layer by layer: equal, rounded by a named rule, wasted, or missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from memlessons.errors import MemlessonsError
from memlessons.measure.causes import cause
from memlessons.measure.entry import Entry
from memlessons.plan import MemoryPlan
from memlessons.units import bytes_text

Verdict = Literal["equal", "rounding", "waste", "missing"]


class BadComparison(MemlessonsError, ValueError):
    """Lengths and capacities that do not describe the same sequences."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """A named rule by which room may exceed the plan: whole pages of slots, or whole blocks of bytes.

    With `bytes`, each tensor may take up to that much more, less one.
    """

    name: str
    page_tokens: int = 1
    bytes: int = 1

    @staticmethod
    def pages(tokens: int) -> "Rounding":
        """Room is handed out in whole pages of so many slots."""
        return Rounding(f"pages of {tokens} slots", page_tokens=tokens)

    @staticmethod
    def blocks(size: int) -> "Rounding":
        """Each tensor takes whole blocks of so many bytes."""
        return Rounding(f"blocks of {size} bytes", bytes=size)


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer's prediction and observation in bytes; `layer` None: what belongs to no single layer."""

    layer: int | None
    planned_held: int
    held: int
    planned_room: int
    room: int
    verdict: Verdict
    reason: str

    @property
    def excess(self) -> int:
        """Bytes over the plan, of content or of room, whichever is more."""
        return max(self.held - self.planned_held, self.room - self.planned_room, 0)

    @property
    def lack(self) -> int:
        """Bytes under the plan, of content or of room, whichever is more."""
        return max(self.planned_held - self.held, self.planned_room - self.room, 0)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All layers' rows. `str()` is a table in which equal neighbours share a line."""

    rows: tuple[LayerRow, ...]

    @property
    def waste(self) -> int:
        """Bytes over the plan that no named rule explains."""
        return sum(row.excess for row in self.rows if row.verdict == "waste")

    @property
    def missing(self) -> int:
        """Bytes the plan predicts and nobody holds."""
        return sum(row.lack for row in self.rows)

    @property
    def equal(self) -> bool:
        """Whether every layer holds and takes exactly what was planned."""
        return all(row.verdict == "equal" for row in self.rows)

    def __str__(self) -> str:
        table: list[tuple[str, ...]] = [("layers", "held", "planned", "room", "planned", "verdict")]
        table += [
            _line(list(same))
            for _, same in groupby(self.rows, lambda row: (_numbers(row), row.layer is None))
        ]
        sums = [bytes_text(sum(n)) for n in zip(*(_numbers(row)[:4] for row in self.rows), strict=True)]
        table.append(("all", *sums, f"{self.waste:,} B wasted, {self.missing:,} B missing"))
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join(
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:5], widths[1:5], strict=True))]
            )
            + f"  {line[5]}"
            for line in table
        )


def compare(
    entries: Sequence[Entry],
    plan: MemoryPlan,
    contexts: int | Sequence[int],
    capacity: int | Sequence[int],
    encoder_tokens: int,
    roundings: Sequence[Rounding],
) -> Comparison:
    """See `Account.against`."""
    lengths = [contexts] if isinstance(contexts, int) else list(contexts)
    ends = [capacity] * len(lengths) if isinstance(capacity, int) else list(capacity)
    if len(ends) != len(lengths):
        raise BadComparison(
            f"capacity has {len(ends)} entries, contexts {len(lengths)}: one each, or one number"
        )
    observed = {e.layer for e in entries}
    beyond = sorted(i for i in observed if i is not None and not 0 <= i < len(plan.layers))
    where: list[int | None] = [*range(len(plan.layers)), *beyond, *([None] if None in observed else [])]
    return Comparison(
        tuple(
            _row(
                layer,
                [e for e in entries if e.layer == layer],
                plan,
                lengths,
                ends,
                encoder_tokens,
                roundings,
            )
            for layer in where
        )
    )


def _row(
    layer: int | None,
    entries: list[Entry],
    plan: MemoryPlan,
    lengths: list[int],
    ends: list[int],
    encoder_tokens: int,
    roundings: Sequence[Rounding],
) -> LayerRow:
    def planned(of: MemoryPlan, tokens: list[int]) -> int:
        known = layer is not None and 0 <= layer < len(of.layers)
        return of.layer_bytes(layer, tokens, encoder_tokens) if known and layer is not None else 0

    held, room = sum(e.held_bytes for e in entries), sum(e.room_bytes for e in entries)
    row = LayerRow(layer, planned(plan, lengths), held, planned(plan, ends), room, "equal", "")
    if not row.excess and not row.lack:
        return row
    verdict: Verdict = "waste" if row.excess else "missing"
    reason = cause(layer, entries, plan, len(lengths), ends)
    if row.excess and not row.lack:
        for rule in roundings:
            paged = plan.with_pages(rule.page_tokens)
            most = planned(paged, ends) + (rule.bytes - 1) * len(entries)
            if room <= most and held <= planned(paged, lengths):
                verdict, reason = "rounding", rule.name
                break
    return LayerRow(layer, row.planned_held, held, row.planned_room, room, verdict, reason)


def _numbers(row: LayerRow) -> tuple[int, int, int, int, str, str]:
    return row.held, row.planned_held, row.room, row.planned_room, row.verdict, row.reason


def _line(same: list[LayerRow]) -> tuple[str, ...]:
    first, last = same[0], same[-1]
    name = (
        "none"
        if first.layer is None
        else f"{first.layer}"
        if len(same) == 1
        else f"{first.layer}-{last.layer}"
    )
    difference = first.excess or first.lack
    verdict = (
        first.verdict if first.verdict == "equal" else f"{first.verdict} {difference:,} B: {first.reason}"
    )
    each = " each" if len(same) > 1 else ""
    return (name, *(f"{bytes_text(n)}{each}" for n in _numbers(first)[:4]), verdict)
