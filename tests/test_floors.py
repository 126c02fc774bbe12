"""Who may import whom, read from the sources, and what a bare import loads."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parent.parent

# From the ground up: a module imports only from floors below its own, or from its own package.
FLOORS = (
    {"errors", "files", "units"},
    {"places"},
    {"recorded"},
    {"__init__"},  # the package itself: `memlessons.lesson` and `__version__`
    {"plan"},
    {"cost"},
    {"kernels", "measure"},
    {"sizing"},
    {"cache"},
    {"model"},
    {"quality"},
    {"bench", "turns"},
    {"doctor", "show"},
    {"cli", "coursework", "device"},
    {"book", "__main__"},
)
FLOOR_OF = {part: height for height, parts in enumerate(FLOORS) for part in parts}


def sources() -> dict[str, Path]:
    """Every module of ours by its installed name; chapters (book/source) are no modules."""
    found = {}
    for folder, prefix in (
        ("memlessons", "memlessons"),
        ("kernels", "memlessons.kernels"),
        ("book", "memlessons.book"),
    ):
        for path in sorted((TREE / folder).rglob("*.py")):
            parts = path.relative_to(TREE / folder).with_suffix("").parts
            if folder == "book" and parts[0] == "source":
                continue
            found[".".join((prefix, *parts)).removesuffix(".__init__")] = path
    return found


SOURCES = sources()


def part_of(module: str) -> str:
    """The part of the package that a module belongs to, "memlessons.plan.store" to "plan"."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(module: str, path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """The modules of ours that `module` names in import statements, relative ones resolved."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = _executed_at_import(tree) if top_level_only else ast.walk(tree)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            # `from memlessons.plan import store` may name a module or a thing in the package.
            named = [
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in SOURCES else base for alias in node.names
            ]
        else:
            continue
        yield from (name for name in named if name.partition(".")[0] in ("memlessons", "kernels", "book"))


def _executed_at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _executed_at_import(child)


@pytest.mark.parametrize("module", SOURCES)
def test_imports_only_from_floors_below(module: str) -> None:
    part = part_of(module)
    assert part in FLOOR_OF, f"{module}: give {part!r} a floor in tests/test_floors.py and in the map"
    wrong = []
    for name in imports(module, SOURCES[module]):
        assert name.startswith("memlessons"), (
            f"{module} imports {name}: its installed name is memlessons.{name}"
        )
        other = part_of(name)
        if other != part and FLOOR_OF.get(other, 99) >= FLOOR_OF[part]:
            wrong.append(name)
    assert not wrong, f"{module} (floor {FLOOR_OF[part]}) imports from its own floor or above: {wrong}"


@pytest.mark.parametrize("module", [name for name in SOURCES if part_of(name) == "kernels"])
def test_kernels_can_be_lifted_out(module: str) -> None:
    assert [name for name in imports(module, SOURCES[module]) if part_of(name) != "kernels"] == []


def test_no_import_cycle() -> None:
    edges = {
        module: sorted(
            {name for name in imports(module, path, top_level_only=True) if name in SOURCES} - {module}
        )
        for module, path in SOURCES.items()
    }
    finished: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, "import cycle: " + " -> ".join([*way[way.index(module) :], module])
        if module not in finished:
            for name in edges[module]:
                visit(name, (*way, module))
            finished.add(module)

    for module in edges:
        visit(module, ())


def run(code: str, cwd: Path) -> str:
    """The output of a fresh Python in `cwd`; its error output is part of the assertion's message."""
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_plan_and_cost_load_no_heavy_package(tmp_path: Path) -> None:
    code = (
        "import sys, memlessons, memlessons.plan, memlessons.cost\n"
        "print([name for name in ('torch', 'numpy', 'rich', 'triton', 'numba') if name in sys.modules])"
    )
    assert run(code, tmp_path) == "[]"


def test_command_line_loads_no_heavy_package(tmp_path: Path) -> None:
    code = (
        "import sys, contextlib, io, memlessons.cli\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    memlessons.cli.main([])\n"
        "print([name for name in ('torch', 'numpy', 'rich', 'triton', 'numba') if name in sys.modules])"
    )
    assert run(code, tmp_path) == "[]"


@pytest.mark.parametrize("name", ["kernels", "book", "tools", "tests"])
def test_no_top_level_name_is_taken(name: str, tmp_path: Path) -> None:
    """transformers probes a published package called kernels: ours must not answer."""
    code = f"import importlib.util; spec = importlib.util.find_spec({name!r}); print(spec and spec.origin)"
    found = run(code, tmp_path)
    assert found == "None" or not Path(found).is_relative_to(TREE), found


# Modules that import triton when they are imported, known from their sources: nothing else may need it.
TRITON_ONLY = [
    module
    for module, path in SOURCES.items()
    if any(
        (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "triton" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "triton")
        for node in _executed_at_import(ast.parse(path.read_text(encoding="utf-8")))
    )
]


def test_only_kernels_need_triton() -> None:
    assert [module for module in TRITON_ONLY if part_of(module) != "kernels"] == []


def test_everything_else_imports_without_what_only_linux_has(tmp_path: Path) -> None:
    modules = [name for name in SOURCES if name not in TRITON_ONLY and not name.endswith("__main__")]
    code = f"""
import importlib, os, sys
# Other people's packages come first: on Linux some of them use these modules, elsewhere they know better.
import torch, numpy, numba, gguf, plotly.graph_objects, ipywidgets, nbclient, nbformat, jupyter_client
for name in [name for name in sys.modules if name.partition(".")[0] in ("triton", "fcntl", "resource")]:
    del sys.modules[name]
for name in ("triton", "fcntl", "resource"):
    sys.modules[name] = None
del os.O_NOFOLLOW
failures = []
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except Exception as error:
        failures.append(f"{{name}}: {{type(error).__name__}}: {{error}}")
print("\\n".join(failures))
"""
    assert run(code, tmp_path) == ""
