"""The number formats of ggml: how many elements a block holds, and in how many bytes.

Facts from ggml's ggml-common.h (the `block_*` structs) and ggml.h (the numbers), read in 2026. Numbers 4
and 5 were dropped before GGUF existed; 31 to 33 and 36 to 38 are Q4_0 and IQ4_NL in another order, which
files of 2024 have. From 42 on, forks give the same number to different formats: we know none of these.
"""

from typing import NamedTuple

from memlessons.plan.gguf.errors import NotAModel, UnknownTensorType
from memlessons.plan.gguf.header import TensorInfo


class TensorType(NamedTuple):
    """A number format: `block_elements` lie together in `block_bytes`, scales included."""

    name: str
    block_elements: int
    block_bytes: int


TENSOR_TYPES = {
    0: TensorType("F32", 1, 4),
    1: TensorType("F16", 1, 2),
    2: TensorType("Q4_0", 32, 18),
    3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22),
    7: TensorType("Q5_1", 32, 24),
    8: TensorType("Q8_0", 32, 34),
    9: TensorType("Q8_1", 32, 36),
    10: TensorType("Q2_K", 256, 84),
    11: TensorType("Q3_K", 256, 110),
    12: TensorType("Q4_K", 256, 144),
    13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210),
    15: TensorType("Q8_K", 256, 292),
    16: TensorType("IQ2_XXS", 256, 66),
    17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98),
    19: TensorType("IQ1_S", 256, 50),
    20: TensorType("IQ4_NL", 32, 18),
    21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82),
    23: TensorType("IQ4_XS", 256, 136),
    24: TensorType("I8", 1, 1),
    25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4),
    27: TensorType("I64", 1, 8),
    28: TensorType("F64", 1, 8),
    29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2),
    31: TensorType("Q4_0_4_4", 32, 18),
    32: TensorType("Q4_0_4_8", 32, 18),
    33: TensorType("Q4_0_8_8", 32, 18),
    34: TensorType("TQ1_0", 256, 54),
    35: TensorType("TQ2_0", 256, 66),
    36: TensorType("IQ4_NL_4_4", 32, 18),
    37: TensorType("IQ4_NL_4_8", 32, 18),
    38: TensorType("IQ4_NL_8_8", 32, 18),
    39: TensorType("MXFP4", 32, 17),
    40: TensorType("NVFP4", 64, 36),
    41: TensorType("Q1_0", 128, 18),
}


def type_of(tensor: TensorInfo) -> TensorType:
    """The number format of a tensor; UnknownTensorType names the tensor and the number."""
    try:
        return TENSOR_TYPES[tensor.type_number]
    except KeyError:
        raise UnknownTensorType(
            f"tensor {tensor.name[:80]!r} has ggml's type number {tensor.type_number}, whose block nobody "
            "here knows: it is newer than this package, or a fork's own"
        ) from None


def elements_of(tensor: TensorInfo) -> int:
    """The numbers a tensor holds."""
    elements = 1
    for size in tensor.shape:
        elements *= size
    return elements


def stored_bytes(tensor: TensorInfo) -> int:
    """Bytes of a tensor's data, without the padding behind it; each row is a whole number of blocks.

    Raises UnknownTensorType, or NotAModel for rows that are no whole blocks.
    """
    kind = type_of(tensor)
    row = tensor.shape[-1] if tensor.shape else 1
    if row % kind.block_elements:
        raise NotAModel(
            f"tensor {tensor.name[:80]!r} has rows of {row:,} numbers: no whole blocks of "
            f"{kind.block_elements} as {kind.name} has them"
        )
    return elements_of(tensor) // kind.block_elements * kind.block_bytes
