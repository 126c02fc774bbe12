"""Named errors of the plan."""

from memlessons.errors import MemlessonsError


class InvalidPlan(MemlessonsError, ValueError):
    """A store, layer, plan or format that cannot exist; names the field, the value and the rule."""


class PlanMismatch(MemlessonsError, ValueError):
    """A plan that does not fit the checkpoint it should store for."""


def whole(name: str, value: object, *, least: int = 0) -> None:
    """Raise InvalidPlan unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidPlan(f"{name}={value!r}: must be a whole number")
    if value < least:
        raise InvalidPlan(f"{name}={value}: must be at least {least}")
