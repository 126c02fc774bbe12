"""The reader's own work: chapters to start, exercises, checks and feedback."""

# The module has the decorator's name: it is imported first, so that the package's `exercise` stays the
# decorator. `from memlessons.coursework.exercise import Exercise` finds the module all the same.
import memlessons.coursework.exercise  # noqa: F401  isort: skip
from memlessons.coursework.reader import exercise, hint, solution
from memlessons.coursework.recalling import recall

__all__ = ["exercise", "hint", "recall", "solution"]
