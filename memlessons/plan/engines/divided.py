"""How engines split a model over devices: heads that must come out even, or layers as a whole."""

from collections.abc import Sequence

from memlessons.plan.engines.asked import Asked, CannotDivide
from memlessons.plan.layer import Layer


def refuse_uneven(asked: Asked, engine: str) -> None:
    """Raise CannotDivide where `engine` would not start with so many devices: it splits no head.

    Query heads must divide by devices, where they are known; key and value heads by devices, or devices by
    them, each head then on several (vLLM: ModelConfig.verify_with_parallel_config, QKVParallelLinear; SGLang:
    the same).
    """
    tp = asked.tp
    if tp == 1 or not asked.on(f"{engine}: heads come out even"):
        return
    for i, layer in enumerate(asked.plan.layers):
        if layer.query_heads % tp:
            raise CannotDivide(
                f"tp={tp}: {engine} does not start, {layer.query_heads} query heads (layer {i}) do not "
                f"divide by {tp}; ask for a tp that divides {layer.query_heads}"
            )
        for store in layer.stores:
            heads = store.kv_heads if store.divides == "heads" else 0
            if heads and heads % tp and tp % heads:
                raise CannotDivide(
                    f"tp={tp}: {engine} does not start, {heads} key and value heads (layer {i}) and {tp} "
                    f"devices do not divide; ask for a tp that divides {heads} or that it divides"
                )


def whole_layers(layers: Sequence[Layer], devices: int) -> list[list[Layer]]:
    """The layers of each device that has any, where llama.cpp shares them out between equal devices.

    Layer i of n goes to device floor(i x devices / (n + 1)): the output counts as one more layer
    (llama-model.cpp, get_layer_buft_list).
    """
    shares: dict[int, list[Layer]] = {}
    for i, layer in enumerate(layers):
        shares.setdefault(i * devices // (len(layers) + 1), []).append(layer)
    return list(shares.values())
