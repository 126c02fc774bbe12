"""Named errors of live memory; each leaves every layer as it was."""

from memlessons.errors import MemlessonsError


class CacheFull(MemlessonsError):
    """More tokens than the capacity the memory was allocated with."""


class NotHeld(MemlessonsError):
    """Tokens were asked for that this memory does not hold, or no longer."""


class CannotLoad(MemlessonsError, ValueError):
    """Stored parts that do not fit: wrong name, shape, dtype or place."""


class FormNotBuilt(MemlessonsError, NotImplementedError):
    """The plan asks for a form of live memory that this version does not have."""
