"""From the fields of a configuration to the list of its layers, each with what it keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from memlessons.plan.huggingface.attention import attention_stores
from memlessons.plan.huggingface.errors import UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import query_heads
from memlessons.plan.huggingface.index import index_store, read_tokens
from memlessons.plan.huggingface.kinds import drafted_kinds, layer_count, layer_kinds
from memlessons.plan.huggingface.order import LOOPS, SHARING, draft_layers
from memlessons.plan.huggingface.quantised import kv_dtype
from memlessons.plan.huggingface.refusals import refuse_unread_state, refuse_what_keeps_nothing
from memlessons.plan.huggingface.rules import Rule, first
from memlessons.plan.huggingface.source import language_model, load_config
from memlessons.plan.huggingface.states import elements, formats
from memlessons.plan.huggingface.windows import longest_context
from memlessons.plan.layer import Layer
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.store import Store

Unknown = Literal["refuse", "leave out"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A configuration understood: the plan, how far the model reads, and the rules that fired, in order.

    `kv_dtype` is the format of keys and values that the file asks engines for ("fp8"), None where it asks for
    none. The plan is in 16 bits all the same: whoever sizes for an engine chooses.
    """

    plan: MemoryPlan
    longest_context: int | None
    fields: Fields
    rules: tuple[Rule[Any], ...]
    kv_dtype: str | None = None


def from_huggingface(
    config: str | Path | Mapping[str, Any],
    *,
    draft: bool = False,
    expand_latent: bool = False,
    unknown_state: Unknown = "refuse",
    without: frozenset[str] = frozenset(),
) -> MemoryPlan:
    """What a model keeps, from its config.json as published (an object, its text, a file or a folder).

    Formats are 16-bit, as engines store unless told otherwise. `draft` counts the layers of a draft head
    (multi-token prediction) too. `expand_latent` is what an engine keeps that does not know latent
    attention: keys and values of every head. `unknown_state="leave out"` accepts layers whose recurrent
    state the configuration does not describe, for sums that leave state out anyway. `without` names rules
    to leave out, to see what they are worth. Raises UnknownArchitecture, with the field and the rule,
    instead of guessing, and BadConfig for a field that cannot be.
    """
    return read_huggingface(
        config, draft=draft, expand_latent=expand_latent, unknown_state=unknown_state, without=without
    ).plan


def read_huggingface(
    config: str | Path | Mapping[str, Any],
    *,
    draft: bool = False,
    expand_latent: bool = False,
    unknown_state: Unknown = "refuse",
    without: frozenset[str] = frozenset(),
) -> Reading:
    """Like `from_huggingface`, with the rules that fired and the length that the model was made to read."""
    fields = language_model(load_config(config), without)
    refuse_what_keeps_nothing(fields)
    fields = replace(fields, layers=layer_count(fields))
    kinds, kinds_rule = layer_kinds(fields)
    refuse_unread_state(fields, kinds, kinds_rule.name)
    fields = replace(fields, layers=len(kinds))
    builder = _Builder(fields, kinds, expand_latent, unknown_state)
    built = [builder.layer(i, kind) for i, kind in enumerate(kinds)]
    layers = _ordered(fields, built, kinds, builder)
    if draft:
        named = [builder.layer(len(kinds) - 1, kind) for kind in drafted_kinds(fields, kinds_rule)]
        layers += draft_layers(fields, layers, named)
    if not any(layer.stores for layer in layers):
        raise UnknownArchitecture(
            f"{kinds_rule.name}: no layer keeps anything, which no rule can be right about"
        )
    rules = tuple(dict.fromkeys((kinds_rule, *builder.fired)))
    plan = MemoryPlan(tuple(replace(layer, rule=layer.rule or kinds_rule.name) for layer in layers))
    return Reading(plan, longest_context(fields), fields, rules, kv_dtype(fields))


class _Builder:
    """Builds layers one by one and notes which rules they took."""

    def __init__(self, fields: Fields, kinds: list[str], expand_latent: bool, unknown_state: Unknown) -> None:
        self.fields, self.expand_latent, self.unknown_state = fields, expand_latent, unknown_state
        self.fired: list[Rule[Any]] = []
        self.overlays = fields.overlays()
        self.indexed = "indexed" in kinds

    def layer(self, i: int, kind: str) -> Layer:
        attends = {"indexed": "full", "parallel": "full", "parallel sliding": "sliding", "chunked": "sliding"}
        attends["decoder sliding"] = "sliding"
        fields = self.fields.at(i, attends.get(kind, kind), self.overlays.get(i))
        stores: list[Store] = []
        names: list[str] = []
        if kind not in ("linear", "conv", "none"):
            found, rules = attention_stores(fields, kind, self.expand_latent)
            stores += found
            self.fired += rules
            names += [rule.name for rule in rules]
        if kind in ("linear", "conv", "parallel", "parallel sliding"):
            stores += self.state(fields, kind, names)
        index = index_store(fields, kind, self.indexed)
        if index is not None:
            self.fired.append(index.rule)
            names.append(index.rule.name)
        if index is not None or kind == "indexed":
            # A layer without an indexer of its own takes what the last one chose.
            stores = [replace(s, read_tokens=read_tokens(fields)) for s in stores]
        stores += [index.value] if index is not None else []
        return Layer(self._query_heads(fields, stores), tuple(stores), rule="; ".join(dict.fromkeys(names)))

    def state(self, fields: Fields, kind: str, names: list[str]) -> list[Store]:
        fired = elements(fields)
        if fired is None:
            if self.unknown_state == "leave out":
                return []
            raise UnknownArchitecture(
                f"layer {fields.layer} keeps a state ({kind}), but no field says how large: none of the "
                "known spellings (linear_num_value_heads, mamba_d_state, conv_L_cache ...) is there"
            )
        self.fired.append(fired.rule)
        names.append(fired.rule.name)
        state = formats(fields, fired.value)
        return [Store("state", grows_with="nothing", state=state, divides="state")] if state else []

    def _query_heads(self, fields: Fields, stores: list[Store]) -> int:
        heads = query_heads(fields) or 0
        return heads if any(s.role in ("self", "latent", "cross") for s in stores) else 0


def _ordered(fields: Fields, built: list[Layer], kinds: list[str], builder: _Builder) -> tuple[Layer, ...]:
    """The layers in the order in which a token meets them, readers bound to the owners of what they read."""
    shared = first(SHARING, fields)
    if shared is not None:
        builder.fired.append(shared.rule)
        built = shared.value(built, kinds)
        built = [
            replace(layer, rule=shared.rule.name) if layer.reads_from is not None else layer
            for layer in built
        ]
    loop = first(LOOPS, fields)
    if loop is not None:
        builder.fired.append(loop.rule)
        built = [replace(built[i], rule=f"{built[i].rule}; {loop.rule.name}") for i in loop.value]
    return tuple(built)
