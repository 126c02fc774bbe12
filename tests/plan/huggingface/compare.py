"""The plan's layers in the words in which the peer's cache is recorded, and how to compare them.

Three things hold for all types. The peer keeps `window - 1` tokens between steps, because the next token
sees itself. It keeps as many columns of a convolution's input as the kernel has, of which the oldest is
never read. And what is 16 or 32 bits wide of a state is the engine's choice: elements are compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memlessons.plan import MemoryPlan
from memlessons.plan.huggingface import from_huggingface
from memlessons.plan.layer import Layer as PlanLayer
from memlessons.plan.store import Store

NOTHING: frozenset[str] = frozenset()
Layer = dict[str, Any]
Run = tuple[int, int, list[Layer]]
"""Tokens, tokens of an encoder, and what each layer keeps then."""


def planned(plan: MemoryPlan, tokens: int, encoder_tokens: int) -> list[Layer]:
    """What a plan says the peer's layers keep."""
    return [_layer(layer, tokens, encoder_tokens) for layer in plan.layers]


def _layer(layer: PlanLayer, tokens: int, encoder_tokens: int) -> Layer:
    found: Layer = {"kind": _kind(layer.stores)}
    states: list[int] = []
    for store in layer.stores:
        if store.role == "state":
            states += [elements for elements, _ in store.state]
            continue
        kept = _between_steps(store)
        size = kept.slots(encoder_tokens if kept.grows_with == "encoder_tokens" else tokens) * kept.slot_bytes
        name = "self" if store.role == "latent" else store.role
        if size:
            found[name] = found.get(name, 0) + size
    return found | ({"state": states} if states else {})


def _between_steps(store: Store) -> Store:
    if store.window is not None:
        return replace(store, window=store.window - 1)
    return store if store.block is None else replace(store, block=store.block - 1)


def _kind(stores: tuple[Store, ...]) -> str:
    roles = {store.role for store in stores}
    near = any(store.window is not None or store.block is not None for store in stores)
    if "state" in roles:
        return ("both" if len(roles) > 1 else "linear") + (" sliding" if near else "")
    if "cross" in roles:
        return "self+cross" if len(roles) > 1 else "cross"
    if roles <= {"index"}:
        return "none"
    return "sliding" if near else "indexed" if "index" in roles else "full"


def kept_by_peer(layers: list[Layer]) -> list[Layer]:
    """The peer's layers without the column of each convolution that is never read."""
    found = []
    for layer in layers:
        states = [sum(channels * (columns - 1) for channels, columns in layer.get("conv", []))]
        states += [layer["state"]] if layer.get("state") else []
        rest = {k: v for k, v in layer.items() if k not in ("conv", "state") and v}
        found.append(rest | ({"state": [n for n in states if n]} if any(states) else {}))
    return found


def ours(
    config: Mapping[str, Any], tokens: int, encoder_tokens: int, without: frozenset[str] = NOTHING
) -> list[Layer]:
    """What the plan of a configuration says that the peer's layers keep."""
    return planned(from_huggingface(config, without=without), tokens, encoder_tokens)


@dataclass(frozen=True)
class Difference:
    """Why a type differs from the peer, and what must be done to either side to make them exactly equal."""

    reason: str
    ours: Callable[[Mapping[str, Any], int, int], list[Layer]] = ours
    peers: Callable[[list[Layer], int], list[Layer]] = lambda layers, _: kept_by_peer(layers)


def unequal(config: Mapping[str, Any], runs: list[Run], difference: Difference) -> list[str]:
    """Where the plan of a configuration and the peer's runs differ; an empty list is what is wanted."""
    found = []
    for tokens, encoder_tokens, layers in runs:
        mine = difference.ours(config, tokens, encoder_tokens)
        peers = difference.peers(layers, tokens)
        if len(mine) != len(peers):
            found.append(f"{tokens} tokens: {len(mine)} layers, the peer {len(peers)}")
            continue
        apart = [(i, a, b) for i, (a, b) in enumerate(zip(mine, peers, strict=True)) if a != b]
        if apart:
            i, a, b = apart[0]
            found.append(f"{tokens} tokens, {len(apart)} layers apart, first layer {i}: {a}, the peer {b}")
    return found


NONE = Difference("")
