"""Why a configuration gives no plan: it cannot be read, it contradicts itself, or nobody knows its kind."""

from memlessons.plan.errors import InvalidPlan


class UnknownArchitecture(InvalidPlan):
    """A configuration whose memory no rule knows: the message names the field and the rule that failed.

    We refuse instead of guessing: a number that is wrong by a factor is worse than none.
    """


class BadConfig(UnknownArchitecture):
    """A configuration with a field that cannot be: the wrong type, out of range, or against another field."""


class UnknownQuantisation(BadConfig):
    """Weights stored in a way that no rule knows: give the bytes they take instead, as `stored_bytes`."""
