"""While a reader writes a function, the package's function of the same job is out of reach."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import CodeType, FunctionType
from typing import Any

from memlessons.coursework.exercise import BadExercise
from memlessons.errors import MemlessonsError

# The names that were called since the outermost `forbidden` began; an answer may swallow the error.
_called: list[str] = []


class WriteItYourself(MemlessonsError, RuntimeError):
    """An exercise's answer called the package's function that does the exercise's job."""


def refuse(name: str) -> WriteItYourself:
    """Remember that `name` was called, and make the error that says so."""
    _called.append(name)
    return WriteItYourself(f"{name} does this exercise's job: write it yourself")


@contextmanager
def forbidden(names: Sequence[str]) -> Iterator[list[str]]:
    """The functions with these dotted names raise WriteItYourself inside the block.

    Their code is exchanged, not their name: it does not matter how and when they were imported. Yields
    the names called so far. A class stands for its __init__. Raises BadExercise where a name is none of a
    Python function; a name whose module cannot be imported on this machine cannot be used either.
    """
    _called.clear()
    with ExitStack() as restored:
        for name in names:
            function = _function(name)
            if function is not None:
                restored.callback(setattr, function, "__code__", function.__code__)
                function.__code__ = _refusal(name, function.__code__)
        yield _called


def _function(name: str) -> FunctionType | None:
    parts = name.split(".")
    for split in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError as error:
            if error.name != ".".join(parts[:split]):
                return None  # it needs a package that this machine does not have
            continue
        except ImportError:
            return None
        for part in parts[split:]:
            found = getattr(found, part, None)
        found = inspect.unwrap(found.__init__ if inspect.isclass(found) else found)
        if not isinstance(found, FunctionType):
            break
        return found
    raise BadExercise(f"forbidden {name!r}: no Python function of the package has this name")


def _refusal(name: str, replaced: CodeType) -> CodeType:
    """Code that refuses; it closes over as many variables as the code that it stands in for."""
    free = ", ".join(replaced.co_freevars)
    source = (
        f"def outer({free}):\n"
        "    def refusal(*_, **__):\n"
        "        from memlessons.coursework.forbid import refuse\n"
        f"        raise refuse({name!r})\n"
        f"        {free}\n"
    )
    outer = next(c for c in compile(source, __file__, "exec").co_consts if isinstance(c, CodeType))
    return next(c for c in outer.co_consts if isinstance(c, CodeType))
