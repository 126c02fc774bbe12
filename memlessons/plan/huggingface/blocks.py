"""Nemotron-NAS's spelling: an object for each layer, which says whether its attention was left out."""

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import LONGEST, Fields


def attention_of_block(fields: Fields) -> Fields | None:
    """What the object of one layer says of its attention; None where there are no such objects."""
    blocks = fields.items("block_configs")
    if not blocks or fields.layer is None or fields.layer >= len(blocks):
        return None
    block = blocks[fields.layer]
    attention = block.get("attention") if isinstance(block, dict) else None
    return Fields((attention,)) if isinstance(attention, dict) else None


def window_of_block(fields: Fields) -> int | None:
    """Tokens of the window of one layer, its own included; None where its object gives none."""
    attention = attention_of_block(fields)
    return None if attention is None else attention.whole("window_length", most=LONGEST)


def kinds_of_blocks(fields: Fields) -> list[str] | None:
    """The kind of each layer; BadConfig where an object says nothing of attention."""
    blocks = fields.items("block_configs")
    if blocks is None:
        return None
    kinds = []
    for i, block in enumerate(blocks):
        attention = block.get("attention") if isinstance(block, dict) else None
        if not isinstance(attention, dict):
            raise BadConfig(f"block_configs[{i}].attention is missing")
        gone = attention.get("no_op") or attention.get("replace_with_linear")
        near = attention.get("window_length") is not None
        kinds.append("none" if gone else "sliding" if near else "full")
    return kinds
