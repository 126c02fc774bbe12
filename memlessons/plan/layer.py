"""One layer of a plan: the stores it keeps, and whose memory it reads."""

from dataclasses import dataclass

from memlessons.plan.errors import InvalidPlan, whole
from memlessons.plan.store import Store


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer keeps: `stores` of its own, and the layer whose memory it reads (`reads_from`).

    `draft` marks layers of a draft head; `rule` says which rule of a parser made this layer.
    """

    query_heads: int
    stores: tuple[Store, ...]
    reads_from: int | None = None
    draft: bool = False
    rule: str = ""

    def __post_init__(self) -> None:
        whole("Layer.query_heads", self.query_heads)
        for store in self.stores:
            if store.role in ("self", "cross") and self.query_heads % store.kv_heads:
                raise InvalidPlan(
                    f"Layer.query_heads={self.query_heads}: not a multiple of kv_heads={store.kv_heads}"
                )
