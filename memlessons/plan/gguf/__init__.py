"""Sizing from the header of a GGUF file: what the model keeps, and what its weights take.

Standard library only: neither numpy nor torch nor the `gguf` package is needed.
"""

from memlessons.plan.gguf.config import as_config
from memlessons.plan.gguf.errors import (
    BadMetadata,
    MissingParts,
    ModelFileError,
    NotAModel,
    TruncatedModel,
    UnknownMetadata,
    UnknownTensorType,
    UnsupportedModel,
)
from memlessons.plan.gguf.header import GGUFHeader, LongArray, TensorInfo, read_header
from memlessons.plan.gguf.parts import all_parts
from memlessons.plan.gguf.weights import weights_of

__all__ = [
    "BadMetadata", "GGUFHeader", "LongArray", "MissingParts", "ModelFileError", "NotAModel", "TensorInfo",
    "TruncatedModel", "UnknownMetadata", "UnknownTensorType", "UnsupportedModel", "all_parts", "as_config",
    "read_header", "weights_of",
]  # fmt: skip
