"""A plan's bytes at many lengths, quickly: layers that keep the same are one term."""

from collections import Counter
from collections.abc import Callable

from memlessons.plan import MemoryPlan


def sums(plan: MemoryPlan, encoder_tokens: int) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """`plan.bytes` and `plan.bytes_read` of one sequence, by its length; a kind of store is counted once.

    A crossing is searched through a hundred lengths, and eighty layers of two kinds are two sums.
    """
    held = Counter(store for layer in plan.layers for store in layer.stores)
    read = held + Counter(store for layer in plan.layers for store in plan.shared_stores(layer))

    def bytes_at(tokens: int) -> int:
        return sum(count * plan.store_bytes(s, tokens, encoder_tokens) for s, count in held.items())

    def bytes_read_at(tokens: int) -> int:
        return sum(
            count
            * (
                s.read_slots(encoder_tokens if s.grows_with == "encoder_tokens" else tokens) * s.slot_bytes
                + s.state_bytes
            )
            for s, count in read.items()
        )

    return bytes_at, bytes_read_at
