"""What-if edits: each takes layers and returns new ones; nothing is changed in place."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from memlessons.plan.errors import InvalidPlan, whole
from memlessons.plan.formats import Format
from memlessons.plan.layer import Layer
from memlessons.plan.store import Store

Layers = tuple[Layer, ...]


def _each_store(layers: Layers, roles: Sequence[str], edit: Callable[[Layer, Store], Store]) -> Layers:
    """Apply `edit` to the stores of these roles; InvalidPlan if there are none."""
    if not any(s.role in roles for layer in layers for s in layer.stores):
        raise InvalidPlan(f"this plan has no store of role {' or '.join(roles)} to change")
    return tuple(
        replace(layer, stores=tuple(edit(layer, s) if s.role in roles else s for s in layer.stores))
        for layer in layers
    )


def with_kv_heads(layers: Layers, kv_heads: int) -> Layers:
    """So many key and value heads in each self-attention store."""
    whole("kv_heads", kv_heads, least=1)
    return _each_store(layers, ("self",), lambda _, s: replace(s, kv_heads=kv_heads))


def with_latent(layers: Layers, rank: int, rope_width: int) -> Layers:
    """A latent in place of keys and values: rank numbers, and `rope_width` that carry the position."""
    whole("rank", rank, least=1)
    whole("rope_width", rope_width)

    def latent(_: Layer, s: Store) -> Store:
        width = rank + rope_width
        return replace(
            s,
            role="latent",
            kv_heads=1,
            key_width=width,
            value_width=0,
            rope_width=rope_width,
            divides="nothing",
        )

    return _each_store(layers, ("self",), latent)


def with_window(
    layers: Layers, pattern: int | Sequence[bool] | None, size: int, sinks: int, slack: int
) -> Layers:
    """Windows of `size` in the layers that `pattern` does not make global."""
    whole("size", size, least=1)
    if pattern is None:
        is_global = [False] * len(layers)
    elif isinstance(pattern, int):
        whole("pattern", pattern, least=1)
        is_global = [(i + 1) % pattern == 0 for i in range(len(layers))]
    else:
        is_global = list(pattern)
        if len(is_global) != len(layers):
            raise InvalidPlan(f"pattern has {len(is_global)} entries, the plan {len(layers)} layers")

    def windowed(s: Store) -> Store:
        if s.role not in ("self", "latent"):
            return s
        return replace(s, window=size, sink_tokens=sinks, slack=slack, block=None)

    return tuple(
        layer if everything else replace(layer, stores=tuple(map(windowed, layer.stores)))
        for layer, everything in zip(layers, is_global, strict=True)
    )


def with_format(layers: Layers, key: Format, value: Format) -> Layers:
    """These formats for everything that attention reads."""
    return _each_store(
        layers,
        ("self", "latent", "cross"),
        lambda _, s: replace(s, key_format=key, value_format=value),
    )


def with_sharing(layers: Layers, factor: int, scheme: str) -> Layers:
    """Readers give up their growing stores and read their owner's; a kind is what a layer keeps.

    "neighbours": of the layers of one kind, each run of `factor` shares the first one's memory (CLA,
    arXiv:2405.12981). "last": the last `factor` layers read the last owner of their kind (Gemma 3n). Layers
    that keep nothing that grows do not count, and what read a layer that now reads another follows it.
    """
    whole("factor", factor, least=1 if scheme == "neighbours" else 0)
    own = [i for i, layer in enumerate(layers) if _not_growing(layer.stores) != layer.stores]
    if not own:
        raise InvalidPlan("this plan has no layer whose memory grows, to share it")
    kinds = [layers[i].stores for i in own]
    if scheme == "neighbours":
        owners = _neighbour_owners(kinds, factor)
    elif scheme == "last":
        owners = _last_owners(kinds, factor)
    else:
        raise InvalidPlan(f"scheme={scheme!r}: must be 'neighbours' or 'last'")
    owner = {i: own[j] for i, j in zip(own, owners, strict=True)}
    shared = []
    for i, layer in enumerate(layers):
        reads = layer.reads_from if layer.reads_from is not None else i
        reads = owner.get(reads, reads)
        if reads == i or (i not in owner and layer.reads_from is None):
            shared.append(layer)
        else:
            shared.append(replace(layer, reads_from=reads, stores=_not_growing(layer.stores)))
    return tuple(shared)


def _not_growing(stores: tuple[Store, ...]) -> tuple[Store, ...]:
    return tuple(s for s in stores if s.role in ("cross", "state"))


def _neighbour_owners(kinds: Sequence[object], run: int) -> list[int]:
    seen: dict[object, int] = {}
    first: dict[object, int] = {}
    owners = []
    for i, kind in enumerate(kinds):
        if seen.setdefault(kind, 0) % run == 0:
            first[kind] = i
        seen[kind] += 1
        owners.append(first[kind])
    return owners


def _last_owners(kinds: Sequence[object], readers: int) -> list[int]:
    own = len(kinds) - readers
    owners = list(range(max(own, 0)))
    for i in range(max(own, 0), len(kinds)):
        of_kind = [j for j in range(max(own, 0)) if kinds[j] == kinds[i]]
        if not of_kind:
            raise InvalidPlan(
                f"layer {i} should read the last owner of its kind, but no earlier layer is of its kind"
            )
        owners.append(of_kind[-1])
    return owners


def on_one_device(layers: Layers, devices: int) -> Layers:
    """What the fullest of `devices` keeps: whole heads, a share of the state, all of what is not split."""

    def share(s: Store) -> Store:
        heads, state = s.kv_heads, s.state
        if s.divides == "heads" and heads:
            heads = -(-heads // devices)
        if s.divides in ("heads", "state"):
            state = tuple((-(-elements // devices), format) for elements, format in state)
        return replace(s, kv_heads=heads, state=state)

    return tuple(replace(layer, query_heads=0, stores=tuple(map(share, layer.stores))) for layer in layers)
