"""Counting what a `transformers` cache keeps: from its live tensors and their storages, layer by layer.

Neither torch nor transformers is imported: a cache is recognised by what it holds, and every tensor in it
must be accounted for, or the count is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from memlessons.measure.account import Account
from memlessons.measure.entry import Entry
from memlessons.measure.live import CannotCount, live_entries
from memlessons.measure.observed.habits import notes_on
from memlessons.measure.observed.pieces import (
    LAYERS,
    PeerMemory,
    all_counted,
    empty,
    kind,
    of_layer,
    of_tuple,
    pair,
)
from memlessons.plan.store import Role


@dataclass
class _State:
    layers: list[list[PeerMemory]] = field(default_factory=list)


def audit_transformers(past_key_values: Any, model: Any = None) -> Account:
    """Count what a `transformers` cache keeps, entry by entry: valid slots by shape, room by storage.

    Takes a DynamicCache or StaticCache (full, sliding, linear-attention and indexed layers), an
    EncoderDecoderCache, the tuples of older versions, or a model's output that holds one of these. With
    `model`, a latent is named as one. `notes` say where the library's habits differ from a plan's.
    CannotCount names the class, and the attribute, that it does not know.
    """
    cache = cache_in(past_key_values)
    state = _State()
    if hasattr(cache, "self_attention_cache"):
        _add(state, cache.self_attention_cache, "self")
        _add(state, cache.cross_attention_cache, "cross")
    else:
        _add(state, cache, _role(cache, model))
    names = [piece.name for memories in state.layers for m in memories for piece in m.pieces]
    who = f"{type(model).__name__}'s {type(cache).__name__}" if model is not None else type(cache).__name__
    entries = [replace(e, source=f"counted from the tensors of {who}") for e in live_entries(state)]
    named = [_named(e, name) for e, name in zip(entries, names, strict=False)] + entries[len(names) :]
    return Account(tuple(named), notes_on(cache, named))


def cache_in(output: Any) -> Any:
    """The cache in a model's output, or the thing itself if it is no output."""
    for name in ("past_key_values", "cache", "cache_params"):
        if isinstance(output, Mapping):
            if output.get(name) is not None:
                return output[name]
        elif name in getattr(output, "__dict__", {}) and vars(output)[name] is not None:
            return vars(output)[name]
    return output


def _named(entry: Entry, name: str) -> Entry:
    _, comma, shared = entry.what.partition(",")
    return replace(entry, what=f"{name}{comma}{shared}")


def _add(state: _State, cache: Any, role: Role) -> None:
    found = list(_memories(cache, role))
    # Some caches keep states beside their layers, not in them.
    all_counted(cache, [tensor for memories in found for m in memories for tensor in m.tensors()])
    for index, memories in enumerate(found):
        while len(state.layers) <= index:
            state.layers.append([])
        state.layers[index] += memories


def _memories(cache: Any, role: Role) -> Iterator[list[PeerMemory]]:
    """The memories of each layer of a cache."""
    layers = getattr(cache, "layers", None)
    if isinstance(layers, list | tuple):
        for layer in layers:
            yield list(of_layer(layer, role))
    elif hasattr(cache, "key_cache") and hasattr(cache, "value_cache"):
        for keys, values in zip(cache.key_cache, cache.value_cache, strict=True):
            yield [] if empty(keys) else [pair(cache, keys, values, role)]
    elif isinstance(cache, tuple | list) and all(isinstance(layer, tuple | list) for layer in cache):
        for layer in cache:
            yield of_tuple(layer, role)
    else:
        if hasattr(cache, "forward"):
            raise CannotCount(
                f"{kind(cache)}: a model keeps no cache between calls: give audit(model, cache)"
            )
        raise CannotCount(f"{kind(cache)}: no cache that is known; counted are {LAYERS}")


def _role(cache: Any, model: Any) -> Role:
    """What keys and values are: a latent and its RoPE part, if the model's configuration says so."""
    config: Any = getattr(model, "config", None)
    if hasattr(config, "get_text_config"):
        config = config.get_text_config(decoder=True)
    rank, rope = getattr(config, "kv_lora_rank", None), getattr(config, "qk_rope_head_dim", None)
    layers = getattr(cache, "layers", None) or ()
    keys = next((k for y in layers if not empty(k := getattr(y, "keys", None))), None)
    if keys is None or rank is None or keys.shape[1] != 1:
        return "self"
    return "latent" if keys.shape[-1] in (rank, rank + (rope or 0)) else "self"
