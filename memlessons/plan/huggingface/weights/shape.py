"""What only the class of a model says about its weights: one line of facts a type.

Widths, heads, layers and experts are in the configuration. Whether a projection has a bias, a norm a shift
or an MLP a gate is in the code of the class, and here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.ledger import Ledger


class Flag(NamedTuple):
    """A yes or no that a field gives, or `default` where it is absent or there is no such field."""

    name: str = ""
    default: bool = False

    def of(self, fields: Fields) -> bool:
        """What the configuration says; BadConfig where the field is neither true nor false."""
        said = fields.flag(self.name) if self.name else None
        return self.default if said is None else said


NO = Flag()
YES = Flag("", True)

Extra = Callable[[Fields, Ledger], None]
"""Adds parameters that no other fact describes."""


@dataclass(frozen=True, slots=True)
class Experts:
    """A mixture of experts: which fields name the widths, and what stands beside the routed experts.

    `shared` says how wide the shared expert is: "one" routed one, "times" so many, "field" its own width.
    `router_vectors` are further numbers for each expert, such as a bias or a correction of its score.
    """

    width: tuple[str, ...] = ("moe_intermediate_size", "intermediate_size")
    shared: Literal["", "one", "times", "field"] = ""
    shared_gate: bool = False
    router_vectors: int = 0
    bias: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """Facts about the layers of a class; the defaults are those of Llama.

    `norm` is how many numbers a norm has for each channel: 1 a scale, 2 a shift too, 0 none. `tied` is what
    holds where the file does not say; `qk_norm` is over each head ("head"), or all heads together ("full").
    `needs` are lists of layers that the file must have, for no other rule knows what the class would fill in.
    """

    tied: bool = False
    positions: tuple[str, ...] = ()
    position_offset: int = 0
    embedding_norm: int = 0
    extra_rows: int = 0
    head_bias: Flag = NO
    norms: int = 2
    norm: int = 1
    final_norm: bool = True
    qkv_bias: Flag = NO
    out_bias: Flag = NO
    qk_norm: Literal["", "head", "full"] = ""
    qk_norm_if: Flag = YES
    qk_norm_numbers: int = 1
    gate: Literal["", "width", "heads", "double"] = ""
    sinks: Literal["", "all", "sliding"] = ""
    mlp: Literal["gated", "plain"] = "gated"
    mlp_bias: Flag = NO
    width: tuple[str, ...] = ("intermediate_size",)
    width_times: int = 0
    inner: Callable[[Fields], int] | None = None
    experts: Experts | None = None
    state: str = ""
    unsaid_kind: str = ""
    needs: tuple[str, ...] = ()
    layer_extra: Extra | None = None
    model_extra: Extra | None = None
