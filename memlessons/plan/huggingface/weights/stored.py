"""Bytes of the weights as stored: the configuration's number format, and its quantisation with its scales.

What is quantised are linear layers inside the model's layers. Embeddings, the head, routers, norms, biases
and convolutions keep the configuration's format in every method that is known here.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from memlessons.plan.huggingface.errors import UnknownQuantisation
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.ledger import Ledger, Tensor
from memlessons.plan.huggingface.weights.methods import METHODS, Method

_BITS: Mapping[str, int] = {
    "float64": 64, "float32": 32, "float": 32, "bfloat16": 16, "float16": 16, "half": 16, "float8_e4m3fn": 8,
    "float8_e5m2": 8,
}  # fmt: skip
_NEVER = ("embeddings", "embeddings of layers", "head", "router", "norms", "hyper-connections")


class Stored(NamedTuple):
    """Bytes of all weights and of those that a token touches, the rule in words, the plain format's bits.

    Where only the experts are quantised, what a token touches takes more bytes a parameter than the whole.
    """

    bytes: int
    active_bytes: int
    rule: str
    bits: int


def stored(fields: Fields, ledger: Ledger | None) -> Stored:
    """Bytes of the tensors of a ledger (0 for None) as the configuration says that they are stored.

    Raises UnknownQuantisation for a format or a quantisation without a rule.
    """
    name = _format(fields)
    bits = _BITS[name] if name else 16
    said = f"{bits}-bit weights ({name})" if name else "16-bit weights, for no format is named"
    method = _method(fields, ledger)
    if method is None:
        return Stored(*_sums(ledger, bits, lambda tensor: None), said, bits)
    if ledger is None:
        raise UnknownQuantisation(
            f"{method.text}: no rule knows model_type={fields.model_type!r}, nor what of it is quantised; "
            "give the bytes of the weights instead"
        )

    def packed(tensor: Tensor) -> int | None:
        inside = tensor.matrix and tensor.rows > 1 and tensor.part not in _NEVER
        return method.bytes_of(tensor) if inside and method.covers(tensor.part) else None

    return Stored(*_sums(ledger, bits, packed), f"{method.text}; the rest as {said}", bits)


def _sums(ledger: Ledger | None, bits: int, packed: Callable[[Tensor], int | None]) -> tuple[int, int]:
    total = active = 0
    for tensor, times, used in ledger.tensors() if ledger else ():
        special = packed(tensor)
        size = -(-tensor.rows * tensor.columns * bits // 8) if special is None else special
        total += times * size
        active += used * size
    return total, active


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
    settings = fields.inner("quantization_config") or fields.inner("compression_config")
    if settings is None:
        return None
    name = settings.text("quant_method") or _unnamed(settings)
    make = METHODS.get(name)
    if make is None:
        raise UnknownQuantisation(
            f"quantization_config.quant_method={name[:40]!r}: known are {', '.join(METHODS)}; "
            "give the bytes of the weights instead"
        )
    has_experts = ledger is not None and "experts" in ledger.parts()
    return make(settings, has_experts)


def _unnamed(settings: Fields) -> str:
    """Older files of bitsandbytes do not name the method."""
    return "bitsandbytes" if settings.flag("load_in_4bit", "load_in_8bit") is not None else ""
