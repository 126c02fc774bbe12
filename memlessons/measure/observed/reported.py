"""What an engine said of its own memory: each figure with its line, and what the figures add up to."""

from dataclasses import dataclass
from typing import Literal

from memlessons.errors import MemlessonsError

Engine = Literal["vllm", "llama.cpp", "sglang", "whisper.cpp"]


class NothingSaid(MemlessonsError, ValueError):
    """A text in which no known engine speaks of its memory."""


@dataclass(frozen=True, slots=True)
class Said:
    """One figure as it was printed, with so many `decimals`.

    `unit` is what the engine named, which may not be what it meant.
    """

    quantity: str
    value: int | float | str
    unit: str
    line_number: int
    text: str
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One pool of memory, in bytes: "base", "swa", "state", "indexer", "self", "cross", "pad".

    Printed figures are rounded: each lies within `within_bytes` of the truth. `cells` are slots of one
    stream, `sequences` may share them. `context` numbers the runs of a model (a draft model is another).
    """

    name: str
    total_bytes: int
    within_bytes: int
    key_bytes: int | None = None
    value_bytes: int | None = None
    key_type: str | None = None
    value_type: str | None = None
    cells: int | None = None
    layers: int | None = None
    sequences: int | None = None
    streams: int | None = None
    context: int = 1


@dataclass(frozen=True, slots=True)
class Reported:
    """What one engine said. None is "not said", never zero; bytes are bytes whatever the engine printed.

    `available_bytes` were left for the cache, give or take `available_within_bytes` of rounding.

    vLLM and SGLang speak for one device of `ranks`: so do `parts`, `available_bytes` and `weights_bytes`.
    llama.cpp's parts are sums over its devices. `tokens` is what the engine says fits; vLLM derives it
    from `concurrency`, so that bytes divided by it are no rate for a model with several kinds of layer.
    `usage` (0 to 1), `used_tokens` and `running` come from a running server only.
    """

    engine: Engine
    lines: tuple[Said, ...]
    model: str | None = None
    context_tokens: int | None = None
    sequences: int | None = None
    cells: int | None = None
    layers: int | None = None
    key_type: str | None = None
    value_type: str | None = None
    parts: tuple[Part, ...] = ()
    available_bytes: int | None = None
    available_within_bytes: int | None = None
    tokens: int | None = None
    concurrency: float | None = None
    concurrency_tokens: int | None = None
    block_tokens: int | None = None
    blocks: int | None = None
    weights_bytes: int | None = None
    ranks: int | None = None
    usage: float | None = None
    used_tokens: int | None = None
    running: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def cache_bytes(self) -> int | None:
        """Bytes of all parts together; None if no part was said."""
        return sum(part.total_bytes for part in self.parts) if self.parts else None

    def bytes_of(self, name: str) -> int | None:
        """Bytes of all parts of that name; None if none was said."""
        found = [part.total_bytes for part in self.parts if part.name == name]
        return sum(found) if found else None

    def said(self, quantity: str) -> tuple[Said, ...]:
        """Every time the engine said this quantity, in order."""
        return tuple(said for said in self.lines if said.quantity == quantity)
