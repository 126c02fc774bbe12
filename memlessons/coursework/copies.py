"""Copies of inputs and results: a check makes hundreds, and `copy.deepcopy` is slow on tensors."""

import copy
import sys
from typing import Any


def fresh_copy(value: Any) -> Any:
    """A copy that shares nothing with `value`; tensors by `clone`, whatever is not plain by deepcopy."""
    kind = type(value)
    if kind in (int, float, bool, str, type(None)):
        return value
    if kind is dict:
        return {key: fresh_copy(item) for key, item in value.items()}
    if kind in (list, tuple):
        return kind(fresh_copy(item) for item in value)
    torch = sys.modules.get("torch")
    if torch is not None and kind is torch.Tensor:
        return value.detach().clone()
    return copy.deepcopy(value)


def plain_key(value: Any) -> str | None:
    """A text that is the same for the same plain value; None for what holds a tensor or another object."""
    kind = type(value)
    if kind in (int, float, bool, str, type(None)):
        return repr(value)
    if kind is dict:
        # Hypothesis shuffles the entries of dictionaries.
        parts = [plain_key(item) for pair in sorted(value.items(), key=repr) for item in pair]
    elif kind in (list, tuple):
        parts = [plain_key(item) for item in value]
    else:
        return None
    return None if None in parts else f"{kind.__name__}({', '.join(map(str, parts))})"
