"""The tensors of one layer of a `transformers` cache, in the form in which live memory is counted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memlessons.measure.live import CannotCount
from memlessons.plan import F16, Store
from memlessons.plan.store import Growth, Role

LAYERS = "layers of keys and values, convolution and recurrent states, or indexer keys"


class _Lengths(list[int]):
    def tolist(self) -> list[int]:
        return list(self)


class Piece(NamedTuple):
    """One tensor to count, and what to call it."""

    name: str
    tensor: Any


@dataclass(frozen=True)
class PeerMemory:
    """Some tensors of a cache's layer, in the form in which live memory is counted."""

    store: Store
    lengths: _Lengths
    pieces: tuple[Piece, ...]

    def tensors(self) -> tuple[Any, ...]:
        """The tensors, in the order of their names."""
        return tuple(piece.tensor for piece in self.pieces)


def of_tuple(layer: Sequence[Any], role: Role) -> list[PeerMemory]:
    """Tuples before 4.36: keys and values, in an encoder-decoder those of the encoder's tokens behind."""
    if len(layer) not in (2, 4) or not all(hasattr(t, "untyped_storage") for t in layer):
        raise CannotCount(
            f"a layer of {len(layer)} items ({', '.join(map(kind, layer))}): counted are (keys, values) and "
            "(keys, values, cross keys, cross values)"
        )
    pairs = [pair(layer, layer[0], layer[1], role)]
    return pairs + ([pair(layer, layer[2], layer[3], "cross")] if len(layer) == 4 else [])


def of_layer(layer: Any, role: Role) -> Iterator[PeerMemory]:
    """What one layer of a cache keeps; none, one, or several kinds. CannotCount if anything is not known."""
    if not any(hasattr(layer, name) for name in ("keys", "conv_states", "recurrent_states")):
        raise CannotCount(f"{kind(layer)}: no layer that is known; counted are {LAYERS}")
    counted: list[Any] = []
    if not empty(getattr(layer, "keys", None)):
        memory = pair(layer, layer.keys, layer.values, role, getattr(layer, "max_cache_len", None))
        counted += [layer.keys, layer.values]
        yield memory
    if not empty(getattr(layer, "indexer_keys", None)):
        memory = _index(layer)
        counted += [layer.indexer_keys, layer.indexer_position_ids]
        yield memory
    states = [
        Piece(f"state {what} {i}", tensor)
        for what, of in (("convolution", "conv_states"), ("recurrent", "recurrent_states"))
        for i, tensor in _items(getattr(layer, of, None))
        if not empty(tensor)
    ]
    if states:
        counted += [piece.tensor for piece in states]
        rows = states[0].tensor.shape[0]
        # What a state holds does not depend on its store: only its shape is asked.
        kept = Store("state", grows_with="nothing", state=((1, F16),))
        yield PeerMemory(kept, _Lengths([0] * rows), tuple(states))
    all_counted(layer, counted)


def pair(owner: Any, keys: Any, values: Any, role: Role, most: int | None = None) -> PeerMemory:
    """Keys and values of one layer, `[rows, heads, slots, width]` each; `most` slots where room is fixed."""
    tensors = {"keys": keys} if empty(values) else {"keys": keys, "values": values}
    for what, tensor in tensors.items():
        if len(tensor.shape) != 4:
            raise CannotCount(
                f"{kind(owner)}: {what} of shape {tuple(tensor.shape)}; counted are "
                "[rows, heads, slots, width]"
            )
        _has_storage(owner, what, tensor)
    rows, heads, slots, width = keys.shape
    # A static layer has its room from the start and says how far it is filled.
    held = slots if most is None else getattr(owner, "cumulative_length", None)
    if held is None:
        raise CannotCount(f"{kind(owner)}: says of {most:,} slots not how many are filled")
    grows: Growth = "encoder_tokens" if role == "cross" else "tokens"
    store = Store(role, heads, width, values.shape[3] if "values" in tensors else 0, grows_with=grows)
    pieces = tuple(Piece(f"{role} {what[0]}", tensor) for what, tensor in tensors.items())
    return PeerMemory(store, _Lengths([int(held)] * rows), pieces)


def _index(layer: Any) -> PeerMemory:
    keys, positions = layer.indexer_keys, layer.indexer_position_ids
    if len(keys.shape) != 3:
        raise CannotCount(
            f"{kind(layer)}: indexer_keys of shape {tuple(keys.shape)}; counted are [rows, slots, width]"
        )
    _has_storage(layer, "indexer_keys", keys)
    rows, slots, width = keys.shape
    filled = getattr(layer, "indexer_cumulative_length", None)
    pieces = [Piece("index k", keys.unsqueeze(1))]
    if positions is not None:
        pieces.append(Piece("index positions", positions.permute(1, 0, 2).unsqueeze(-1)))
    held = slots if filled is None else int(filled)
    return PeerMemory(Store("index", 1, width), _Lengths([held] * rows), tuple(pieces))


def _items(of: Any) -> Iterator[tuple[Any, Any]]:
    """The states of a layer, numbered; one tensor, a list or a dictionary, as versions differ."""
    if isinstance(of, Mapping):
        yield from of.items()
    elif isinstance(of, list | tuple):
        yield from enumerate(of)
    elif of is not None:
        yield 0, of


def all_counted(layer: Any, counted: Sequence[Any]) -> None:
    """Refuse a layer, or a cache, that holds a tensor, or something that may hide one, nobody counted."""
    known = {id(tensor) for tensor in counted}
    for name, value in getattr(layer, "__dict__", {}).items():
        for item in _leaves(value):
            is_tensor = hasattr(item, "untyped_storage")
            if is_tensor and len(item.shape) and not empty(item) and id(item) not in known:
                raise CannotCount(
                    f"{kind(layer)}: {name!r} holds a tensor of shape {tuple(item.shape)} that is not "
                    f"known; counted are {LAYERS}"
                )
            if not is_tensor and name.startswith(("keys", "values", "_quantized")) and item is not None:
                raise CannotCount(f"{kind(layer)}: {name!r} holds a {kind(item)}; counted are tensors")


def _leaves(value: Any, depth: int = 4) -> Iterator[Any]:
    """What lies in lists and dictionaries within each other."""
    for _, item in _items(value):
        if depth and isinstance(item, Mapping | list | tuple):
            yield from _leaves(item, depth - 1)
        else:
            yield item


def _has_storage(owner: Any, what: str, tensor: Any) -> None:
    if tensor.device.type == "meta":
        raise CannotCount(f"{kind(owner)}: {what} are on the meta device, which keeps nothing")


def empty(tensor: Any) -> bool:
    """Whether there is nothing yet: layers that read another's, and layers before their first token."""
    return tensor is None or (hasattr(tensor, "numel") and tensor.numel() == 0)


def kind(thing: Any) -> str:
    """The name of a thing's class, for messages."""
    return type(thing).__name__
