"""The observed twin of a plan: what is really in memory, to be held against what was predicted.

The law of the project is `audit(state).against(plan, state.lengths, state.capacity).waste == 0`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memlessons.measure.comparison import Comparison, LayerRow, Rounding, compare
from memlessons.measure.entry import Entry
from memlessons.measure.live import CannotCount, LiveMemory, LiveState, live_entries
from memlessons.plan import MemoryPlan

__all__ = [
    "Account", "CannotCount", "Comparison", "Entry", "LayerRow", "LiveMemory", "LiveState", "Rounding",
    "audit",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Account:
    """What was observed, entry by entry; `notes` say how whoever keeps it differs from a plan by habit."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()

    @property
    def held_bytes(self) -> int:
        """Bytes of valid content, each piece once however many layers read it."""
        return sum(entry.held_bytes for entry in self.entries)

    @property
    def allocated_bytes(self) -> int:
        """Bytes of room taken, each storage once."""
        return sum(entry.room_bytes for entry in self.entries)

    @property
    def read_bytes(self) -> int:
        """Bytes one decode step reads, a shared piece once for each layer that reads it."""
        return sum(entry.read_bytes for entry in self.entries)

    def against(
        self,
        plan: MemoryPlan,
        contexts: int | Sequence[int],
        capacity: int | Sequence[int],
        *,
        encoder_tokens: int = 0,
        roundings: Sequence[Rounding] = (),
    ) -> Comparison:
        """Hold this account against what `plan` predicts, layer by layer.

        `contexts` are the lengths of the sequences in tokens, `capacity` the tokens each has room for (one
        number for all, or one each). `roundings` are the named rules by which room may exceed the plan.
        """
        return compare(self.entries, plan, contexts, capacity, encoder_tokens, tuple(roundings))


def audit(state: LiveState | Any, cache: Any = None) -> Account:
    """Count what a live state keeps: valid slots from its tensors' shapes, room from their storages.

    Takes anything with `.layers`, a tuple of memories per layer, each with `.store`, `.lengths` and
    `.tensors()`; or a `transformers` cache, a model's output with one in it, or a model and its `cache`
    (see `memlessons.measure.observed.peer`). It asks no plan for a byte count: prediction and count share
    no code. CannotCount for tensors in a layout it does not know.
    """
    if cache is None and _is_live(state):
        return Account(live_entries(state))
    # Late, because the peer's account is one of these.
    from memlessons.measure.observed.peer import audit_transformers

    return audit_transformers(state) if cache is None else audit_transformers(cache, state)


def _is_live(state: Any) -> bool:
    """Whether its layers are tuples of memories, as ours are; a peer's layers are objects of their own."""
    layers = getattr(state, "layers", None)
    return isinstance(layers, list | tuple) and all(isinstance(layer, list | tuple) for layer in layers)
