"""The format in which a published file asks engines to keep keys and values."""

from collections.abc import Mapping

from memlessons.plan.huggingface.fields import Fields


def kv_dtype(fields: Fields) -> str | None:
    """The format that quantization_config names for keys and values, such as "fp8" or "int8", None if none.

    compressed-tensors has an object, kv_cache_scheme, with a type and bits; ModelOpt names the method. A
    scheme in a form that nobody publishes counts as none: it changes no plan.
    """
    found = fields.raw("quantization_config")
    if not isinstance(found, Mapping):
        return None
    scheme = found.get("kv_cache_scheme")
    if isinstance(scheme, Mapping):
        bits, kind = scheme.get("num_bits"), {"float": "fp", "int": "int"}.get(str(scheme.get("type"))[:10])
        return f"{kind}{bits}" if kind is not None and bits in (4, 8) and isinstance(bits, int) else None
    name = found.get("kv_cache_quant_algo")
    return name.lower() if isinstance(name, str) and 0 < len(name) < 20 else None
