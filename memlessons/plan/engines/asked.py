"""What an engine is asked, and what it answers: parts of memory, each with its cells and its rule."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memlessons.plan.errors import InvalidPlan
from memlessons.plan.formats import F16, Format
from memlessons.plan.layer import Layer
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.store import Store


class UnknownEngine(InvalidPlan):
    """An engine that no rules are known for; the message lists those that are."""


class BadEngineArgument(InvalidPlan):
    """An argument that the engine does not have, or a value that it cannot take."""


class CannotDivide(BadEngineArgument):
    """So many devices that an engine cannot split this model's heads on them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to an engine: a plan, one context, so many sequences, formats, devices it is split on.

    `batch` sequences of `context_tokens` each; `expanded` is the plan with latents expanded to all heads, if
    the configuration could say it; `without` names rules to leave out.
    """

    plan: MemoryPlan
    context_tokens: int
    batch: int = 1
    key_format: Format = F16
    value_format: Format = F16
    tp: int = 1
    encoder_tokens: int | None = None
    expanded: MemoryPlan | None = None
    without: frozenset[str] = frozenset()
    kv_dtype: str = "f16"

    def on(self, rule: str) -> bool:
        """Whether a named rule applies."""
        return rule not in self.without


@dataclass(frozen=True, slots=True)
class Part:
    """One pool of an engine: bytes of keys and of everything else, on one device.

    `name` is "base" (layers that see everything), "swa" (windows and chunks), "rs" (recurrent and convolution
    state), "idx" (index keys), "cross" or "draft". `cells` are token slots for all sequences, 0 for state.
    `rule` says in numbers what is reserved, `reason` why it is so much.
    """

    name: str
    layers: int
    cells: int
    key_bytes: int
    value_bytes: int
    rule: str
    reason: str = ""

    @property
    def bytes(self) -> int:
        """Bytes of the pool."""
        return self.key_bytes + self.value_bytes


class Piece(NamedTuple):
    """What one store, or one group of layers, adds to the part of this name."""

    name: str
    cells: int
    key_bytes: int
    value_bytes: int
    rule: str
    reason: str = ""
    layers: int = 1


Options = tuple[tuple[str, int | float], ...]
"""Options of an engine, by name, and their values."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """What an engine reserves on one device: its pools, or the tokens that fit where memory was given.

    `assumed` are the options that made a difference and were not given, with their defaults.
    """

    engine: str
    parts: tuple[Part, ...]
    tokens: int | None = None
    notes: tuple[str, ...] = field(default=())
    assumed: Options = ()

    @property
    def total(self) -> int:
        """Bytes of all pools."""
        return sum(part.bytes for part in self.parts)

    def measured(self, measure: str) -> int:
        """One figure by its name: "total", "bytes" (what grows, no state), "k", "v", a part's name, "self",
        "tokens". BadEngineArgument for a name that is none of these."""
        sums: dict[str, Any] = {
            "total": lambda: self.total,
            "bytes": lambda: self._sum("base", "swa", "idx", "cross", "draft"),
            "self": lambda: self._sum("base", "swa"),
            "k": lambda: sum(p.key_bytes for p in self.parts if p.name != "rs"),
            "v": lambda: sum(p.value_bytes for p in self.parts if p.name != "rs"),
            "tokens": lambda: self.tokens,
        }
        names = ("base", "swa", "rs", "idx", "cross", "draft")
        if measure not in sums and measure not in names:
            raise BadEngineArgument(f"measure={measure!r}: must be one of {', '.join([*sums, *names])}")
        found = sums[measure]() if measure in sums else self._sum(measure)
        if found is None:
            raise BadEngineArgument(
                f"measure={measure!r}: give available_gib, the memory that tokens should fit"
            )
        return int(found)

    def _sum(self, *names: str) -> int:
        return sum(part.bytes for part in self.parts if part.name in names)


def kept(plan: MemoryPlan) -> Iterable[tuple[str, Store]]:
    """Every store of a plan with the name of the part it belongs to."""
    return kept_in(plan.layers)


def kept_in(layers: Iterable[Layer]) -> Iterable[tuple[str, Store]]:
    """Every store of some layers with the name of the part it belongs to."""
    for layer in layers:
        for store in layer.stores:
            if layer.draft:
                yield "draft", store
            elif store.grows_with != "nothing":
                yield part_of(store), store
            if store.state:
                yield "rs", store


def part_of(store: Store) -> str:
    """The part that a growing store belongs to."""
    if store.role in ("index", "cross"):
        return "idx" if store.role == "index" else "cross"
    return "base" if store.window is None and store.block is None else "swa"


def gathered(engine: str, pieces: Iterable[Piece], **more: Any) -> Allocation:
    """Pieces added up by part; where a part's pieces differ in their rules, it has the first few of them."""
    found: dict[str, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.name, []).append(piece)
    parts = tuple(
        Part(
            name,
            sum(piece.layers for piece in of_part),
            max(piece.cells for piece in of_part),
            sum(piece.key_bytes for piece in of_part),
            sum(piece.value_bytes for piece in of_part),
            _said(piece.rule for piece in of_part),
            _said(piece.reason for piece in of_part),
        )
        for name, of_part in found.items()
    )
    return Allocation(engine, parts, **more)


def _said(texts: Iterable[str], most: int = 3) -> str:
    different = list(dict.fromkeys(text for text in texts if text))
    return "; ".join([*different[:most], *(["and others"] if len(different) > most else [])])


def rows(format: Format, heads: int, width: int) -> int:
    """Bytes of the keys or values of one token of one layer, its heads packed row by row."""
    return heads * format.row_bytes(width)
