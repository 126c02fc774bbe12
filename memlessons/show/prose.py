"""What cells say: prose from measured values, outcomes that may fail to show, tables, and source code.

In a notebook these render, in a shell they print; neither needs IPython to be installed. No colour is
set anywhere, so all of it follows the reader's theme.
"""

import ast
import html
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.show.guesses import predict, reveal
from memlessons.show.shell import code_span, plain_text, publish, safe_markdown, say
from memlessons.show.values import number_text, value_text

__all__ = ["NoSource", "claim", "code_span", "folded", "predict", "reveal", "say", "show_source", "table"]

Rows = Mapping[str, Any] | Sequence[Mapping[str, Any]]


class NoSource(MemlessonsError, TypeError):
    """There is no Python source to show for an object."""


def claim(condition: object, then: str, otherwise: str) -> None:
    """Say `then` if the outcome shows on this machine, else `otherwise`.

    A NaN is no evidence: it counts as not shown.
    """
    held = bool(condition) and condition == condition
    say(then if held else otherwise)


def folded(title: str, text: str) -> None:
    """Show a title that opens onto Markdown when it is clicked; a shell prints both."""
    body = safe_markdown(textwrap.dedent(text).strip())
    publish(
        {
            "text/markdown": f"<details><summary>{html.escape(title)}</summary>\n\n{body}\n\n</details>",
            "text/plain": f"{title}:\n{plain_text(text)}",
        }
    )


def table(
    rows: Rows, *, unit: str | Mapping[str, str] = "", beside: float | None = None, caption: str = ""
) -> None:
    """Show a small table: names and values, or a list of rows with equal columns.

    `unit` is the unit of the values ("bytes", "seconds", "perplexity"), or one for each column of a list.
    `beside` is a value to compare with: a column more gives each row's share of it.
    """
    head, body = _cells(rows, unit, beside)
    publish({"text/html": _html(head, body, caption), "text/plain": _aligned(head, body, caption)})


def show_source(thing: Any) -> None:
    """Show the source code of a function or class of the package, with its file and first line.

    Jitted functions (Triton, Numba) show the Python function they were made from. A text names a function
    or class, "memlessons.kernels.split.split_kernel", whose module is read and not imported: it may need
    what this machine has not. Raises NoSource.
    """
    thing = _python_of(thing)
    path: str | None
    try:
        if isinstance(thing, str):
            source, line, path = _found(thing)
        else:
            source, line = inspect.getsourcelines(thing)
            path = inspect.getsourcefile(thing)
    except (TypeError, OSError, ValueError, ImportError) as error:
        raise NoSource(
            f"show_source({thing!r}): no Python source; pass a function, a class or a module of the package"
        ) from error
    code = textwrap.dedent("".join(source)).rstrip()
    where = f"{_relative(path)}, line {max(line, 1)}"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
    publish(
        {"text/markdown": f"`{where}`\n\n{fence}python\n{code}\n{fence}", "text/plain": f"{where}\n\n{code}"}
    )


def _python_of(thing: Any) -> Any:
    for name in ("py_func", "fn"):
        inner = getattr(thing, name, None)
        if callable(inner) and not inspect.isclass(thing) and not inspect.isfunction(thing):
            return inner
    return inspect.unwrap(thing) if callable(thing) else thing


def _found(name: str) -> tuple[list[str], int, str]:
    """The lines of a module's function or class, decorators included; where they begin, in which file."""
    module, _, wanted = name.rpartition(".")
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(module)
    text = Path(spec.origin).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == wanted:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return text.splitlines(keepends=True)[first - 1 : node.end_lineno], first, spec.origin
    raise ValueError(wanted)


def _relative(path: str | None) -> str:
    """A file as the reader knows it: from the package's folder on, never an absolute path."""
    import memlessons

    if path is None:
        return "this notebook"
    file = Path(path).resolve()
    package = Path(memlessons.__file__).resolve().parent
    roots = {package: "memlessons", package.parent / "kernels": "kernels", package.parent / "book": "book"}
    for root, prefix in roots.items():
        if file.is_relative_to(root):
            return f"{prefix}/{file.relative_to(root).as_posix()}"
    # A notebook's cell lives in a temporary file or under a made-up name.
    return "this notebook" if "ipykernel" in path or path.startswith("<") else file.name


def _cells(
    rows: Rows, unit: str | Mapping[str, str], beside: float | None
) -> tuple[list[str], list[list[str]]]:
    one = unit if isinstance(unit, str) else ""
    if isinstance(rows, Mapping):
        head, values = ["", one or "value"], [[name, value] for name, value in rows.items()]
        units = ["", one]
    else:
        names = list(dict.fromkeys(name for row in rows for name in row))
        head, values = names, [[row.get(name) for name in names] for row in rows]
        units = [one if isinstance(unit, str) else unit.get(name, "") for name in names]
    # The unit stands in the head of a column, unless the formatter picks one by size (KiB, ms).
    shown = [u if u in ("bytes", "seconds", "bytes/s", "FLOP/s", "FLOP", "tokens") else "" for u in units]
    if not isinstance(rows, Mapping) and not isinstance(unit, str):
        head = [f"{n} ({u})" if u and not s else n for n, u, s in zip(head, units, shown, strict=True)]
    body = [[_text(v, u) for v, u in zip(row, shown, strict=True)] for row in values]
    if beside is not None:
        head.append(f"against {value_text(beside, shown[-1])}")
        for texts, row in zip(body, values, strict=True):
            number = row[-1]
            share = isinstance(number, (int, float)) or hasattr(number, "__float__")
            texts.append(f"× {number_text(float(number) / beside)}" if share and beside else "")
    return head, body


def _text(value: Any, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        return {True: "yes", False: "no"}.get(value, "") if isinstance(value, bool) else str(value)
    number = int(value) if isinstance(value, int) else float(value)
    return value_text(number, unit)


def _numeric(text: str) -> bool:
    return text == "–" or bool(re.match(r"[×\-+]? ?\d", text))


def _html(head: Sequence[str], body: Sequence[Sequence[str]], caption: str) -> str:
    aligned = [all(_numeric(row[c]) or not row[c] for row in body) for c in range(len(head))]
    side = [' align="right"' if a else ' align="left"' for a in aligned]
    top = "".join(f'<th scope="col"{s}>{html.escape(h)}</th>' for h, s in zip(head, side, strict=True))
    lines = []
    for row in body:
        first = f'<th scope="row" align="left">{html.escape(row[0])}</th>'
        rest = "".join(f"<td{s}>{html.escape(cell)}</td>" for cell, s in zip(row[1:], side[1:], strict=True))
        lines.append(f"<tr>{first}{rest}</tr>")
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _aligned(head: Sequence[str], body: Sequence[Sequence[str]], caption: str) -> str:
    right = [bool(body) and all(_numeric(row[c]) or not row[c] for row in body) for c in range(len(head))]
    widths = [max(len(line[c]) for line in [head, *body]) for c in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        parts = (t.rjust(w) if r else t.ljust(w) for t, w, r in zip(cells, widths, right, strict=True))
        return "  ".join(parts).rstrip()

    rule = "  ".join("-" * w for w in widths)
    return "\n".join([*([caption] if caption else []), line(head), rule, *(line(row) for row in body)])
