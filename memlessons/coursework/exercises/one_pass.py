"""Chunks that can be read once, for exercise 03.1: keeping them does not help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

from torch import Tensor

from memlessons.errors import MemlessonsError


class ChunkGone(MemlessonsError, IndexError):
    """A chunk was asked for after a later one."""


class OnePass:
    """Chunks of several lists, all at the same place: `OnePass([scores, values]).chunks` are two lists.

    They behave like lists of tensors, but once a chunk of any of them is taken, the earlier ones of all
    of them are overwritten with zeros, and asking for one again raises ChunkGone. Zeros and no NaN: whoever
    kept them calculates to the end, and always to the same wrong number.
    """

    def __init__(self, lists: list[list[Tensor]]) -> None:
        self._lists = [[tensor.clone() for tensor in tensors] for tensors in lists]
        self._place = 0
        self.chunks = [
            OneChunkAtATime(self, which, range(len(tensors))) for which, tensors in enumerate(lists)
        ]

    def take(self, which: int, place: int) -> Tensor:
        """The chunk at `place` of one list; all earlier ones are gone."""
        if place < self._place:
            raise ChunkGone("a chunk is gone once you take the next: keep sums, not chunks")
        for tensors in self._lists:
            for tensor in tensors[self._place : place]:
                tensor.zero_()
        self._place = place
        return self._lists[which][place]


class OneChunkAtATime:
    """One list of a OnePass, or a part of it. Errors of torch name this class: let it say what it is."""

    def __init__(self, owner: OnePass, which: int, places: range) -> None:
        self._owner, self._which, self._places = owner, which, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...

    @overload
    def __getitem__(self, index: slice) -> OneChunkAtATime: ...

    def __getitem__(self, index: Any) -> Any:
        places = self._places[index]
        if isinstance(places, range):
            return OneChunkAtATime(self._owner, self._which, places)
        return self._owner.take(self._which, places)

    def __iter__(self) -> Iterator[Tensor]:
        return (self._owner.take(self._which, place) for place in self._places)
