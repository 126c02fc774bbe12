"""What an author has to show of an exercise, as pure functions: the tests call them for each one."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Callable
from typing import Any

from memlessons.coursework.cases import Cases, prepare
from memlessons.coursework.check import check
from memlessons.coursework.exercise import Exercise, Mistake
from memlessons.coursework.reader import collecting

SHARE = 0.2
"""A mistake differs from the reference on so many draws, or on an input pinned for it."""


def wrongly_diagnosed(cases: Cases, answers: dict[str, Callable[..., Any]]) -> dict[str, str]:
    """Of wrong answers by the name of their mistake, those that do not get its hint, with what they get.

    Give the exercise's own wrong answers, or a second form of each, written independently.
    """
    found = {}
    for name, answer in answers.items():
        feedback = check(cases.exercise, answer, cases=cases)
        if feedback.mistake != name:
            found[name] = feedback.text()
    return found


def share_of_draws(cases: Cases, mistake: Mistake) -> float:
    """On which share of the drawn inputs a mistake differs from the reference."""
    return sum(i < cases.drawn for i in cases.telling[mistake.name]) / cases.drawn


def seldom(cases: Cases) -> dict[str, float]:
    """Mistakes that differ on less than SHARE of the draws and on no input pinned for them."""
    pins = len(cases.inputs) - len(cases.exercise.shown) - cases.drawn
    first_pin = len(cases.inputs) - pins
    found = {}
    for mistake in cases.exercise.mistakes:
        mine = range(first_pin, first_pin + len(mistake.pins))
        first_pin += len(mistake.pins)
        share = share_of_draws(cases, mistake)
        if share < SHARE and not set(mine) & set(cases.telling[mistake.name]):
            found[mistake.name] = share
    return found


def twins(cases: Cases) -> list[tuple[str, str]]:
    """Pairs of mistakes that agree on every input: nobody could tell which one was made."""
    return [
        (one, other)
        for one, other in itertools.combinations(cases.mistaken, 2)
        if not cases.differing(cases.mistaken[one], cases.mistaken[other])
    ]


def prepared(exercise: Exercise, seed: int, draws: int = 200) -> Cases:
    """The inputs on which an exercise is proved, 200 of them drawn."""
    return prepare(exercise, seed, draws)


def exercise_cells(source: str) -> dict[str, list[str]]:
    """The code cells of a chapter's source (py:percent) that hold an `@exercise`, by the exercise's id."""
    found: dict[str, list[str]] = {}
    for cell in ("\n" + source).split("\n# %%")[1:]:
        head, _, code = cell.partition("\n")
        if "[markdown]" in head:
            continue
        for id in _decorated(code):
            found.setdefault(id, []).append(code)
    return found


def _decorated(code: str) -> list[str]:
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    return [
        decorator.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        and ast.unparse(decorator.func).rpartition(".")[2] == "exercise"
        and decorator.args
        and isinstance(decorator.args[0], ast.Constant)
        and isinstance(decorator.args[0].value, str)
    ]


def shadowed(source: str) -> list[str]:
    """Names that a chapter's cells bind and an exercise of it binds again.

    A reader who turns a knob after the exercises would meet the exercise's function in its place.
    """
    exercises = {code for codes in exercise_cells(source).values() for code in codes}
    own = {name for code in exercises for name in _functions(code)}
    bound: set[str] = set()
    for cell in ("\n" + source).split("\n# %%")[1:]:
        head, _, code = cell.partition("\n")
        if "[markdown]" not in head and code not in exercises:
            bound |= _bound(code)
    return sorted(own & bound)


def _functions(code: str) -> set[str]:
    return {n.name for n in ast.parse(code).body if isinstance(n, ast.FunctionDef | ast.ClassDef)}


def _bound(code: str) -> set[str]:
    found = _functions(code)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def stub_of(code: str, id: str) -> Callable[..., Any]:
    """The function that an exercise's cell defines, run in a namespace of its own and not checked."""
    with collecting() as decorated:
        exec(compile(code, f"the cell of {id}", "exec", dont_inherit=True), {"__name__": "stub"})
    return dict(decorated)[id]


def wrong_stub(exercise: Exercise, stub: Callable[..., Any]) -> str:
    """What is wrong with a chapter's stub: it must be "not done yet" and take what the reference takes."""
    if stub.__name__ != exercise.name:
        return f"{exercise.id}: the stub is called {stub.__name__}, the reference {exercise.name}"
    own = tuple(inspect.signature(stub).parameters)
    if own != exercise.parameters:
        return f"{exercise.id}: the stub takes {own}, the reference {exercise.parameters}"
    feedback = check(exercise, stub)
    return "" if feedback.verdict == "not done" else f"{exercise.id}: the stub gets {feedback.text()}"


def hints_that_break(exercise: Exercise) -> list[str]:
    """Hints of which Markdown would eat a part: a formula outside of backticks, such as a*b*c or $x$."""
    bare = {hint: re.sub(r"`[^`]*`", "", hint) for hint in exercise.hints}
    return [hint for hint, rest in bare.items() if "*" in rest or rest.count("$") > 1 or "`" in rest]
