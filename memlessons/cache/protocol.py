"""What every form of live memory offers, and what attention may read of it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from memlessons.plan import Store


class View(NamedTuple):
    """What attention may read: it aliases storage in its stored format and is never a copy.

    `k` is `[B, kv_heads, slots, key_width]`, or a pool `[pages, kv_heads, page, key_width]` with a
    `table`; `v` likewise, or None where the values are the first columns of `k` (latent). `lengths` is
    int32 `[B]` on the device: valid slots, this call's tokens included; `host_lengths` the same numbers
    for Python (None under graph capture). `positions` is int64 `[B, slots]`, -1 = empty; None = a slot
    is its position. `fresh` holds tokens of this call that are not stored yet: attend to both.
    """

    k: Tensor
    v: Tensor | None
    lengths: Tensor
    host_lengths: tuple[int, ...] | None = None
    k_scale: Tensor | None = None
    v_scale: Tensor | None = None
    positions: Tensor | None = None
    table: Tensor | None = None
    fresh: "View | None" = None


@runtime_checkable
class Memory(Protocol):
    """One store, live, for B rows (sequences)."""

    store: Store
    lengths: Tensor
    host_lengths: list[int]

    @property
    def held_bytes(self) -> int:
        """Bytes of the valid slots, counted from live shapes."""
        ...

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the storages behind this memory."""
        ...

    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor this memory keeps its content in."""
        ...

    def commit(self, counts: Sequence[int]) -> None:
        """Let the written tokens count; before this, nothing of them does."""
        ...

    def truncate(self, lengths: Sequence[int]) -> list[int]:
        """Take tokens back; returns the lengths really kept (at most those asked, 0 = start again)."""
        ...

    def keepable(self, lengths: Sequence[int]) -> list[int]:
        """What `truncate` would return, without doing it."""
        ...

    def export(self, row: int, tokens: range) -> dict[str, Tensor]:
        """Copies of these tokens in their stored form; NotHeld if they are not all there."""
        ...

    def check_load(self, row: int, tokens: range, parts: Mapping[str, Tensor]) -> None:
        """Raise CannotLoad or CacheFull where `load` could not take these parts."""
        ...

    def load(self, row: int, tokens: range, parts: Mapping[str, Tensor]) -> None:
        """Take in what `export` gave; the tokens must follow what the row holds."""
        ...

    def fork(self, row: int, into: int) -> None:
        """Make row `into` remember what `row` does; from then on they go their own ways."""
        ...

    def clear(self, rows: Sequence[int]) -> None:
        """Forget all of these rows."""
        ...


@runtime_checkable
class TokenMemory(Memory, Protocol):
    """A memory that grows with tokens."""

    def write(self, k: Tensor | None, v: Tensor | None, counts: Sequence[int]) -> View:
        """Append without committing: `k`, `v` are `[B, kv_heads, T, width]`, row b brings `counts[b]`."""
        ...

    def write_next(self, k: Tensor, v: Tensor) -> View:
        """Append one token to every row, k and v `[B, kv_heads, width]`, and never ask the host for a length.

        For a captured step: room must have been reserved. The View has no `host_lengths`.
        """
        ...
