"""What is installed, from which lists, and that the tree works without being installed."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

PROJECT = tomllib.loads(
    (Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8")
)


def canonical(name: str) -> str:
    """A distribution's name as indexes compare it, "Huggingface_Hub" to "huggingface-hub"."""
    return re.sub(r"[-_.]+", "-", name).lower()


def numbers(version: str) -> list[int]:
    """The leading numbers of a version, for comparing "2.13.0" with "2.11"."""
    return [int(part) for part in re.match(r"[\d.]*\d", version)[0].split(".")]


def pins(tree: Path) -> dict[str, str]:
    """constraints.txt: canonical name to version."""
    lines = (tree / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in lines:
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([^;\s]+)(; sys_platform == \"linux\")?", line)
            assert match, f"constraints.txt: {line!r} is not name==version"
            assert canonical(match[1]) not in found, f"constraints.txt pins {match[1]} twice"
            found[canonical(match[1])] = match[2]
    return found


def requirements() -> list[tuple[str, str]]:
    """Every (canonical name, floor) that pyproject.toml asks for."""
    project = PROJECT["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    found = []
    for line in lines:
        match = re.fullmatch(r"([A-Za-z0-9._-]+)>=([\d.]+)(; sys_platform == 'linux')?", line)
        assert match, f"pyproject.toml: {line!r} is not name>=floor"
        found.append((canonical(match[1]), match[2]))
    return found


def files_of(tree: Path) -> list[Path]:
    """Tracked files and untracked ones that git does not ignore, as a clone or a commit would hold them."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return [Path(name) for name in listed.stdout.split("\0") if name and (tree / name).is_file()]


@pytest.fixture(scope="module")
def clone(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as somebody else would receive it."""
    folder = tmp_path_factory.mktemp("clone")
    for name in files_of(tree):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree / name, folder / name)
    return folder


@pytest.mark.parametrize(("name", "floor"), requirements())
def test_every_requirement_is_pinned_at_or_above_its_floor(tree: Path, name: str, floor: str) -> None:
    assert name in pins(tree), f"{name}: add the tested version to constraints.txt"
    assert numbers(pins(tree)[name]) >= numbers(floor)


def third_party_imports(tree: Path, *folders: str) -> dict[str, str]:
    """The packages of others that our modules import: distribution to one module that does."""
    distributions = importlib.metadata.packages_distributions()
    found = {}
    for path in (path for folder in folders for path in (tree / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                named = [node.module or ""]
            for top in {name.partition(".")[0] for name in named} - sys.stdlib_module_names:
                for distribution in distributions.get(top, []):
                    found[canonical(distribution)] = str(path.relative_to(tree))
    found.pop("memlessons", None)
    return found


def test_every_import_is_a_requirement_of_its_own(tree: Path) -> None:
    """What only arrives because another package needs it may be gone with that package's next release."""
    asked = {name for name, _ in requirements()}
    imported = third_party_imports(tree, "memlessons", "kernels", "book", "tests")
    assert {name: module for name, module in imported.items() if name not in asked} == {}


def test_readers_do_not_need_the_authors_tools(tree: Path) -> None:
    """kaleido draws `make notebooks`'s pictures; transformers is an oracle in tests and benchmarks."""
    authors = {
        canonical(re.split("[>=]", line)[0]) for line in PROJECT["project"]["optional-dependencies"]["dev"]
    }
    imported = third_party_imports(tree, "memlessons", "kernels", "book")
    assert authors & imported.keys() <= {"kaleido", "transformers", "playwright"}


def test_torch_and_triton_are_the_pair_that_belongs_together(tree: Path) -> None:
    text = (tree / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert "torch==2.13.0" in text  # no "+cpu": every build of this version
    assert 'triton==3.7.1; sys_platform == "linux"' in text


def test_everything_that_a_requirement_brings_is_pinned(tree: Path) -> None:
    """Follows the installed packages' own requirements: a pin that is missing would float."""
    pinned, queue, seen = pins(tree), [name for name, _ in requirements()], set()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # another system's, or another Python's
        # CUDA builds bring NVIDIA's packages, each pinned by torch itself.
        assert name in pinned or name.startswith(("nvidia-", "cuda-")), f"{name}: add it to constraints.txt"
        queue += [
            canonical(re.match(r"[A-Za-z0-9._-]+", need)[0]) for need in needs if "extra ==" not in need
        ]


def test_environment_yml_has_the_same_pins_and_python(tree: Path) -> None:
    environment = yaml.safe_load((tree / "environment.yml").read_text(encoding="utf-8"))
    parts = environment["dependencies"]
    conda = [part for part in parts if isinstance(part, str)]
    (pip,) = (part["pip"] for part in parts if isinstance(part, dict))
    assert "conda-forge" in environment["channels"]
    # Everything but Python and pip itself comes from pip, so that there is one list of pins.
    assert [re.split(r"[=<> ]", part)[0] for part in conda] == ["python", "pip"]
    assert numbers(conda[0].partition("=")[2].lstrip("=")) >= numbers(
        PROJECT["project"]["requires-python"][2:]
    )
    assert pip == ["-c constraints.txt", "-e .[book]"]
    assert "book" in PROJECT["project"]["optional-dependencies"]


def test_pre_commit_uses_the_pinned_ruff(tree: Path) -> None:
    hooks = yaml.safe_load((tree / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0][
        "hooks"
    ]
    used = {need for hook in hooks for need in hook.get("additional_dependencies", [])}
    assert used == {f"ruff=={pins(tree)['ruff']}"}


def test_setup_script_installs_the_pinned_torch(tree: Path) -> None:
    text = (tree / "tools" / "choose_torch.py").read_text(encoding="utf-8")
    assert f'TORCH_VERSION = "{pins(tree)["torch"]}"' in text


def test_every_package_is_listed(tree: Path) -> None:
    folders = {"memlessons": "memlessons", "kernels": "memlessons.kernels", "book": "memlessons.book"}
    found = set()
    for folder, prefix in folders.items():
        for init in (tree / folder).rglob("__init__.py"):
            found.add(".".join((prefix, *init.parent.relative_to(tree / folder).parts)))
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


def test_no_module_is_outside_a_package(tree: Path) -> None:
    """A folder without __init__.py works in this tree and is missing from a wheel."""
    lost = [
        str(path.relative_to(tree))
        for folder in ("memlessons", "kernels", "book")
        for path in (tree / folder).rglob("*.py")
        if path.parent != tree / "book" / "source" and not (path.parent / "__init__.py").is_file()
    ]
    assert lost == []


def test_uninstalled_tree_works(clone: Path, tmp_path: Path) -> None:
    code = f"""
import sys
# Forget the editable install: only this copy may answer.
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
sys.path.insert(0, {str(clone)!r})
import memlessons, memlessons.kernels, memlessons.book, memlessons.plan, memlessons.coursework
for module in (memlessons, memlessons.kernels, memlessons.book, memlessons.plan):
    print(module.__file__)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    places = done.stdout.splitlines()
    assert len(places) == 4
    assert [place for place in places if not Path(place).is_relative_to(clone.resolve())] == []


def test_uninstalled_tree_runs_its_commands(clone: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memlessons", "--version"], cwd=clone, capture_output=True, text=True
    )
    assert done.stdout.split() == ["memlessons", version_in(clone)]


def version_in(tree: Path) -> str:
    """The version that the sources state."""
    for node in ast.parse((tree / "memlessons" / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return ast.literal_eval(node.value)
    raise AssertionError("memlessons/__init__.py states no __version__")


def test_wheel_holds_the_packages_and_their_data(clone: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    done = subprocess.run([*command, "-w", str(tmp_path), str(clone)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"memlessons"}
    expected = {"memlessons/__init__.py", "memlessons/kernels/__init__.py", "memlessons/book/__init__.py"}
    inside = {"memlessons": "memlessons", "kernels": "memlessons/kernels", "book": "memlessons/book"}
    for name in files_of_clone(clone):
        top = name.parts[0]
        if top in inside and name.suffix in (".py", ".json", ".ipynb", ".css"):
            expected.add(f"{inside[top]}/{name.relative_to(top).as_posix()}")
    assert expected - names == set()


def files_of_clone(clone: Path) -> list[Path]:
    """The clone's files; a build may have left its own folders there."""
    listed = (path.relative_to(clone) for path in clone.rglob("*") if path.is_file())
    return [
        path
        for path in listed
        if path.parts[0] in ("memlessons", "kernels", "book") and "__pycache__" not in path.parts
    ]


def test_repository_names_no_package_index(tree: Path) -> None:
    """Whose index a reader uses is the reader's own business: pip knows it."""
    hosts = ("pypi" + ".org", "python" + "hosted.org", "download.py" + "torch.org", "registry.npm" + "js.org")
    named = []
    for name in files_of(tree):
        text = (tree / name).read_bytes()
        named += [f"{name}: {host}" for host in hosts if host.encode() in text]
    assert named == []
