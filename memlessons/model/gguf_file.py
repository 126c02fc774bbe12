"""A decoder's weights out of a GGUF file, as the numbers they stand for.

The quantised blocks are expanded to float32 by the `gguf` package, once (weights_cache.py keeps them).
llama.cpp writes the query and key rows of a head for RoPE on *neighbouring* pairs (2i, 2i+1); this
package turns *half-split* pairs (i, i + head_width / 2), so these rows are put back in that order.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from memlessons.model import weights_cache
from memlessons.model.config import DecoderConfig, InvalidConfig
from memlessons.model.digests import file_digest
from memlessons.model.file_errors import NotAModel, TruncatedModel, UnsupportedModel
from memlessons.plan.gguf.header import GGUFHeader, TensorInfo, read_header

# Our name of a weight -> the tensors it is made of, one below the other.
_PARTS = {
    "attn_norm": ("attn_norm",),
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "ffn_norm": ("ffn_norm",),
    "gate_up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}
_TOP = {"embed": "token_embd.weight", "final_norm": "output_norm.weight", "unembed": "output.weight"}


@dataclass(frozen=True, slots=True)
class GGUFModel:
    """A GGUF file, read: `weights` are float32 in the names and shapes of `config.weight_shapes()`."""

    config: DecoderConfig
    weights: dict[str, Tensor]
    metadata: dict[str, Any]


def read_gguf(path: Path, *, cached: bool = True) -> GGUFModel:
    """Read a GGUF file of a llama-style decoder.

    With `cached`, the expanded weights are kept in the cache folder (4 bytes per parameter) and mapped
    from there the next time. Raises NotAModel, TruncatedModel or UnsupportedModel.
    """
    header = read_header(path)
    config = config_of(path, header)
    if cached:
        digest = file_digest(path)
        weights = weights_cache.weights_of(
            digest, config.weight_shapes(), lambda: _expand(path, header, config)
        )
    else:
        weights = _expand(path, header, config)
    return GGUFModel(config, weights, header.metadata)


def config_of(path: Path, header: GGUFHeader) -> DecoderConfig:
    """The decoder's shape as the header states it; UnsupportedModel if it is not one we compute."""
    try:
        config = DecoderConfig.from_gguf_metadata(header.metadata, tied=_TOP["unembed"] not in header.tensors)
    except InvalidConfig as error:
        raise UnsupportedModel(f"{path}: {error}") from None
    # A damaged number must not make us list the weights of a billion layers.
    if config.layers > len(header.tensors):
        raise UnsupportedModel(
            f"{path}: the metadata state {config.layers:,} layers, the file has {len(header.tensors)} tensors"
        )
    return config


def _expand(path: Path, header: GGUFHeader, config: DecoderConfig) -> dict[str, Tensor]:
    """All weights, dequantised and fused."""
    import numpy as np

    wanted = _parts_of(config)
    missing = [name for parts in wanted.values() for name in parts if name not in header.tensors]
    if missing:
        raise UnsupportedModel(f"{path}: tensor {missing[0]!r} is missing ({len(missing)} of them in all)")
    extra = sorted(set(header.tensors) - {name for parts in wanted.values() for name in parts})
    if extra:
        raise UnsupportedModel(f"{path}: tensor {extra[0]!r} has no place in a llama-style decoder")
    shapes, data = config.weight_shapes(), np.memmap(path, mode="r")
    for name, parts in wanted.items():
        _check_shapes(path, name, shapes[name], [header.tensors[part] for part in parts])
    weights: dict[str, Tensor] = {}
    for name, parts in wanted.items():
        found = [_dequantised(path, header.tensors[part], data) for part in parts]
        if name.endswith(".qkv"):
            found[:2] = [half_split(rows, config.head_width) for rows in found[:2]]
        weights[name] = torch.cat(found) if len(found) > 1 else found[0]
    return weights


def half_split(rows: Tensor, head_width: int) -> Tensor:
    """Rows `[heads * head_width, hidden]` of neighbouring pairs, each head's pairs moved to (i, i + D/2)."""
    return rows.view(-1, head_width // 2, 2, rows.shape[-1]).transpose(1, 2).reshape(rows.shape)


def _parts_of(config: DecoderConfig) -> dict[str, tuple[str, ...]]:
    wanted: dict[str, tuple[str, ...]] = {}
    for name in config.weight_shapes():
        if name in _TOP:
            wanted[name] = (_TOP[name],)
        else:
            _, layer, part = name.split(".")
            wanted[name] = tuple(f"blk.{layer}.{tensor}.weight" for tensor in _PARTS[part])
    return wanted


def _check_shapes(path: Path, name: str, shape: tuple[int, ...], parts: list[TensorInfo]) -> None:
    rows = sum(part.shape[0] for part in parts if part.shape)
    for part in parts:
        if part.shape[1:] != shape[1:] or len(part.shape) != len(shape) or rows != shape[0]:
            raise UnsupportedModel(
                f"{path}: tensor {part.name!r} has shape {part.shape}; the metadata make {name} {shape} of "
                f"{len(parts)} tensor(s) with {rows:,} rows in all"
            )


def _dequantised(path: Path, info: TensorInfo, data: Any) -> Tensor:
    """One tensor as float32."""
    import numpy as np
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize, quant_shape_to_byte_shape

    try:
        kind = GGMLQuantizationType(info.type_number)
        block_elements, block_bytes = GGML_QUANT_SIZES[kind]
    except (ValueError, KeyError):
        raise UnsupportedModel(
            f"{path}: tensor {info.name!r} has the unknown type {info.type_number}"
        ) from None
    if info.shape[-1] % block_elements:
        raise NotAModel(f"{path} is damaged: rows of {info.name!r} are no whole blocks of {block_elements}")
    size = int(np.prod(info.shape, dtype=object)) // block_elements * block_bytes
    if info.start + size > len(data):
        raise TruncatedModel(
            f"{path} ends at byte {len(data):,}, tensor {info.name!r} would end at {info.start + size:,}: "
            "the file was cut short or is damaged"
        )
    raw = np.asarray(data[info.start : info.start + size]).reshape(
        quant_shape_to_byte_shape(info.shape, kind)
    )
    try:
        numbers = dequantize(raw, kind)
    except NotImplementedError:
        raise UnsupportedModel(
            f"{path}: tensor {info.name!r} has type {kind.name}, which we cannot expand"
        ) from None
    tensor = torch.from_numpy(np.require(numbers, np.float32, ["C", "W"])).view(info.shape)
    # In float64 no sum of finite float32 numbers overflows, and one that is not finite shows in the sum.
    if not torch.isfinite(tensor.sum(dtype=torch.float64)):
        raise NotAModel(f"{path} is damaged: tensor {info.name!r} holds numbers that are not finite")
    return tensor
