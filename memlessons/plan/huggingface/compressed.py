"""Attention over entries that stand for runs of tokens, beside a short window of single ones."""

from memlessons.plan.formats import BF16, F32
from memlessons.plan.huggingface.fields import LONGEST, Fields
from memlessons.plan.huggingface.rules import Rule
from memlessons.plan.store import Store

_HF = "transformers 5.24, configuration of the class"


def _compressed(fields: Fields) -> list[Store] | None:
    """DeepSeek-V4: a window of single entries, one entry for each run of tokens, and the runs' own state.

    A key is its own value. The compressor works on runs that overlap by half where an indexer picks among
    them (aiconfigurator, DeepSeek-V4's memory model).
    """
    kind = fields.kind
    alone = kind == "sliding" and (fields.has("compress_rates") or fields.has("compress_ratios"))
    if kind not in ("heavy", "sparse") and not alone:
        return None
    why = "compressed attention keeps entries for runs of tokens"
    width = fields.need("head_dim", why=why)
    rope = fields.whole("qk_rope_head_dim", least=0, most=width) or 0
    near = Store(
        "latent", 1, width, rope_width=rope, key_format=BF16, value_format=BF16, divides="nothing",
        window=fields.need("sliding_window", most=LONGEST, why=why),
    )  # fmt: skip
    if alone:
        return [near]
    stride = _stride(fields, kind)
    overlap = 2 if kind == "sparse" else 1
    far = Store(
        "latent", 1, width, rope_width=rope, key_format=BF16, value_format=BF16, divides="nothing",
        stride=stride, state=((2 * stride * overlap * width, F32),),
        read_tokens=fields.whole("index_topk") if kind == "sparse" else None,
    )  # fmt: skip
    index = []
    if kind == "sparse":
        index_width = fields.need("index_head_dim", why=why)
        index = [Store("index", 1, index_width, stride=stride, key_format=BF16, divides="nothing")]
    return [near, far, *index]


def _stride(fields: Fields, kind: str) -> int:
    rates = fields.inner("compress_rates")
    if rates is not None:
        name = "compressed_sparse_attention" if kind == "sparse" else "heavily_compressed_attention"
        return rates.need(name, why="compress_rates lists the runs of each kind")
    return 4 if kind == "sparse" else 128


COMPRESSED: tuple[Rule[list[Store]], ...] = (
    Rule("latent: entries for runs of tokens", f"{_HF} (DeepSeek-V4)", _compressed),
)
