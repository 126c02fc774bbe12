"""Whether two results are the same, and if not, in what: type, shape or value."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Mapping, Set
from typing import Any, Literal, NamedTuple

from memlessons.coursework.compact import compact

# Below this a float is zero: a tolerance relative to zero would ask for equality to the last bit.
_NOTHING = 1e-12


class Difference(NamedTuple):
    """In what a result differs from the expected one; `words` say it, beginning in lower case."""

    kind: Literal["type", "shape", "value"]
    words: str


def difference(expected: Any, got: Any, tolerance: float) -> Difference | None:
    """The first difference between a result and what was expected, or None.

    Integers, bools, strings, sets and None must be equal. Floats and float tensors may be off by
    `tolerance` times the largest finite magnitude expected; a NaN equals a NaN, an infinity its like. A
    list may stand for a tuple, a scalar of numpy or torch for a number; a bool is no number.
    """
    expected, got = _plain(expected), _plain(got)
    if expected is None or got is None:
        return None if expected is got else Difference("value", _both(expected, got))
    for family, compare in _FAMILIES:
        if family(expected):
            if not family(got):
                return Difference("type", _types(expected, got))
            return compare(expected, got, tolerance)
    if type(expected) is not type(got):
        return Difference("type", _types(expected, got))
    return None if bool(expected == got) else Difference("value", _both(expected, got))


def same(expected: Any, got: Any, tolerance: float = 0.0) -> bool:
    """Whether two results agree, see `difference`; what cannot be compared does not."""
    try:
        return difference(expected, got, tolerance) is None
    except Exception:  # a reader's object may raise whatever it likes when it is compared
        return False


def kind_of(value: Any) -> str:
    """What a value is, with its article: "an int", "a tensor [2, 3]", "a tuple of 2"."""
    value = _plain(value)
    if value is None:
        return "None"
    if _is_array(value):
        name = "a tensor" if _is_tensor(value) else "a numpy array"
        return f"{name} {list(value.shape)}"
    name = type(value).__name__
    if isinstance(value, tuple | list):
        return f"a {name} of {len(value)}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _plain(value: Any) -> Any:
    """A scalar of numpy or a tensor without dimensions as Python's own number; all else as it is."""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy" and getattr(value, "shape", None) == ():
        return value.item()
    if _is_tensor(value) and value.dim() == 0:
        return value.item()
    return value


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return _is_tensor(value) or (numpy is not None and isinstance(value, numpy.ndarray))


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_int(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_row(value: Any) -> bool:
    return isinstance(value, tuple | list)


def _is_set(value: Any) -> bool:
    return isinstance(value, Set)


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)


def _equal(expected: Any, got: Any, tolerance: float) -> Difference | None:
    return None if expected == got else Difference("value", _both(expected, got))


def _close(expected: Any, got: Any, tolerance: float) -> Difference | None:
    try:
        expected, got = float(expected), float(got)
    except OverflowError:  # an int beyond all floats
        return Difference("value", _both(expected, got))
    if expected == got or (math.isnan(expected) and math.isnan(got)):
        return None
    if math.isfinite(expected) and abs(expected - got) <= tolerance * abs(expected) + _NOTHING * (
        tolerance > 0
    ):
        return None
    return Difference("value", _both(expected, got))


def _rows(expected: Any, got: Any, tolerance: float) -> Difference | None:
    if len(expected) != len(got):
        return Difference("shape", f"expected {len(expected)} values, got {len(got)}")
    for place, (one, other) in enumerate(zip(expected, got, strict=True)):
        found = difference(one, other, tolerance)
        if found:
            return Difference(found.kind, f"{_ordinal(place)} value: {found.words}")
    return None


def _tables(expected: Any, got: Any, tolerance: float) -> Difference | None:
    if expected.keys() != got.keys():
        return Difference("shape", f"expected the keys {compact(list(expected))}, got {compact(list(got))}")
    for key, one in expected.items():
        found = difference(one, got[key], tolerance)
        if found:
            return Difference(found.kind, f"{key}: {found.words}")
    return None


def _arrays(expected: Any, got: Any, tolerance: float) -> Difference | None:
    if _is_tensor(expected) != _is_tensor(got):
        return Difference("type", _types(expected, got))
    if tuple(expected.shape) != tuple(got.shape):
        return Difference("shape", f"expected shape {list(expected.shape)}, got {list(got.shape)}")
    import torch

    one, other = (torch.as_tensor(x).detach().cpu() for x in (expected, got))
    if (one.dtype == torch.bool) != (other.dtype == torch.bool):
        return Difference("type", f"expected dtype {one.dtype}, got {other.dtype}")
    if one.dtype == other.dtype and torch.equal(one, other):
        return None  # the usual case, and by far the fastest
    wrong = one != other
    if one.is_floating_point():
        one, other = one.double(), other.double()
        finite = one[one.isfinite()]
        largest = float(finite.abs().max()) if finite.numel() else 0.0
        allowed = tolerance * largest + _NOTHING * (tolerance > 0)
        near = one.isfinite() & ((one - other).abs() <= allowed)
        wrong &= ~(near | (one.isnan() & other.isnan()))
    if not bool(wrong.any()):
        return None
    first = tuple(int(i) for i in wrong.nonzero()[0])
    return Difference(
        "value",
        f"{int(wrong.sum())} of {wrong.numel()} entries differ, first at {list(first)}: "
        + _both(one[first].item(), other[first].item()),
    )


def _types(expected: Any, got: Any) -> str:
    words = f"expected {kind_of(expected)}, got {kind_of(got)}"
    equal = _is_int(expected) and _is_real(got) and expected == got
    return f"{words} (the number is right, its type is not)" if equal else words


def _both(expected: Any, got: Any) -> str:
    short = f"expected {compact(expected)}, got {compact(got)}"
    one, other = compact(expected), compact(got)
    return short if one != other else f"expected {expected!r:.60}, got {got!r:.60}"


def _ordinal(place: int) -> str:
    return ("first", "second", "third")[place] if place < 3 else f"{place + 1}th"


# In order: a bool is an int to Python and none to us, an int is a real number but must be exact.
_FAMILIES = (
    (_is_bool, _equal),
    (_is_int, _equal),
    (_is_real, _close),
    (_is_text, _equal),
    (_is_array, _arrays),
    (_is_row, _rows),
    (_is_set, _equal),
    (_is_table, _tables),
)
