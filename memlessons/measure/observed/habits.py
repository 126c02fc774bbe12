"""Where `transformers` keeps more or less than a plan says, in words; numbers come from its own tensors."""

from collections.abc import Sequence
from typing import Any

from memlessons.measure.entry import Entry
from memlessons.units import bytes_text


def notes_on(cache: Any, entries: Sequence[Entry]) -> tuple[str, ...]:
    """What a reader should know of this cache's habits before it is held against a plan."""
    cache = getattr(cache, "self_attention_cache", cache)
    layers = getattr(cache, "layers", None)
    if not isinstance(layers, list | tuple):
        return ()
    return (*_windows(layers, entries), *_convolutions(entries))


def _windows(layers: Sequence[Any], entries: Sequence[Entry]) -> list[str]:
    notes = []
    by_window: dict[int, list[int]] = {}
    for index, layer in enumerate(layers):
        window, keys = getattr(layer, "sliding_window", None), getattr(layer, "keys", None)
        # Static layers keep the whole window.
        if not window or keys is None or hasattr(layer, "max_cache_len"):
            continue
        if len(keys.shape) == 4 and keys.shape[2] == window - 1 < layer.cumulative_length:
            by_window.setdefault(window, []).append(index)
    for window, where in by_window.items():
        notes.append(
            f"{_layers(where)}: between two steps {window - 1:,} tokens of a window of {window:,} are kept, "
            "for the next token is the last of it: the slot that a plan has more is not missed"
        )
    sliding = {index for where in by_window.values() for index in where}
    left = sum(e.room_bytes for e in entries if e.layer in sliding and not e.shape)
    if left:
        notes.append(
            f"{bytes_text(left)} of the windows' layers are tokens that left the window: they stay in "
            "memory, as the rest of the same storage, until the next token"
        )
    return notes


def _convolutions(entries: Sequence[Entry]) -> list[str]:
    found = [e for e in entries if e.what.startswith("state convolution")]
    if not found:
        return []
    where = sorted({e.layer for e in found if e.layer is not None})
    columns = ", ".join(str(n) for n in sorted({e.shape[-1] for e in found}))
    return [
        f"{_layers(where)}: the convolution's state has {columns} columns, as many as its kernel; the next "
        "token needs one less"
    ]


def _layers(where: Sequence[int]) -> str:
    if len(where) == 1:
        return f"layer {where[0]}"
    consecutive = list(where) == list(range(where[0], where[-1] + 1))
    return f"layers {where[0]}-{where[-1]}" if consecutive else f"{len(where)} layers from {where[0]} on"
