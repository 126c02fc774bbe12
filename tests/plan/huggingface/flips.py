"""Small damage to the rules themselves: a comparison turned round, a sum for a product, a number off by one.

Functions are damaged in place: a mutant's code is compiled from the changed syntax tree of the whole module,
and put into the functions that are alive, closures in tables of rules among them.
"""

import ast
import copy
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

from memlessons.plan.huggingface import Rule

_TURNED: dict[type[Any], type[Any]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def module(name: str) -> ModuleType:
    """A module of the package by its short name."""
    return importlib.import_module(f"memlessons.plan.huggingface.{name}")


def points(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """What can be damaged in functions: operators and small numbers, but for checks that only raise."""
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            yield from _within(function)


def _within(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    guard = isinstance(node, ast.If) and all(isinstance(part, ast.Raise) for part in node.body)
    if guard or isinstance(node, ast.Raise | ast.JoinedStr | ast.arguments):
        return
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
        yield node, "ops"
    elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _TURNED:
        yield node, "op"
    elif isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value < 200:
        yield node, "value"
    for child in ast.iter_child_nodes(node):
        yield from _within(child)


def mutants(name: str) -> Iterator[tuple[str, CodeType]]:
    """Each mutant of a module: where it is damaged, and its code."""
    source = inspect.getsource(module(name))
    tree = ast.parse(source)
    for i, (node, _) in enumerate(points(tree)):
        changed = copy.deepcopy(tree)
        at, what = list(points(changed))[i]
        before = ast.unparse(at)
        old: Any = getattr(at, what)
        if what == "value":
            new: Any = old + 1
        else:
            new = [_TURNED[type(old[0])]()] if what == "ops" else _TURNED[type(old)]()
        setattr(at, what, new)
        where = f"{name}.py:{getattr(node, 'lineno', 0)} {before} -> {ast.unparse(at)}"
        yield where, compile(changed, f"<{name}>", "exec")


def alive(name: str) -> list[FunctionType]:
    """The functions of a module, those in its tables of rules and those in their closures among them."""
    found: list[FunctionType] = []
    values: list[Any] = list(vars(module(name)).values())
    for other in ("kinds", "heads", "windows", "order", "index", "states", "attention", "compressed"):
        values += vars(module(other)).values()
    while values:
        value = values.pop()
        if isinstance(value, tuple):
            values += [rule.apply for rule in value if isinstance(rule, Rule)]
        elif (
            isinstance(value, FunctionType)
            and value not in found
            and value.__module__ == module(name).__name__
        ):
            found.append(value)
            values += [cell.cell_contents for cell in value.__closure__ or ()]
    return found


@contextmanager
def damaged(functions: list[FunctionType], code: CodeType) -> Iterator[None]:
    """The functions with the mutant's code, for as long as the block lasts."""
    codes = {(c.co_qualname, c.co_firstlineno): c for c in _nested(code)}
    before = [(function, function.__code__) for function in functions]
    try:
        for function, old in before:
            function.__code__ = codes[old.co_qualname, old.co_firstlineno]
        yield
    finally:
        for function, old in before:
            function.__code__ = old


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
