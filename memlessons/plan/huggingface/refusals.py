"""What is refused by name: files of something else than a model that writes, and states nobody described.

A refusal that says what a file is helps more than the name of the first field that it lacks.
"""

from collections.abc import Mapping, Sequence

from memlessons.plan.huggingface.errors import UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields, short
from memlessons.plan.huggingface.source import listed

STATEFUL = frozenset(("linear", "conv", "parallel", "parallel sliding"))
_STATE_PREFIXES = (
    "mamba",
    "ssm_",
    "lru_",
    "rwkv",
    "linear_num_",
    "linear_key_",
    "linear_attn_",
    "gated_delta",
)
_STATE_NAMES = frozenset((
    "state_size", "time_step_rank", "conv_kernel", "conv_L_cache", "conv1d_width", "d_conv", "d_state",
    "dt_rank",
))  # fmt: skip
# Rules that name the layers with a state: where they name none, fields that size one are idle.
_ASKED = frozenset((
    "kinds: layer_types", "kinds: layers_block_type", "kinds: hybrid_override_pattern",
    "kinds: block_types, repeated", "kinds: full_attn_idxs", "kinds: attn_layer_period",
    "kinds: attn_layer_indices", "kinds: full_attention_interval", "kinds: layer_group_size",
    "kinds: attn_type_list", "kinds: linear_attn_config, counted from 1", "kinds: mamba_step",
))  # fmt: skip


def refuse_what_keeps_nothing(fields: Fields) -> None:
    """Raise UnknownArchitecture for an adapter, and for encoders of texts, pictures and sounds."""
    kind = fields.model_type
    if fields.raw("peft_type") is not None:
        base = short(fields.raw("base_model_name_or_path"))
        raise UnknownArchitecture(
            f"peft_type={short(fields.raw('peft_type'))}: this is the file of an adapter to another model "
            f"(adapter_config.json): give the configuration of that model ({base})"
        )
    if kind in listed("encoders") and not fields.flag("is_decoder"):
        raise UnknownArchitecture(
            f"model_type={kind!r}: an encoder reads a text once and keeps nothing between "
            "tokens (with is_decoder it would)"
        )
    if kind == "gemma3_text" and fields.raw("use_bidirectional_attention") is True:
        raise UnknownArchitecture(
            "use_bidirectional_attention=True: this is an encoder (EmbeddingGemma), which reads a text once "
            "and keeps nothing between tokens"
        )
    outer = fields.levels[-1].get("model_type")
    for name in (kind, outer if isinstance(outer, str) else ""):
        if name in listed("eyes_and_ears"):
            raise UnknownArchitecture(
                f"model_type={name!r}: an encoder of pictures or sounds takes them in at once and keeps "
                "nothing between tokens"
            )


def refuse_unread_state(fields: Fields, kinds: Sequence[str], rule: str) -> None:
    """Raise UnknownArchitecture where a field sizes a state, but no rule put one into any layer.

    `kinds` are those of the layers, `rule` the name of the rule that gave them.
    """
    if rule in _ASKED or not STATEFUL.isdisjoint(kinds):
        return
    for level in (*fields.levels, fields.defaults):
        for name, value in level.items():
            if _sizes_a_state(name, value):
                raise UnknownArchitecture(
                    f"{name}={short(value)} says that layers keep a state, but no rule says which "
                    f"({rule}): model_type={fields.model_type[:60]!r} is not known"
                )


def _sizes_a_state(name: object, value: object) -> bool:
    if not isinstance(name, str) or not (name in _STATE_NAMES or name.startswith(_STATE_PREFIXES)):
        return False
    if isinstance(value, int | float):
        return not isinstance(value, bool) and value > 0
    return isinstance(value, list | Mapping) and bool(value)
