"""Work that cannot be, and the check that names it."""

from math import isfinite

from memlessons.errors import MemlessonsError


class ImpossibleWork(MemlessonsError, ValueError):
    """FLOP, bytes, tokens or a rate that is negative, infinite or not a number."""


def amount(name: str, value: float) -> None:
    """Raise ImpossibleWork unless `value` is a finite number, 0 or more."""
    if not (isfinite(value) and value >= 0):
        raise ImpossibleWork(f"{name}={value!r}: must be a finite number, 0 or more")
