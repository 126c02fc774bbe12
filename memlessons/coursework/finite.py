"""Whether a result is all numbers: an example with NaN on both sides teaches little."""

import math
from collections.abc import Mapping
from typing import Any

from memlessons.coursework.outcome import Raised


def finite(value: Any) -> bool:
    """Whether no number in a result is NaN or infinite; an error is no number, a word or None no obstacle."""
    if isinstance(value, Raised):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(map(finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(finite, value))
    if callable(tolist := getattr(value, "tolist", None)):
        return finite(tolist())
    return True
