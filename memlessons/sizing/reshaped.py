"""Changes of a plan that hold for models of several kinds of layer, on top of `MemoryPlan.with_...`."""

from dataclasses import replace

from memlessons.plan import Layer, MemoryPlan
from memlessons.plan.errors import InvalidPlan


def fewer_kv_heads(plan: MemoryPlan, divisor: int) -> MemoryPlan:
    """Key and value heads divided, in each layer by itself: kinds of layers may have different numbers.

    InvalidPlan where a layer's number is no multiple of `divisor`, or no layer has such heads.
    """
    if not any(s.role == "self" for layer in plan.layers for s in layer.stores):
        raise InvalidPlan("this plan has no store of role self to change")
    layers = []
    for i, layer in enumerate(plan.layers):
        heads = {s.kv_heads for s in layer.stores if s.role == "self"}
        if any(count % divisor for count in heads):
            raise InvalidPlan(f"layer {i} has {max(heads)} KV heads: not a multiple of {divisor}")
        if len(heads) == 1:
            alone = MemoryPlan((replace(layer, reads_from=None),)).with_kv_heads(heads.pop() // divisor)
            layer = replace(alone.layers[0], reads_from=layer.reads_from)
        layers.append(layer)
    return replace(plan, layers=tuple(layers))


def _attends(layer: Layer) -> bool:
    """Whether it keeps something of its own, of each token."""
    return any(s.role in ("self", "latent") for s in layer.stores)


def windows(plan: MemoryPlan, size: int, every: int, sinks: int) -> MemoryPlan:
    """Windows of `size` tokens in all layers that attend, but in every `every`-th of them (0: in all).

    Counted are layers with a memory of their own: in a hybrid, or where neighbours share, every sixth
    *layer* might be none of them. InvalidPlan where no layer attends.
    """
    if not any(map(_attends, plan.layers)):
        raise InvalidPlan("no layer of this model looks back on tokens")
    count, kept = 0, []
    for layer in plan.layers:
        count += _attends(layer)
        kept.append(not _attends(layer) or (every > 0 and count % every == 0))
    return plan.with_window(kept, size, sinks)
