"""The simplest memory: a slot for every token, position by position, allocated once."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from memlessons.cache.codecs import Codec, Int8
from memlessons.cache.errors import CacheFull, CannotLoad, NotHeld
from memlessons.cache.protocol import View
from memlessons.kernels import append_kv
from memlessons.plan import Store


class FullMemory:
    """All tokens of B rows: `k` and `v` are `[B, kv_heads, capacity, width]`, slot = position.

    Heads first, so that one head's keys lie together and a decode step reads them as one stream. Kept as
    codes, each has scales `[B, kv_heads, capacity]` beside it.
    """

    def __init__(
        self,
        store: Store,
        batch: int,
        capacity: int,
        keys: Codec,
        values: Codec,
        device: torch.device | str = "cpu",
    ) -> None:
        self.store = store
        self.capacity = capacity
        slots = (batch, store.kv_heads, capacity)
        self._codecs = {"k": keys, "v": values}
        self._widths = {"k": store.key_width, "v": store.value_width}
        self._all_codes = isinstance(keys, Int8) and isinstance(values, Int8)
        self.parts: dict[str, Tensor] = {}
        for name, codec in self._codecs.items():
            self.parts |= _named(name, codec.empty(slots, self._widths[name], device))
        self.lengths = torch.zeros(batch, dtype=torch.int32, device=device)
        self._first_slots = torch.arange(batch, device=device) * capacity
        self.host_lengths = [0] * batch

    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(self.parts.values())

    @property
    def held_bytes(self) -> int:
        return sum(
            t[row, :, :length].numel() * t.element_size()
            for t in self.tensors()
            for row, length in enumerate(self.host_lengths)
        )

    @property
    def allocated_bytes(self) -> int:
        storages = {s.data_ptr(): s.nbytes() for s in (t.untyped_storage() for t in self.tensors())}
        return sum(storages.values())

    def write(self, k: Tensor | None, v: Tensor | None, counts: Sequence[int]) -> View:
        if k is None or v is None:
            raise ValueError("a full memory stores keys and values: neither k nor v may be None")
        self._check_shapes(k, v, counts)
        ends = [start + count for start, count in zip(self.host_lengths, counts, strict=True)]
        if max(ends) > self.capacity:
            raise CacheFull(
                f"{max(ends)} tokens, but room for {self.capacity}: allocate with a larger capacity"
            )
        same = len(set(self.host_lengths)) == 1 and len(set(counts)) == 1
        if self._all_codes:
            where = (tuple(self.host_lengths), tuple(counts), k.shape[2], self.capacity, self.lengths.device)
            append_kv(
                _tokens_first(k), _tokens_first(v), self.parts["k"], self.parts["v"], _slots(*where),
                k_scale=self.parts["k_scale"], v_scale=self.parts["v_scale"],
            )  # fmt: skip
            return self._view(self.lengths + _on_device(tuple(counts), self.lengths.device), tuple(ends))
        for name, given in (("k", k), ("v", v)):
            for part, new in _named(name, self._codecs[name].encode(given)).items():
                kept = self.parts[part]
                if same:
                    kept[:, :, self.host_lengths[0] : ends[0]] = new[:, :, : counts[0]]
                    continue
                for row, (start, count) in enumerate(zip(self.host_lengths, counts, strict=True)):
                    kept[row, :, start : start + count] = new[row, :, :count]
        return self._view(self.lengths + _on_device(tuple(counts), self.lengths.device), tuple(ends))

    def write_next(self, k: Tensor, v: Tensor) -> View:
        # A full row would write into its neighbour: it goes nowhere instead.
        slots = torch.where(self.lengths < self.capacity, self._first_slots + self.lengths, -1)
        at = self.parts.get
        append_kv(
            k, v, self.parts["k"], self.parts["v"], slots, k_scale=at("k_scale"), v_scale=at("v_scale")
        )  # fmt: skip
        return self._view(self.lengths + 1, None)

    def _view(self, lengths: Tensor, host_lengths: tuple[int, ...] | None) -> View:
        at = self.parts.get
        return View(
            self.parts["k"], self.parts["v"], lengths, host_lengths, at("k_scale"), at("v_scale")
        )  # fmt: skip

    def _check_shapes(self, k: Tensor, v: Tensor, counts: Sequence[int]) -> None:
        rows, heads = self.parts["k"].shape[:2]
        if len(counts) != rows or min(counts) < 0 or max(counts) > k.shape[2]:
            raise ValueError(
                f"counts={list(counts)}: needs {rows} numbers from 0 to the {k.shape[2]} tokens given"
            )
        for name, given in (("k", k), ("v", v)):
            want = (rows, heads, k.shape[2], self._widths[name])
            if tuple(given.shape) != want:
                raise ValueError(f"{name} has shape {tuple(given.shape)}, this memory takes {want}")

    def commit(self, counts: Sequence[int]) -> None:
        self.host_lengths = [a + b for a, b in zip(self.host_lengths, counts, strict=True)]
        self.lengths += _on_device(tuple(counts), self.lengths.device)

    def keepable(self, lengths: Sequence[int]) -> list[int]:
        return [min(have, max(want, 0)) for have, want in zip(self.host_lengths, lengths, strict=True)]

    def truncate(self, lengths: Sequence[int]) -> list[int]:
        kept = self.keepable(lengths)
        self._set(kept)
        return kept

    def _set(self, lengths: list[int]) -> None:
        self.host_lengths = lengths
        self.lengths.copy_(_on_device(tuple(lengths), self.lengths.device))

    def export(self, row: int, tokens: range) -> dict[str, Tensor]:
        if tokens.step != 1 or tokens.start < 0 or tokens.stop > self.host_lengths[row]:
            raise NotHeld(f"row {row} holds tokens 0 to {self.host_lengths[row]}, not {tokens}")
        span = slice(tokens.start, tokens.stop)
        return {name: kept[row, :, span].clone() for name, kept in self.parts.items()}

    def check_load(self, row: int, tokens: range, parts: Mapping[str, Tensor]) -> None:
        if tokens.step != 1 or tokens.start != self.host_lengths[row]:
            raise CannotLoad(f"row {row} holds {self.host_lengths[row]} tokens: cannot take {tokens} next")
        if tokens.stop > self.capacity:
            raise CacheFull(f"tokens up to {tokens.stop}, but room for {self.capacity}")
        for name, kept in self.parts.items():
            want = (kept.shape[1], len(tokens), *kept.shape[3:])
            part = parts.get(name)
            if part is None or tuple(part.shape) != want or part.dtype != kept.dtype:
                have = None if part is None else (tuple(part.shape), part.dtype)
                raise CannotLoad(f"part {name!r} is {have}, this memory needs {(want, kept.dtype)}")

    def load(self, row: int, tokens: range, parts: Mapping[str, Tensor]) -> None:
        self.check_load(row, tokens, parts)
        for name, kept in self.parts.items():
            kept[row, :, tokens.start : tokens.stop] = parts[name]
        self._set([tokens.stop if i == row else n for i, n in enumerate(self.host_lengths)])

    def fork(self, row: int, into: int) -> None:
        length = self.host_lengths[row]
        for t in self.tensors():
            t[into, :, :length] = t[row, :, :length]
        self._set([length if i == into else n for i, n in enumerate(self.host_lengths)])

    def clear(self, rows: Sequence[int]) -> None:
        gone = set(rows)
        self._set([0 if i in gone else n for i, n in enumerate(self.host_lengths)])


def _tokens_first(x: Tensor) -> Tensor:
    """`[B, heads, T, width]` as `[B * T, heads, width]`."""
    return x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3])


def _named(name: str, parts: tuple[Tensor, ...]) -> dict[str, Tensor]:
    return dict(zip((name, f"{name}_scale"), parts, strict=False))


# Every layer asks for the same few numbers at every step.
@lru_cache(maxsize=64)
def _slots(
    starts: tuple[int, ...], counts: tuple[int, ...], longest: int, capacity: int, device: torch.device
) -> Tensor:
    """Where each of a call's tokens goes: int64 [B * longest], row by row; -1 for padding."""
    n = torch.arange(longest)
    first = torch.tensor([row * capacity + start for row, start in enumerate(starts)])
    at = torch.where(n < torch.tensor(counts)[:, None], first[:, None] + n, -1)
    return at.flatten().to(device)


@lru_cache(maxsize=64)
def _on_device(numbers: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int32, device=device)
