"""vLLM's kinds of layers: those of equal page and reach stand in groups together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memlessons.plan.engines.asked import Asked
from memlessons.plan.engines.packed import served_rows
from memlessons.plan.store import Store


@dataclass(frozen=True, slots=True)
class Group:
    """Layers of one kind: how many, bytes a token of one of them, and the stores that say what they need."""

    name: str
    layers: int
    token_bytes: int
    store: Store
    state_bytes: int = 0


def groups_of(asked: Asked, found: Iterable[tuple[str, Store]]) -> Iterator[Group]:
    """Layers of equal page and reach together, in order of first appearance."""
    counted: dict[tuple[object, ...], list[tuple[str, Store]]] = {}
    for name, store in found:
        if name == "rs":
            key: tuple[object, ...] = ("rs", store.state_bytes)
        else:
            key = (name, _token_bytes(asked, store), store.window, store.block)
        counted.setdefault(key, []).append((name, store))
    for stores in counted.values():
        name, store = stores[0]
        if name == "rs":
            yield Group(name, len(stores), 0, store, store.state_bytes)
        else:
            yield Group(name, len(stores), _token_bytes(asked, store), store)


def _token_bytes(asked: Asked, store: Store) -> int:
    return sum(served_rows(asked, store, "vllm"))
