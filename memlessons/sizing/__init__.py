"""How large, how fast, what fits: one question, one answer, for the command line and for the widget.

Pure Python: imports neither torch nor numpy, so that `memlessons size` starts in milliseconds.
"""

from memlessons.sizing.answer import Answer, EngineAnswer, answer
from memlessons.sizing.models import Model, resolve
from memlessons.sizing.question import BadQuestion, Question, length

__all__ = ["Answer", "BadQuestion", "EngineAnswer", "Model", "Question", "answer", "length", "resolve"]
