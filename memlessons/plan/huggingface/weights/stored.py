"""Bytes of the weights as stored: the configuration's number format, and its quantisation with its scales.

What is quantised are linear layers inside the model's layers. Embeddings, the head, routers, norms, biases
and convolutions keep the configuration's format in every method that is known here, but for MLX's.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from memlessons.plan.huggingface.errors import UnknownQuantisation
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.layers import layers_of
from memlessons.plan.huggingface.weights.ledger import EXPERTS, Ledger, Tensor
from memlessons.plan.huggingface.weights.methods import Method, Model
from memlessons.plan.huggingface.weights.mlp import is_sparse
from memlessons.plan.huggingface.weights.vendors import method_of

_BITS: Mapping[str, int] = {
    "float64": 64, "float32": 32, "float": 32, "bfloat16": 16, "float16": 16, "half": 16, "float8_e4m3fn": 8,
    "float8_e5m2": 8,
}  # fmt: skip
_TABLES = ("embeddings", "embeddings of layers")
_NEVER = (*_TABLES, "head", "router", "norms", "hyper-connections", "draft projection")
_SETTINGS = ("quantization_config", "compression_config", "quantization")
_WITHOUT_ATTENTION = ("linear", "conv", "none")


class Stored(NamedTuple):
    """Bytes of all weights, of those a token touches, and of tables it looks up; the plain format's bits.

    Where only the experts are quantised, what a token touches takes more bytes a parameter than the whole.
    """

    bytes: int
    active_bytes: int
    rule: str
    bits: int
    lookup_bytes: int = 0


def stored(fields: Fields, ledger: Ledger | None) -> Stored:
    """Bytes of the tensors of a ledger (0 for None) as the configuration says that they are stored.

    Raises UnknownQuantisation for a format or a quantisation without a rule.
    """
    name = _format(fields)
    bits = _BITS[name] if name else 16
    said = f"{bits}-bit weights ({name})" if name else "16-bit weights, for no format is named"
    method = _method(fields, ledger)
    if method is None:
        return _sums(ledger, said, bits, None)
    if ledger is None:
        raise UnknownQuantisation(
            f"{method.text}: no rule knows model_type={fields.model_type!r}, nor what of it is quantised; "
            "give the bytes of the weights instead"
        )

    return _sums(ledger, f"{method.text}; the rest as {said}", bits, method)


def _sums(ledger: Ledger | None, said: str, bits: int, method: Method | None) -> Stored:
    total = active = looked_up = 0
    for tensor, times, used in ledger.tensors() if ledger else ():
        plain = -(-tensor.rows * tensor.columns * bits // 8)
        share = method.covers(tensor.part) if method and _inside(tensor, method) else Fraction(0)
        packed = method.bytes_of(tensor) if method and share else plain
        if (times * share).denominator != 1:
            raise UnknownQuantisation(
                f"the quantisation covers {share} of {tensor.part}, which is no whole number of {times} "
                "matrices, for layers differ; give the bytes of the weights instead"
            )
        size = plain + (packed - plain) * share
        total += int(times * size)
        active += int(used * size)
        looked_up += int(times * size) if tensor.lookup else 0
    return Stored(total, active, said, bits, looked_up)


def _inside(tensor: Tensor, method: Method) -> bool:
    if method.everything:
        return tensor.matrix or tensor.part in _TABLES
    return tensor.matrix and tensor.rows > 1 and tensor.part not in _NEVER


def _format(fields: Fields) -> str:
    name = (fields.text("dtype", "torch_dtype") or "").removeprefix("torch.")
    if name in ("", "auto"):
        return ""
    if name not in _BITS:
        raise UnknownQuantisation(
            f"torch_dtype={name[:40]!r}: no rule knows its bytes; give the bytes of the weights"
        )
    return name


def _method(fields: Fields, ledger: Ledger | None) -> Method | None:
    # MLX writes its settings under a name of its own, and since 2024 under the usual one as well.
    settings = next((found for found in map(fields.inner, _SETTINGS) if found is not None), None)
    if settings is None:
        return None
    has_experts = ledger is not None and EXPERTS in ledger.parts()
    return method_of(settings, Model(has_experts, lambda: layers_with(fields, has_experts)))


def layers_with(fields: Fields, has_experts: bool) -> dict[str, set[int]]:
    """The numbers of the layers that have attention, a state, an MLP or experts."""
    found: dict[str, set[int]] = {}
    for i, (kind, at) in enumerate(layers_of(fields)):
        parts = ["experts", "shared experts"] if has_experts and is_sparse(at) else ["mlp"]
        if kind not in _WITHOUT_ATTENTION:
            parts += ["attention", "indexer"]
        if kind.startswith(("linear", "conv", "parallel")):
            parts += ["state layers", "state gates"]
        for part in parts:
            found.setdefault(part, set()).add(i)
    return found
