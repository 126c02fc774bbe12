"""What the weights of a GGUF file take, exact, from its table of tensors."""

import re
from collections.abc import Iterable

from memlessons.plan.gguf.errors import BadMetadata, NotAModel, TruncatedModel, UnsupportedModel
from memlessons.plan.gguf.header import GGUFHeader, TensorInfo
from memlessons.plan.gguf.parts import all_parts
from memlessons.plan.gguf.types import TENSOR_TYPES, elements_of, stored_bytes
from memlessons.plan.weights import Weights

# Experts of a layer in one tensor, experts first: ffn_gate_exps, ffn_gate_up_exps, ffn_up_chexps ...
_EXPERTS = re.compile(r"^blk\.\d+\.ffn_\w*?_(ch)?exps\.")
# Before April 2024 each expert had tensors of its own: blk.0.ffn_gate.3.weight.
_ONE_EXPERT = re.compile(r"^blk\.\d+\.ffn_(gate|up|down)\.\d+\.")
_BLOCK = re.compile(r"^blk\.(\d{1,9})\.")
_TABLES = ("per_layer_token_embd.weight", "position_embd.weight", "token_types.weight")
_EMBEDDING = "token_embd.weight"
_MOST_ELEMENTS = 2**50


def weights_of(header: GGUFHeader, *, partial: bool = False) -> Weights:
    """The weights of a model: stored bytes and parameters, exact, and the parameters a token touches.

    A split model is summed over its parts, which must lie beside this one. A token touches
    `expert_used_count` of a layer's routed experts and everything else, but for the layers that only draft
    (`nextn_predict_layers`). Tables of which it looks up a row count as touched, as from a config.json, and
    again as lookups: positions, per-layer embeddings (Gemma 3n's "effective" parameters leave them out), and
    the embedding, unless it is the output layer as well.

    With `partial`, a file may end before its data, as the first megabytes of a download do. Raises
    MissingParts, UnknownTensorType, TruncatedModel, NotAModel (tensors that overlap or cannot be) or
    UnsupportedModel (no tensors, or experts without a count).
    """
    parts = all_parts(header)
    tensors = [tensor for part in parts for tensor in part.tensors.values()]
    if not tensors:
        raise UnsupportedModel(f"{header.path} holds no tensors: it is a vocabulary or metadata alone")
    for part in parts:
        _check_places(part, partial)
    total = sum(map(elements_of, tensors))
    if not 0 < total < _MOST_ELEMENTS:
        raise NotAModel(f"{header.path} is damaged: its tensors hold {total:,} numbers")
    touched = _Touched(parts[0])
    shares = [(tensor, touched.elements(tensor)) for tensor in tensors]
    active = sum(elements for _, elements in shares)
    active_bytes = sum(stored_bytes(t) * elements // max(1, elements_of(t)) for t, elements in shares)
    tables, heads = _looked_up(tensors), [t for t in tensors if t.name.startswith("output.")]
    if not heads:
        heads = [tensor for tensor in tensors if tensor.name == _EMBEDDING]
    return Weights(
        sum(map(stored_bytes, tensors)),
        total,
        max(1, active),
        f"the tensors of {parts[0].path.name}: {_formats(tensors)}",
        max(1, active_bytes),
        touched.expert_share(tensors),
        sum(map(elements_of, tables)),
        sum(map(stored_bytes, tables)),
        sum(map(elements_of, heads)),
    )


def _looked_up(tensors: Iterable[TensorInfo]) -> list[TensorInfo]:
    """The tables of which a token takes a row; without a tensor for it, the embedding is the output layer."""
    tensors = list(tensors)
    apart = any(tensor.name.startswith("output.") for tensor in tensors)
    names = (*_TABLES, _EMBEDDING) if apart else _TABLES
    return [tensor for tensor in tensors if tensor.name in names and elements_of(tensor)]


def _check_places(header: GGUFHeader, partial: bool) -> None:
    end = header.data_start
    for tensor in sorted(header.tensors.values(), key=lambda tensor: (tensor.start, elements_of(tensor))):
        if tensor.start < end:
            raise NotAModel(
                f"{header.path} is damaged: tensor {tensor.name[:80]!r} begins at byte {tensor.start:,}, "
                f"before the one ahead of it ends at {end:,}"
            )
        end = tensor.start + stored_bytes(tensor)
        if end > header.file_bytes and not partial:
            raise TruncatedModel(
                f"{header.path} ends at byte {header.file_bytes:,}, tensor {tensor.name[:80]!r} would end at "
                f"{end:,}: the file was cut short or is damaged"
            )


def _formats(tensors: Iterable[TensorInfo]) -> str:
    """The formats by the bytes they take, the largest first: "Q4_K 83 %, Q6_K 16 %, F32 1 %"."""
    by_type: dict[str, int] = {}
    for tensor in tensors:
        name = TENSOR_TYPES[tensor.type_number].name
        by_type[name] = by_type.get(name, 0) + stored_bytes(tensor)
    total = sum(by_type.values())
    most = sorted(by_type.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {100 * size / total:.0f} %" for name, size in most[:4])


class _Touched:
    """How many numbers of a tensor one token of ordinary decoding touches."""

    def __init__(self, header: GGUFHeader) -> None:
        self.header = header
        self.arch = str(header.metadata.get("general.architecture", ""))
        self.experts, self.used = self.count("expert_count"), self.count("expert_used_count")
        if self.used > self.experts:
            raise BadMetadata(
                f"{self.arch}.expert_used_count={self.used}: more than expert_count={self.experts}"
            )
        blocks, drafting = self.count("block_count"), self.count("nextn_predict_layers")
        self.layers = blocks - drafting if blocks > drafting else None

    def count(self, key: str) -> int:
        value = self.header.metadata.get(f"{self.arch}.{key}", 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**24:
            raise BadMetadata(f"{self.arch}.{key}={str(value)[:40]}: must be a whole number below 2^24")
        return value

    def elements(self, tensor: TensorInfo) -> int:
        elements, block = elements_of(tensor), _BLOCK.match(tensor.name)
        if not elements:
            return 0
        if block and self.layers is not None and int(block[1]) >= self.layers:
            return 0
        if _ONE_EXPERT.match(tensor.name):
            self.need_counts(tensor)
            return -(-elements * self.used // self.experts)
        if _EXPERTS.match(tensor.name) and tensor.shape:
            self.need_counts(tensor)
            # Grouped experts (chexps) are fewer than the routed ones.
            held = tensor.shape[0]
            return elements // held * min(self.used, held)
        return elements

    def expert_share(self, tensors: Iterable[TensorInfo]) -> float | None:
        """How many of its routed experts a token takes, of all; None where no tensor holds any."""
        held = any(_EXPERTS.match(t.name) or _ONE_EXPERT.match(t.name) for t in tensors)
        return self.used / self.experts if held and self.used else None

    def need_counts(self, tensor: TensorInfo) -> None:
        if not self.used:
            raise UnsupportedModel(
                f"{self.header.path}: tensor {tensor.name[:80]!r} holds experts, but "
                f"{self.arch}.expert_used_count is missing"
            )
