"""What can be wrong with a call, and what a backend cannot do."""


class BadArgument(ValueError):
    """An argument of a kernel has a wrong shape, type, device or value; the message names both."""


class BackendCannot(RuntimeError):
    """A backend cannot run this call here; the message says why, and which one can."""
