"""A configuration from a file, a text or an object, and the level of it that describes the language model."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from stat import S_ISREG
from typing import Any

from memlessons.plan.huggingface import names
from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import Fields

MOST_BYTES = 16 * 2**20
"""The largest published config.json are lists of quantised modules, about 1 MB."""

# The objects that hold the language model of a composite one, in order of precedence.
_INNER = ("text_config", "language_config", "llm_config", "thinker_config", "decoder_config", "decoder")
_DEPTH = 4
# What may stand around a language model that names its own layers: how the whole is stored and put together.
# Sizes out there are those of eyes and ears: one music model has a head_dim of 1280 for its sound.
_AROUND = frozenset((
    "is_encoder_decoder", "quantization_config", "quantization", "torch_dtype", "dtype", "model_type",
    "tie_word_embeddings", "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers",
))  # fmt: skip


def load_config(source: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    """A configuration as an object: from a mapping, from JSON text, or from the path of a file.

    A folder is taken for a checkpoint's and its config.json read. Raises BadConfig for what is missing, too
    large, no JSON, or no object.
    """
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        return _parsed(source, "the text")
    if not isinstance(source, str | Path):
        raise BadConfig(f"a configuration is an object, a text or a path, not a {type(source).__name__}")
    path = Path(source)
    try:
        if path.is_dir():
            path = path / "config.json"
        # A pipe or a device may never end.
        regular, size = S_ISREG(path.stat().st_mode), path.stat().st_size
        data = b""
        if regular and size <= MOST_BYTES:
            with path.open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadConfig(f"{str(path)[:300]} cannot be read: {reason}") from None
    if not regular:
        raise BadConfig(f"{str(path)[:300]} cannot be read: it is a folder, a pipe or a device")
    if size > MOST_BYTES:
        raise BadConfig(f"{path} has {size:,} bytes: a configuration has at most {MOST_BYTES:,}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadConfig(f"{path} is no text: it is not UTF-8") from None
    return _parsed(text, str(path))


def _parsed(text: str, where: str) -> Mapping[str, Any]:
    if len(text) > MOST_BYTES:
        raise BadConfig(f"{where} has {len(text):,} characters: a configuration has at most {MOST_BYTES:,}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        # A number of 5,000 digits is a ValueError of its own; a message of the parser may quote all of it.
        raise BadConfig(f"{where} is no readable JSON: {str(error)[:120]}") from None
    if not isinstance(found, dict):
        raise BadConfig(f"{where} holds a {type(found).__name__}: a configuration is an object, {{...}}")
    return found


def language_model(config: Mapping[str, Any], without: frozenset[str] = frozenset()) -> Fields:
    """The fields of the language model in a configuration, which may be nested in others.

    Inner objects win, and an inner object that names its layers is complete: of what is around it only that
    counts which says nothing of sizes. An object that is nested is completed by its class's defaults, because
    a published file leaves out what equals them.
    """
    if not isinstance(config, Mapping):
        raise BadConfig(f"a configuration is an object, not a {type(config).__name__}")
    levels = [config]
    while (inner := _inner(levels[0])) is not None:
        if len(levels) > _DEPTH or any(inner is level for level in levels):
            raise BadConfig(f"a language model nested more than {_DEPTH} objects deep, or in itself")
        levels.insert(0, inner)
    model_type = _type_of(levels)
    defaults = _completing(levels[0], model_type) if len(levels) > 1 else {}
    if any(levels[0].get(name, defaults.get(name)) is not None for name in names.LAYERS):
        levels[1:] = [{k: level[k] for k in _AROUND if k in level} for level in levels[1:]]
    return Fields(tuple(levels), defaults, model_type, without)


def _completing(inner: Mapping[str, Any], model_type: str) -> Mapping[str, Any]:
    """What a class fills in, but for what the object itself gives under another name."""
    said = {name for name, value in inner.items() if value is not None}
    given = {name for group in names.ALL if not said.isdisjoint(group) for name in group}
    return {name: value for name, value in class_defaults(model_type).items() if name not in given}


def _inner(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for name in _INNER:
        value = config.get(name)
        if value is None:
            continue
        if not isinstance(value, Mapping):
            raise BadConfig(f"{name} must be an object, not a {type(value).__name__}")
        if value:
            return value
    return None


def _type_of(levels: list[Mapping[str, Any]]) -> str:
    """The innermost type that is named; of a composite whose language model has none, its class's own."""
    for i, level in enumerate(levels):
        value = level.get("model_type")
        if value is None:
            continue
        if not isinstance(value, str) or len(value) > 200:
            raise BadConfig("model_type must be a short text")
        inner = (f"{value}{ending}" for ending in ("_text", "_decoder")) if i else ()
        return next((found for found in inner if class_defaults(found)), value)
    return ""


@cache
def _known() -> dict[str, Any]:
    text = files("memlessons.plan.huggingface").joinpath("classes.json").read_text(encoding="utf-8")
    known: dict[str, Any] = json.loads(text)
    return known


def class_defaults(model_type: str) -> Mapping[str, Any]:
    """What the class of a nested configuration fills in for keys that its file leaves out."""
    defaults: Mapping[str, Any] = _known()["defaults"].get(model_type, {})
    return defaults


def class_pattern(model_type: str, layers: int) -> list[str] | None:
    """The kinds of so many layers of a class where its file names none, None if unknown."""
    pattern: Mapping[str, Any] | None = _known()["patterns"].get(model_type)
    if pattern is None:
        return None
    first, unit = pattern.get("first", []), pattern["unit"]
    # One family counts its pattern from the last layer.
    start = -layers if pattern.get("from") == "end" else 0
    kinds = [
        first[i] if i < len(first) else unit[(start + i - len(first)) % len(unit)] for i in range(layers)
    ]
    return [*kinds[:-1], pattern["last"]] if "last" in pattern else kinds


def keeps_query_heads(model_type: str) -> bool:
    """Whether models of this type are known to keep as many key and value heads as they have query heads."""
    return model_type in _known()["multi_head"]


def listed(name: str) -> frozenset[str]:
    """The types of a list in classes.json, such as "encoders"."""
    return frozenset(_known()[name])
