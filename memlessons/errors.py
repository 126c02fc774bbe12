"""The root of every named error, so that a caller can catch all of ours and nothing else."""


class MemlessonsError(Exception):
    """Something the caller can mend; the message says what, which value, and what to do."""
