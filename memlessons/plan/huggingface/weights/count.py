"""From a configuration to parameters, active parameters and stored bytes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlessons.plan.errors import whole
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields, short
from memlessons.plan.huggingface.source import language_model, load_config
from memlessons.plan.huggingface.weights.draft import draft_of
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.registry import count_of, counts_experts
from memlessons.plan.huggingface.weights.stored import Stored, stored
from memlessons.plan.weights import Weights

Config = str | Path | Mapping[str, Any] | Fields
_SIZES = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
_HOLDS_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
_SENSES = ("vision_config", "visual", "audio_config", "vision_tower", "mm_vision_tower", "vit_config")


def weights_of(
    config: Config, *, parameters: int | None = None, stored_bytes: int | None = None, draft: bool = False
) -> Weights | None:
    """Parameters, active parameters and stored bytes of a model, from its configuration.

    None means that no rule knows the type, or that the file has experts of which its rule knows nothing
    (`why_not` says which): not computed, never zero and never a guess. Of a model that reads images or sounds
    too, the language model is counted; of one with a draft head, the model without it, or with it if `draft`
    asks and a rule knows it (`source` says so).
    `active_parameters` follows the field's convention: all but the routed experts that are not chosen for a
    token, embeddings included (gpt-oss's published 5.1 billion leave out its embedding of 0.6 as well).
    Bytes are those of the configuration's format and quantisation, scales included, without a file's header.

    `parameters` and `stored_bytes` are what is known better than by rule, from a model card or a file. Raises
    UnknownQuantisation where a quantisation has no rule and no `stored_bytes` are given, BadConfig for fields
    that cannot be, UnknownArchitecture for a setting that no rule counts.
    """
    for name, value in (("parameters", parameters), ("stored_bytes", stored_bytes)):
        if value is not None:
            whole(f"weights_of: {name}", value, least=1)
    fields = config if isinstance(config, Fields) else language_model(load_config(config))
    ledger = ledger_of(fields)
    said_of_draft = draft_of(fields, ledger) if draft and ledger is not None else ""
    if ledger is None:
        return None if parameters is None else _given(fields, parameters, stored_bytes)
    counted, active = ledger.parameters, ledger.active_parameters
    said = [f"by rule for model_type={fields.model_type!r}{_only_language(fields)}{said_of_draft}"]
    if parameters is not None:
        active -= counted - parameters
        if active < 1:
            raise BadConfig(f"parameters={parameters}: fewer than the experts that a token does not touch")
        said = [f"{parameters:,} parameters as given, active {said[0]}"]
    active_bytes, looked_up = None, ledger.lookup_parameters
    if stored_bytes is None:
        kept = stored(fields, ledger)
        active_bytes = kept.active_bytes if parameters is None else None
        lookup_bytes = kept.lookup_bytes
        stored_bytes = kept.bytes + _difference(kept, (parameters or counted) - counted)
        said.append(kept.rule)
    else:
        said.append("bytes as given")
        # How bytes that were given divide is not known: tables are taken to be stored like all else.
        lookup_bytes = stored_bytes * min(looked_up, active) // (parameters or counted)
    return Weights(
        stored_bytes, parameters or counted, active, "; ".join(said), active_bytes,
        ledger.expert_share, min(looked_up, active), min(lookup_bytes, stored_bytes),
        min(ledger.head_parameters, max(1, active - looked_up)),
    )  # fmt: skip


def why_not(config: Config) -> str | None:
    """Why `weights_of` gives nothing or raises for a configuration, in words; None if it gives a number."""
    try:
        fields = config if isinstance(config, Fields) else language_model(load_config(config))
        return _refusal(fields) or (None if weights_of(fields) else "it has no weights")
    except UnknownArchitecture as error:
        return str(error)


def parts_of(config: Config) -> Mapping[str, int] | None:
    """Parameters by part (embeddings, attention, mlp, experts, router, norms, head ...), or None."""
    ledger = ledger_of(config if isinstance(config, Fields) else language_model(load_config(config)))
    return None if ledger is None else ledger.parts()


def stored_of(config: Config) -> Stored | None:
    """Bytes of all weights and of those that one token touches, from the configuration; None as `weights_of`.

    Raises what `weights_of` raises.
    """
    fields = config if isinstance(config, Fields) else language_model(load_config(config))
    ledger = ledger_of(fields)
    return None if ledger is None else stored(fields, ledger)


def ledger_of(fields: Fields) -> Ledger | None:
    """The list of tensors of a model, None where no rule knows its type."""
    count = count_of(fields.model_type)
    if count is None or _refusal(fields) is not None:
        return None
    ledger = Ledger()
    count(fields, ledger)
    return ledger


def _refusal(fields: Fields) -> str | None:
    """Why no rule applies to a model of this type, None where one does."""
    name = fields.model_type[:60]
    if any(str(level.get("model_type")).endswith("_assistant") for level in fields.levels):
        return "a draft model is its target's head, and does not stand alone"
    if count_of(fields.model_type) is None:
        return f"no rule counts the weights of model_type={name!r}"
    if counts_experts(fields.model_type):
        return None
    field, experts = _experts_said(fields)
    if experts < 2:
        return None
    rule = f"the rule for model_type={name!r} knows no experts, and would count too little"
    return f"{field}={short(experts)}: {rule}"


def _experts_said(fields: Fields) -> tuple[str, int]:
    for name in _HOLDS_EXPERTS:
        value = fields.raw(name)
        counts = [n for n in (value if isinstance(value, list) else [value]) if type(n) is int]
        if max(counts, default=0) > 1:
            return name, max(counts)
    return "", 0


def _given(fields: Fields, parameters: int, stored_bytes: int | None) -> Weights:
    """What is known of a model of an unknown type whose parameters were given."""
    rule = "bytes as given"
    if stored_bytes is None:
        kept = stored(fields, None)
        stored_bytes, rule = _difference(kept, parameters), kept.rule
    experts = any(fields.raw(name) is not None for name in _HOLDS_EXPERTS)
    said = "all counted as active, for no rule knows its experts" if experts else "all active"
    return Weights(
        stored_bytes, parameters, parameters, f"{parameters:,} parameters as given, {said}; {rule}"
    )


def _difference(kept: Stored, parameters: int) -> int:
    """Bytes of parameters that are there beyond those counted, or of fewer: in the format of the whole."""
    return -(-parameters * kept.bits // 8)


def _only_language(fields: Fields) -> str:
    """Of a composite: that its language model alone is counted, and which sizes are not the file's own."""
    if len(fields.levels) == 1:
        # Older files of models that see have the language model's fields beside an object of the rest.
        return ", its language model alone" if any(map(fields.has, _SENSES)) else ""
    taken = [name for name in _SIZES if name in fields.defaults and not any(name in o for o in fields.levels)]
    from_class = f", with its class's defaults for {', '.join(taken)}" if taken else ""
    return f", its language model alone{from_class}"
