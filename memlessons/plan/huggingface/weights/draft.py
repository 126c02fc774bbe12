"""The draft head that a checkpoint carries: a layer that predicts the token after the next.

Its layer is one of the model's own, before which the embedding of the next token and the last residual are
normed and projected to one width (arXiv:2412.19437, section 2.2).
"""

from collections.abc import Mapping
from typing import NamedTuple

from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.decoder import layer
from memlessons.plan.huggingface.weights.layers import layers_of
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.registry import shape_of

_COUNT = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")


class Head(NamedTuple):
    """How files of a type hold their draft head: with copies of embedding and head or without; source."""

    own_tables: bool
    source: str


_DEEPSEEK = Head(True, "DeepSeek-V3, README_WEIGHTS.md: 14 billion, embedding and head stored again")
_QWEN = Head(False, "vLLM, models/qwen3_next_mtp.py: embedding and head are the model's")
HEADS: Mapping[str, Head] = {
    "deepseek_v3": _DEEPSEEK, "deepseek_v32": _DEEPSEEK, "glm4_moe": _DEEPSEEK,
    "qwen3_next": _QWEN, "qwen3_5_text": _QWEN, "qwen3_5_moe_text": _QWEN,
}  # fmt: skip


def draft_of(fields: Fields, ledger: Ledger) -> str:
    """Note the draft head beside the model; what of it was counted, in words for `Weights.source`."""
    count = fields.whole(*_COUNT, least=0, most=MOST_LAYERS) or 0
    known, shape = HEADS.get(fields.model_type), shape_of(fields.model_type)
    if known is None or shape is None:
        return ", its draft head not counted" if count else ""
    if not count and not known.own_tables:
        # Qwen3-Next's file has one layer of it and no field that says so.
        count = 1 if fields.model_type == "qwen3_next" else 0
    if not count:
        return ""
    seen = list(layers_of(fields))
    kind, at = next(((k, at) for k, at in reversed(seen) if k in ("full", "indexed")), seen[-1])
    wide = hidden(fields)
    # A single projection for all draft layers where the tables are shared, one a layer where they are not.
    ledger.linear("draft projection", wide, 2 * wide, times=count if known.own_tables else 1)
    ledger.vector("norms", wide, times=3 * (count if known.own_tables else 1))
    for _ in range(count):
        layer(at, kind, shape, ledger)
    if known.own_tables:
        vocabulary = fields.need("vocab_size", why="the draft head has a row for each token")
        ledger.table(vocabulary * wide, times=count)
        ledger.linear("head", vocabulary, wide, times=count)
    return f", with its draft head of {count} layer{'s' if count > 1 else ''}"
