"""What a cache of the peer holds, layer by layer, read from its tensors' shapes.

A layer is a dictionary: its `kind`; bytes of `self`, `cross` and `index`; `conv` as [channels, columns];
`state` as elements; and whatever else it holds by its name, in bytes.
"""

from math import prod
from typing import Any

import torch

Layer = dict[str, Any]


def layers_of(cache: Any, model: Any) -> list[Layer]:
    """Each layer of a cache, which comes in six shapes."""
    if isinstance(cache, list):
        # Tensors whose last dimension is the layer.
        count = cache[0].shape[-1]
        return [{"kind": "linear", "state": sum(t[..., i].numel() for t in cache)} for i in range(count)]
    if hasattr(cache, "rnn_state"):
        return [
            {"kind": "linear", "state": sum(t.numel() for t in parts)} for parts in cache.rnn_state.values()
        ]
    if hasattr(cache, "linear_cache"):
        return _beside(cache)
    if hasattr(cache, "self_attention_cache"):
        own = [_layer(layer) for layer in cache.self_attention_cache.layers]
        cross = [_layer(layer).get("self") for layer in cache.cross_attention_cache.layers]
        cross += [None] * (len(own) - len(cross))
        return [
            a | ({"kind": "self+cross", "cross": b} if b else {}) for a, b in zip(own, cross, strict=True)
        ]
    if hasattr(model, "_setup_cache"):
        pairs = zip(model.model.layers, cache.layers, strict=True)
        return [_of_module(layer.temporal_block) or _layer(kept) for layer, kept in pairs]
    crosses = getattr(model.config.get_text_config(decoder=True), "cross_attention_layers", None) or ()
    return [
        {"kind": "cross", "cross": layer.get("self", 0)} if i in crosses else layer
        for i, layer in enumerate(map(_layer, cache.layers))
    ]


def _beside(cache: Any) -> list[Layer]:
    """States beside the layers of the cache, in a list that ends with the last of them."""
    states = [*cache.linear_cache, *[[]] * len(cache)]
    own = [*(_layer(layer) for layer in cache.layers), *({"kind": "none"} for _ in states)]
    return [
        {"kind": "linear", "state": state.numel()} if isinstance(state, torch.Tensor) else layer
        for layer, state in zip(own[: len(cache)], states, strict=False)
    ]


def _of_module(block: Any) -> Layer | None:
    if not hasattr(block, "conv1d_state"):
        return None
    # Here the column that no convolution reads is not kept; it is added, to be like all others.
    channels, columns = block.conv1d_state.shape[-2:]
    return {
        "kind": "linear",
        "conv": [[channels, columns + 1]],
        "state": block.rg_lru.recurrent_states.numel(),
    }


def _layer(layer: Any) -> Layer:
    kept: Layer = {"kind": _kind(layer)}
    for name, value in vars(layer).items():
        parts = value.items() if isinstance(value, dict) else [(None, value)]
        for part, tensor in parts:
            if isinstance(tensor, torch.Tensor) and tensor.dim() > 1:
                _note(kept, name, part, tensor)
    return kept


def _note(kept: Layer, name: str, part: object, tensor: torch.Tensor) -> None:
    size = tensor.numel() * tensor.element_size()
    if name in ("keys", "values"):
        kept["self"] = kept.get("self", 0) + size
    elif name in ("indexer_keys", "idx_keys"):
        # One type keeps them in 32 bits; as with states, the format is the engine's to choose.
        kept["index"] = 2 * tensor.numel()
    elif name == "conv_states":
        kept.setdefault("conv", []).append([prod(tensor.shape[:-1]), tensor.shape[-1]])
    elif name == "recurrent_states":
        kept["state"] = kept.get("state", 0) + tensor.numel()
    else:
        kept[name if part is None else f"{name}.{part}"] = size


def _kind(layer: Any) -> str:
    bases = [base.__name__ for base in type(layer).__mro__]
    window = " sliding" if "DynamicSlidingWindowLayer" in bases else ""
    if "LinearAttentionLayer" in bases:
        return f"both{window}" if _holds(layer, "keys") else "linear"
    if not _holds(layer, "keys"):
        return "none"
    # A layer that takes what another's indexer chose is of the same class, and keeps no keys of its own.
    return window.strip() or (
        "indexed" if _holds(layer, "indexer_keys") or _holds(layer, "idx_keys") else "full"
    )


def _holds(layer: Any, name: str) -> bool:
    return isinstance(getattr(layer, name, None), torch.Tensor)
