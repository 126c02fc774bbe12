"""Counting live memory: the bytes of valid slots by shape, and the bytes of storages, each once."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Protocol

from memlessons.errors import MemlessonsError
from memlessons.measure.entry import Entry
from memlessons.plan import Store

_SOURCE = "counted from live tensors"


class CannotCount(MemlessonsError, ValueError):
    """A memory whose tensors are laid out in a way the audit does not know; it never guesses."""


class LiveMemory(Protocol):
    """What the audit needs of one live memory: its store, tokens per row, and all its tensors.

    Tensors that grow are heads first: `[rows, heads, slots, width]`, scales `[rows, heads, slots]`; state
    is `[rows, ...]`.
    """

    @property
    def store(self) -> Store: ...
    @property
    def lengths(self) -> Any: ...
    def tensors(self) -> tuple[Any, ...]: ...


class LiveState(Protocol):
    """A model's live memory: for each layer, the memories it keeps or reads."""

    @property
    def layers(self) -> Sequence[Sequence[LiveMemory]]: ...


def live_entries(state: LiveState) -> tuple[Entry, ...]:
    """An entry for each tensor of each layer, and one for each storage with room nobody uses."""
    room = _Storages()
    entries = []
    for layer, memories in enumerate(state.layers):
        for memory in memories:
            for what, tensor, held in _counted(memory):
                owner = room.owner(tensor)
                entries.append(
                    Entry(
                        layer=layer,
                        what=what if owner is None else f"{what}, shared with layer {owner}",
                        held_bytes=held if owner is None else 0,
                        read_bytes=held,
                        seconds=None,
                        source=_SOURCE,
                        allocated_bytes=room.claim(tensor, layer) if owner is None else 0,
                        shape=tuple(tensor.shape),
                        dtype=str(tensor.dtype).removeprefix("torch."),
                    )
                )
    return (*entries, *room.unused())


def _counted(memory: LiveMemory) -> Iterator[tuple[str, Any, int]]:
    """(what, tensor, bytes of its valid content) for each tensor of a memory."""
    store, lengths = memory.store, [int(n) for n in memory.lengths.tolist()]
    mirror = getattr(memory, "host_lengths", None)
    if mirror is not None and list(mirror) != lengths:
        raise CannotCount(f"a {store.role} memory says lengths {lengths}, its host copy {list(mirror)}")
    grows, seen = store.grows_with != "nothing", Counter[int]()
    for tensor in memory.tensors():
        shape = tuple(tensor.shape)
        if not shape or shape[0] != len(lengths) or (grows and len(shape) not in (3, 4)):
            raise CannotCount(
                f"a {store.role} memory of {len(lengths)} rows has a tensor of shape {shape}; counted are "
                "[rows, heads, slots, width], scales [rows, heads, slots] and states [rows, ...]"
            )
        which = seen[len(shape)]
        seen[len(shape)] += 1
        if grows:
            name = f"{('k', 'v')[which] if which < 2 else which}{' scales' if len(shape) == 3 else ''}"
            elements = _valid_elements(tensor, [n // store.stride for n in lengths])
        else:
            name, elements = f"{which}", _own_elements(tensor)
        yield f"{store.role} {name}", tensor, elements * tensor.element_size()


def _valid_elements(tensor: Any, entries: list[int]) -> int:
    """Elements in the valid slots of `[rows, heads, slots, ...]`, `entries` of them in each row."""
    valid = [min(n, tensor.shape[2]) for n in entries]
    if not any(valid):
        return 0
    # Rows that are one row seen several times hold what the longest of them does.
    slots = sum(valid) if tensor.stride()[0] else max(valid)
    return slots * _own_elements(tensor[0, :, 0])


def _own_elements(tensor: Any) -> int:
    """Elements with a place of their own: a dim of stride 0 shows the same ones again."""
    return prod(n if stride or n == 0 else 1 for n, stride in zip(tensor.shape, tensor.stride(), strict=True))


class _Storages:
    """Storages seen so far, and who uses how much of each; the same view twice is one use."""

    def __init__(self) -> None:
        self._owners: dict[tuple[Any, ...], int] = {}
        self._left: dict[tuple[str, int], int] = {}
        self._users: dict[tuple[str, int], set[int]] = defaultdict(set)

    def owner(self, tensor: Any) -> int | None:
        """The layer that already counted this very view, if any."""
        return self._owners.get(self._view(tensor))

    def claim(self, tensor: Any, layer: int) -> int:
        """Bytes of its storage that this view uses and no earlier one did."""
        key, storage = self._key(tensor), tensor.untyped_storage()
        left = self._left.setdefault(key, storage.nbytes())
        used = min(left, _own_elements(tensor) * tensor.element_size())
        self._left[key] = left - used
        self._users[key].add(layer)
        if used:
            self._owners[self._view(tensor)] = layer
        return used

    def unused(self) -> Iterator[Entry]:
        """An entry for each storage larger than all that looks into it."""
        for key, left in self._left.items():
            if left:
                layer = next(iter(self._users[key])) if len(self._users[key]) == 1 else None
                yield Entry(layer, "storage nobody uses", 0, 0, None, _SOURCE, allocated_bytes=left)

    @staticmethod
    def _key(tensor: Any) -> tuple[str, int]:
        return str(tensor.device), tensor.untyped_storage().data_ptr()

    def _view(self, tensor: Any) -> tuple[Any, ...]:
        return (
            *self._key(tensor),
            tensor.storage_offset(),
            tuple(tensor.shape),
            tensor.stride(),
            tensor.dtype,
        )
