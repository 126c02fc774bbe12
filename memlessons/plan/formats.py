"""How numbers lie in memory: bits per element, and the scales without which they mean nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

from memlessons.plan.errors import InvalidPlan, whole


@dataclass(frozen=True, slots=True)
class Format:
    """A number format: `bits` per element, and one scale of `scale_bits` per `group` elements.

    `group=None` with `scale_bits > 0` means one scale for a whole row (one head of one token). Block
    formats such as q8_0 are the same idea with a short group: 32 codes of 8 bits and a 16-bit scale
    are 34 bytes, as ggml stores them.
    """

    name: str
    bits: int
    group: int | None = None
    scale_bits: int = 0

    def __post_init__(self) -> None:
        whole("Format.bits", self.bits, least=1)
        whole("Format.scale_bits", self.scale_bits)
        if self.group is not None:
            whole("Format.group", self.group, least=1)

    def row_bytes(self, width: int) -> int:
        """Bytes of one row of `width` elements, scales included; the last group may be short.

        Codes of a row are packed to whole bytes, and so are its scales.
        """
        if width == 0:
            return 0
        groups = 1 if self.group is None else -(-width // self.group)
        return -(-width * self.bits // 8) + -(-groups * self.scale_bits // 8)


F64 = Format("f64", 64)
F32 = Format("f32", 32)
F16 = Format("f16", 16)
BF16 = Format("bf16", 16)
FP8 = Format("fp8", 8)
INT8 = Format("int8", 8, scale_bits=32)
INT4 = Format("int4", 4, scale_bits=32)

# Block formats of ggml (ggml-common.h): 32 codes and one 16-bit scale, `_1` a 16-bit minimum more.
FORMATS: Mapping[str, Format] = {
    f.name: f
    for f in (
        F64, F32, F16, BF16, FP8, INT8, INT4,
        Format("q8_0", 8, 32, 16), Format("q5_0", 5, 32, 16), Format("q5_1", 5, 32, 32),
        Format("q4_0", 4, 32, 16), Format("q4_1", 4, 32, 32), Format("iq4_nl", 4, 32, 16),
        Format("nvfp4", 4, 16, 8), Format("fp8_per_token_head", 8, scale_bits=32),
    )
}  # fmt: skip

# Other names for the same bytes: those of vLLM, of PyTorch and of checkpoints.
ALIASES: Mapping[str, str] = {
    "fp16": "f16", "float16": "f16", "half": "f16", "bfloat16": "bf16", "auto": "bf16", "fp32": "f32",
    "float32": "f32", "float64": "f64", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "f8": "fp8",
    "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "int8_per_token_head": "int8", "q8": "q8_0", "q4": "q4_0",
}  # fmt: skip


def format_named(name: str) -> Format:
    """The registered format of that name or alias; InvalidPlan lists the known ones otherwise."""
    try:
        return FORMATS[ALIASES.get(name, name)]
    except (KeyError, TypeError):
        raise InvalidPlan(f"format {name!r} is not known; known are {', '.join(FORMATS)}") from None


def formats_named(names: str) -> tuple[Format, Format]:
    """Formats of keys and values from "q8_0", or "q8_0/f16" where they differ; InvalidPlan if unknown."""
    parts = str(names).lower().split("/")
    if len(parts) > 2:
        raise InvalidPlan(f"format {str(names)[:60]!r}: give one name, or two as keys/values")
    return format_named(parts[0]), format_named(parts[-1])
