"""Values on one line, rounded and clipped: what a reader can take in at a glance."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Mapping, Sequence, Set
from typing import Any

_ITEMS = 8
_ELEMENTS = 16


def compact(value: Any, width: int = 96) -> str:
    """A value on one line of at most `width` characters, as Python writes it where that is short enough.

    Floats have four significant digits, large integers their underscores, tensors their shape before
    their elements; a large tensor shows its first ones.
    """
    try:
        text = _text(value)
    except Exception:  # a reader's object may raise whatever it likes in its repr
        text = f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def call_lines(name: str, given: dict[str, Any], width: int = 96, most: int = 5) -> tuple[str, ...]:
    """A call with its arguments, broken between arguments where it can be, at most `most` lines."""
    lines = [f"{name}("]
    for place, (key, value) in enumerate(given.items()):
        part = f"{key}={compact(value, 2 * width)}" + ("," if place < len(given) - 1 else "")
        if lines[-1].endswith("(") and len(lines[-1]) + len(part) < width:
            lines[-1] += part
        elif len(lines[-1]) + len(part) + 1 < width and not lines[-1].endswith("("):
            lines[-1] += f" {part}"
        else:
            lines += textwrap.wrap(part, width, initial_indent="    ", subsequent_indent="      ")
    lines[-1] += ")"
    return tuple(lines if len(lines) <= most else [*lines[: most - 1], "    … and more"])


def wrapped_line(text: str, width: int = 96) -> list[str]:
    """A sentence over several lines, the later ones indented."""
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def clipped(text: str) -> str:
    """An error's text on one line, clipped."""
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


def _text(value: Any) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return repr(value)
    if isinstance(value, int):
        return f"{value:_}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return _float(value)
    array = _array(value)
    if array is not None:
        return array
    if isinstance(value, Mapping):
        return "{" + _listed([f"{_text(key)}: {_text(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, Set):
        return "{" + _listed(sorted(map(_text, value))) + "}" if value else "an empty set"
    if isinstance(value, tuple):
        return f"({_listed([*map(_text, value)])}{',' if len(value) == 1 else ''})"
    if isinstance(value, Sequence) and not isinstance(value, bytes | range):
        return f"[{_listed([*map(_text, value)])}]"
    return repr(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    text = f"{value:.4g}"
    # A whole number keeps its point: 12.0 is a float, and types matter in a message.
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def _listed(texts: list[str]) -> str:
    more = [f"… {len(texts) - _ITEMS} more"] if len(texts) > _ITEMS else []
    return ", ".join(texts[:_ITEMS] + more)


def _array(value: Any) -> str | None:
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        usual = (torch.float32, torch.float64, torch.int64, torch.bool)
        name, kind = "tensor", "" if value.dtype in usual else f" {value.dtype}"
        value = value.detach()
    elif numpy is not None and isinstance(value, numpy.ndarray):
        name, kind = "array", ""
    elif numpy is not None and isinstance(value, numpy.generic):
        return _text(value.item())
    else:
        return None
    if not value.shape:
        return _text(value.item())
    head = f"{name} {list(value.shape)}{kind}"
    flat = value.reshape(-1)
    if len(flat) > _ELEMENTS:
        return f"{head}: {', '.join(_element(x) for x in flat[: _ELEMENTS // 2].tolist())}, …"
    return f"{head}: {_nested(value.tolist())}"


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return "[" + ", ".join(map(_nested, values)) + "]"
    return _element(values)


def _element(value: Any) -> str:
    """A number inside a tensor: 1, not 1.0, for its kind is the tensor's."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
