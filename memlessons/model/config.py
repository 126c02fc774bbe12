"""The shape of a decoder: what a checkpoint fixes, and nothing about how its memory is kept."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from memlessons.errors import MemlessonsError


class InvalidConfig(MemlessonsError, ValueError):
    """A decoder that cannot exist; names the field, the value and the rule."""


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """Shapes of a llama-style decoder: RMSNorm, RoPE, grouped queries, SwiGLU.

    Widths count elements, `context_tokens` the longest text it was trained on. `tied` means that the
    embedding is also the unembedding.
    """

    layers: int
    hidden: int
    query_heads: int
    kv_heads: int
    head_width: int
    intermediate: int
    vocabulary: int
    rope_base: float
    norm_eps: float
    context_tokens: int
    tied: bool

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InvalidConfig(
                    f"DecoderConfig.{field.name}={value!r}: must be a whole number, at least 1"
                )
            if field.type is float and not (_is_number(value) and math.isfinite(value) and value > 0):
                raise InvalidConfig(f"DecoderConfig.{field.name}={value!r}: must be a number above 0")
        if not isinstance(self.tied, bool):
            raise InvalidConfig(f"DecoderConfig.tied={self.tied!r}: must be True or False")
        if self.query_heads % self.kv_heads:
            raise InvalidConfig(
                f"DecoderConfig.query_heads={self.query_heads}: not a multiple of kv_heads={self.kv_heads}"
            )
        if self.head_width % 2:
            raise InvalidConfig(
                f"DecoderConfig.head_width={self.head_width}: RoPE turns pairs, so it must be even"
            )

    @property
    def query_rows(self) -> int:
        """Rows of the fused projection that are queries; the keys follow, then the values."""
        return self.query_heads * self.head_width

    @property
    def kv_rows(self) -> int:
        """Rows of the fused projection that are keys, and as many that are values."""
        return self.kv_heads * self.head_width

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every weight, in the names `Decoder.load_weights` takes.

        The rows of `qkv` are all query heads, then the key heads, then the value heads; those of
        `gate_up` are the gate, then the up projection.
        """
        shapes: dict[str, tuple[int, ...]] = {
            "embed": (self.vocabulary, self.hidden),
            "final_norm": (self.hidden,),
        }
        if not self.tied:
            shapes["unembed"] = (self.vocabulary, self.hidden)
        for i in range(self.layers):
            shapes |= {
                f"layers.{i}.attn_norm": (self.hidden,),
                f"layers.{i}.qkv": (self.query_rows + 2 * self.kv_rows, self.hidden),
                f"layers.{i}.out": (self.hidden, self.query_rows),
                f"layers.{i}.ffn_norm": (self.hidden,),
                f"layers.{i}.gate_up": (2 * self.intermediate, self.hidden),
                f"layers.{i}.down": (self.hidden, self.intermediate),
            }
        return shapes

    @classmethod
    def from_gguf_metadata(cls, metadata: Mapping[str, Any], *, tied: bool = True) -> "DecoderConfig":
        """The config that a GGUF file of architecture llama states.

        `tied` is not in the metadata: it is True when the file has no tensor `output.weight`. Raises
        InvalidConfig for a missing or impossible value, and for what this decoder does not compute
        (scaled RoPE, RoPE on a part of the head, heads that differ by layer).
        """
        architecture = metadata.get("general.architecture")
        if architecture != "llama":
            raise InvalidConfig(f"general.architecture={architecture!r}: this decoder computes 'llama' only")

        def stated(key: str, otherwise: Any = None) -> Any:
            value = metadata.get(f"llama.{key}", otherwise)
            if value is None:
                raise InvalidConfig(f"llama.{key}: missing from the file's metadata")
            if not _is_number(value):
                raise InvalidConfig(f"llama.{key}={value!r}: must be one number for all layers")
            return value

        hidden, heads = stated("embedding_length"), stated("attention.head_count")
        width = stated("attention.key_length", hidden // heads if heads else 0)
        rope_width = stated("rope.dimension_count", width)
        if rope_width != width or stated("attention.value_length", width) != width:
            raise InvalidConfig(
                f"llama.rope.dimension_count={rope_width}: must be the head width {width}, "
                "and so must attention.value_length"
            )
        scaling = metadata.get("llama.rope.scaling.type", "none")
        if scaling != "none":
            raise InvalidConfig(f"llama.rope.scaling.type={scaling!r}: this decoder computes plain RoPE only")
        return cls(
            layers=stated("block_count"),
            hidden=hidden,
            query_heads=heads,
            kv_heads=stated("attention.head_count_kv", heads),
            head_width=width,
            intermediate=stated("feed_forward_length"),
            vocabulary=stated("vocab_size", len(metadata.get("tokenizer.ggml.tokens", ())) or None),
            rope_base=float(stated("rope.freq_base", 10000.0)),
            norm_eps=float(stated("attention.layer_norm_rms_epsilon")),
            context_tokens=stated("context_length"),
            tied=tied,
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
