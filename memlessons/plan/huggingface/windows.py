"""How far back a layer looks, and when a window that is written down does not bind."""

from collections.abc import Callable
from typing import Any, NamedTuple

from memlessons.plan.huggingface import names
from memlessons.plan.huggingface.blocks import window_of_block
from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import LONGEST, Fields
from memlessons.plan.huggingface.rules import Rule, first

_HF = "transformers 5.24, configuration of the class"


class Reach(NamedTuple):
    """How far back a layer looks, in tokens, None for everything; and the rule that says so."""

    tokens: int | None
    rule: Rule[Any]


def longest_context(fields: Fields) -> int | None:
    """Tokens that the model was made to read; None where the configuration does not say."""
    return fields.whole(*names.LENGTHS, least=0, most=LONGEST) or None


def window(fields: Fields) -> Reach:
    """Tokens that a layer with a window sees, its own included, or None where it is off; and the rule."""
    own = first(OWN, fields)
    if own is not None:
        return Reach(own.value, own.rule)
    off = first(OFF, fields)
    if off is not None:
        return Reach(None, off.rule)
    size = first(SIZE, fields)
    if size is None:
        raise BadConfig(f"{names.WINDOWS[0]} is missing, but layer {fields.layer} is said to have a window")
    return Reach(size.value, size.rule)


def chunk(fields: Fields) -> Reach:
    """Tokens of a block within which chunked attention stays, None where nothing longer is read."""
    size = first(CHUNK, fields)
    if size is None:
        raise BadConfig(
            f"attention_chunk_size is missing, but layer {fields.layer} is said to attend in chunks"
        )
    longest = longest_context(fields)
    return Reach(None if longest is not None and size.value >= longest else size.value, size.rule)


def _named(name: str) -> Callable[[Fields], int | None]:
    return lambda fields: fields.whole(name, most=LONGEST)


def _null_or_zero(fields: Fields) -> bool | None:
    value = next((fields.raw(name) for name in names.WINDOWS if fields.has(name)), "absent")
    return True if value is None or value in (0, -1) else None


def _switched_off(fields: Fields) -> bool | None:
    return True if fields.flag("use_sliding_window") is False else None


def _too_long(fields: Fields) -> bool | None:
    size, longest = fields.whole(*names.WINDOWS, least=-1, most=LONGEST), longest_context(fields)
    return True if size is not None and longest is not None and size >= longest else None


OWN: tuple[Rule[int], ...] = (
    Rule("window: window_length of a block", "Nemotron-NAS, configuration_decilm.py", window_of_block),
)
OFF: tuple[Rule[bool], ...] = (
    Rule("window off: null, 0 or -1", _HF, _null_or_zero),
    Rule("window off: use_sliding_window is false", f"{_HF} (Qwen2)", _switched_off),
    Rule("window off: as long as all that is read", "Phi-4-mini, config.json: 262,144 of 131,072",
         _too_long),
)  # fmt: skip


def _half(fields: Fields) -> int | None:
    found = fields.whole("local_attention", least=2, most=LONGEST)
    return None if found is None else found // 2


SIZE: tuple[Rule[int], ...] = (
    *(Rule(f"window: {name}", _HF, _named(name)) for name in names.WINDOWS),
    Rule("window: half of local_attention", f"{_HF} (ModernBERT): it counts both sides", _half),
)
CHUNK: tuple[Rule[int], ...] = (
    Rule("chunk: attention_chunk_size", f"{_HF} (Llama 4)", _named("attention_chunk_size")),
)
