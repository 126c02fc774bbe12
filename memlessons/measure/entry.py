"""One line of an account: what one layer really keeps, counted and not predicted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that was found in memory, or reported by a server.

    `layer` is None where it belongs to no single layer. `held_bytes` are valid content, `read_bytes` what
    one decode step reads of it, `allocated_bytes` the room it takes (None: as much as is held); `seconds`
    the time of its reads where that was measured. `source` says who counted. `shape` and `dtype`, where
    known, let a comparison name the cause of a difference: (rows, heads, slots, width).
    """

    layer: int | None
    what: str
    held_bytes: int
    read_bytes: int
    seconds: float | None
    source: str
    allocated_bytes: int | None = None
    shape: tuple[int, ...] = ()
    dtype: str = ""

    @property
    def room_bytes(self) -> int:
        """Bytes of room it takes."""
        return self.held_bytes if self.allocated_bytes is None else self.allocated_bytes
