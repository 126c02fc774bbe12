"""A plan as JSON and back; anything that is not a plan ends in InvalidPlan, never in a guess."""

import json
from dataclasses import asdict, fields
from typing import Any

from memlessons.plan.errors import InvalidPlan
from memlessons.plan.formats import FORMATS, Format
from memlessons.plan.layer import Layer
from memlessons.plan.store import Store

_FORM = "memlessons.plan/1"


def dump(layers: tuple[Layer, ...], page_tokens: int) -> str:
    """The JSON text of a plan; fields at their defaults are left out."""
    return json.dumps(
        {"form": _FORM, "page_tokens": page_tokens, "layers": [_layer_out(layer) for layer in layers]},
        indent=1,
    )


def _layer_out(layer: Layer) -> dict[str, Any]:
    out = _changed(layer, Layer) | {"query_heads": layer.query_heads}
    return out | {"stores": [_store_out(store) for store in layer.stores]}


def _store_out(store: Store) -> dict[str, Any]:
    out = _changed(store, Store) | {"role": store.role}
    for name in ("key_format", "value_format"):
        if name in out:
            out[name] = _format_out(getattr(store, name))
    if store.state:
        out["state"] = [[elements, _format_out(format)] for elements, format in store.state]
    return out


def _changed(value: Any, of: type) -> dict[str, Any]:
    """Fields that differ from their defaults: a plan file stays short enough to read."""
    return {f.name: getattr(value, f.name) for f in fields(of) if getattr(value, f.name) != f.default}


def _format_out(format: Format) -> str | dict[str, Any]:
    return format.name if FORMATS.get(format.name) == format else asdict(format)


def parse(source: str) -> tuple[tuple[Layer, ...], int]:
    """Layers and page size from what `dump` wrote; InvalidPlan says what is wrong with other text."""
    try:
        whole = json.loads(source)
    except (ValueError, RecursionError, TypeError) as error:
        raise InvalidPlan(f"not a plan: no readable JSON ({type(error).__name__})") from None
    if not isinstance(whole, dict) or whole.get("form") != _FORM:
        raise InvalidPlan(f"not a plan: the field 'form' must be {_FORM!r}")
    entries = whole.get("layers")
    if not isinstance(entries, list):
        raise InvalidPlan("not a plan: the field 'layers' must be a list")
    layers = tuple(_layer_in(entry, f"layers[{i}]") for i, entry in enumerate(entries))
    return layers, whole.get("page_tokens", 1)


def _layer_in(entry: Any, where: str) -> Layer:
    given = _known(entry, Layer, where)
    stores = given.pop("stores", None)
    if not isinstance(stores, list):
        raise InvalidPlan(f"{where}.stores: must be a list")
    _types(given, {"reads_from": (int, type(None)), "draft": (bool,), "rule": (str,)}, where)
    built = tuple(_store_in(s, f"{where}.stores[{i}]") for i, s in enumerate(stores))
    return _build(Layer, given | {"stores": built}, where)


def _store_in(entry: Any, where: str) -> Store:
    given = _known(entry, Store, where)
    for name in ("key_format", "value_format"):
        if name in given:
            given[name] = _format_in(given[name], f"{where}.{name}")
    state = given.get("state", [])
    if not isinstance(state, list) or not all(isinstance(s, list) and len(s) == 2 for s in state):
        raise InvalidPlan(f"{where}.state: must be a list of [elements, format]")
    given["state"] = tuple((elements, _format_in(f, f"{where}.state")) for elements, f in state)
    _types(given, {"role": (str,), "grows_with": (str,), "rope": (str,), "divides": (str,)}, where)
    return _build(Store, given, where)


def _format_in(value: Any, where: str) -> Format:
    if isinstance(value, str) and value in FORMATS:
        return FORMATS[value]
    if isinstance(value, dict):
        _types(value, {"name": (str,)}, where)
        return _build(Format, _known(value, Format, where), where)
    raise InvalidPlan(f"{where}={value!r}: not a format; known are {', '.join(FORMATS)}")


def _known(entry: Any, of: type, where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InvalidPlan(f"{where}: must be an object")
    unknown = set(entry) - {f.name for f in fields(of)}
    if unknown:
        raise InvalidPlan(f"{where}: unknown field {sorted(unknown)[0]!r}")
    return dict(entry)


def _types(given: dict[str, Any], wanted: dict[str, tuple[type, ...]], where: str) -> None:
    for name, types in wanted.items():
        if name in given and (
            not isinstance(given[name], types) or (bool not in types and given[name] is True)
        ):
            raise InvalidPlan(
                f"{where}.{name}={given[name]!r}: must be {' or '.join(t.__name__ for t in types)}"
            )


def _build(of: type, given: dict[str, Any], where: str) -> Any:
    try:
        return of(**given)
    except TypeError as error:
        raise InvalidPlan(f"{where}: {error}") from None
