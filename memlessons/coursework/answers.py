"""Finding a reader's answers: in a .py file, or in a notebook's cells."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from memlessons.coursework.limit import OutOfTime, time_limit
from memlessons.coursework.reader import collecting
from memlessons.errors import MemlessonsError

# A file may import and measure before it answers; a loop without an end must still end.
_SECONDS = 60.0
_DECORATED = re.compile(r"@\s*(?:\w+\.)*exercise\(")


class NoAnswers(MemlessonsError):
    """A file of answers is missing, or is neither Python nor a notebook; the message says which."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What was found in a file: functions by exercise id, and the lines that say what went wrong."""

    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def read_answers(path: Path, names: dict[str, str]) -> Answers:
    """The answers in `path` to the exercises of `names`: {"03.2": "merge"}, id to function name.

    A function is found by its decorator's id, else by its name. A notebook's cells are run one by one,
    those alone that have a decorator or define a function of such a name, each in a namespace of its own.
    What does not parse or raises is a problem, and the rest is read all the same. Raises NoAnswers.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NoAnswers(f"{path} does not exist; name a .py file or a notebook with your answers") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NoAnswers(f"{path} cannot be read ({type(error).__name__})") from error
    if path.suffix == ".ipynb":
        return _from_notebook(path, text, names)
    if path.suffix == ".py":
        return _from_source(text, str(path), names)
    raise NoAnswers(f"{path} is neither a .py file nor a notebook (.ipynb)")


def _from_source(source: str, where: str, names: dict[str, str]) -> Answers:
    try:
        namespace, decorated = _run(source, where)
    except _Failed as failed:
        return Answers({}, (str(failed),))
    found = {
        id: namespace[name]
        for id, name in names.items()
        if inspect.isroutine(namespace.get(name)) or inspect.isclass(namespace.get(name))
    }
    # What is imported under that name, perhaps from the package, is no answer.
    found = {id: answer for id, answer in found.items() if answer.__module__ == namespace["__name__"]}
    return Answers({**found, **{id: answer for id, answer in decorated if id in names}})


def _from_notebook(path: Path, text: str, names: dict[str, str]) -> Answers:
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except (ValueError, KeyError, TypeError):
        raise NoAnswers(f"{path} is not a notebook; `memlessons start NN` copies a chapter's") from None
    by_name: dict[str, Callable[..., Any]] = {}
    decorated: dict[str, Callable[..., Any]] = {}
    problems: list[str] = []
    for number, source in enumerate(sources, 1):
        source = _without_magics(source)
        is_exercise = _DECORATED.search(source) is not None
        if not is_exercise and not _defines(source, names.values()):
            continue
        answers = _from_source(source, f"{path.name}, code cell {number}", names)
        (decorated if is_exercise else by_name).update(answers.functions)
        if is_exercise:
            problems += answers.problems
    # A chapter builds functions of the same names in its text: the exercise's own cell counts.
    return Answers({**by_name, **decorated}, tuple(problems))


def _without_magics(source: str) -> str:
    """A cell with its `%` and `!` lines blank, so that line numbers stay."""
    return "\n".join("" if re.match(r"\s*[%!]", line) else line for line in source.split("\n"))


def _defines(source: str, names: Iterable[str]) -> bool:
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return False
    wanted = set(names)
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in wanted for node in body)


class _Failed(Exception):
    """A source did not parse or raised; the text is the line for the reader."""


def _run(source: str, where: str) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Run a source as a module of its own; its names, and what `exercise` decorated in it."""
    module = ModuleType("memlessons_answers")
    module.__file__ = where
    # Errors show the reader's line, also where the source is no file.
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        code = compile(source, where, "exec", dont_inherit=True)
        with collecting() as decorated, time_limit(_SECONDS):
            exec(code, module.__dict__)
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise _Failed(f"{where} does not parse: line {error.lineno}: {error.msg}: {line}") from error
    except OutOfTime:
        raise _Failed(f"{where} was stopped after {_SECONDS:g} s: is there a loop without an end?") from None
    except (Exception, SystemExit) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == where]
        line = f"line {frames[-1].lineno}: {frames[-1].line}: " if frames else ""
        words = "".join(traceback.format_exception_only(error)).strip().split("\n")[-1]
        raise _Failed(f"{where} stops with an error: {line}{words}") from error
    finally:
        if before is None:
            sys.modules.pop(module.__name__, None)
        else:
            sys.modules[module.__name__] = before
    return module.__dict__, decorated
