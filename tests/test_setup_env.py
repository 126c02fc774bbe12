"""The set-up script: which torch, which environment, and what it says when a step fails."""

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from types import ModuleType

import pytest

TREE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def tools() -> ModuleType:
    """The set-up modules; they import each other by bare names, as a script's neighbours do."""
    sys.path.insert(0, str(TREE / "tools"))
    try:
        import setup_env
    finally:
        sys.path.remove(str(TREE / "tools"))
    return setup_env


def module(tools: ModuleType, name: str) -> ModuleType:
    return sys.modules[name]


@pytest.mark.parametrize(
    ("asked", "before", "system", "driver", "build"),
    [
        ("auto", None, "linux", False, "cpu"),
        ("auto", None, "linux", True, "cuda"),
        ("cpu", None, "linux", True, "cpu"),
        ("cuda", None, "linux", False, "cuda"),
        ("auto", "cpu", "linux", True, "cpu"),  # chosen once, kept
        ("cuda", "cpu", "linux", True, "cuda"),
        ("auto", None, "darwin", False, "cpu"),
        ("cuda", None, "darwin", False, "cpu"),
        ("auto", None, "win32", True, "cuda"),
    ],
)
def test_build_of_torch_follows_the_wish_then_the_past_then_the_driver(
    tools: ModuleType, asked: str, before: str | None, system: str, driver: bool, build: str
) -> None:
    assert module(tools, "choose_torch").choose(asked, before, system, driver)[0].value == build


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", "cpu"),
        ("__version__ = '2.13.0'\ncuda: Optional[str] = '13.0'\n", "cuda"),
        ("__version__ = '2.12.0'\ncuda: Optional[str] = None\n", None),
        ("", None),
    ],
)
def test_installed_build_is_read_from_torch_itself(
    tools: ModuleType, tmp_path: Path, text: str, build: str | None
) -> None:
    folder = tmp_path / "lib" / "python3.11" / "site-packages" / "torch"
    folder.mkdir(parents=True)
    (folder / "version.py").write_text(text)
    found = module(tools, "choose_torch").installed_build(tmp_path / "bin" / "python")
    assert (found and found.value) == build


def test_installed_build_agrees_with_torch_here(tools: ModuleType) -> None:
    import torch

    found = module(tools, "choose_torch").installed_build(Path(sys.executable))
    if torch.__version__.split("+")[0] == tools.TORCH_VERSION:
        assert found.value == ("cpu" if torch.version.cuda is None else "cuda")
    else:
        assert found is None


# Last lines as pip 23 and uv 0.13 print them.
OUTPUTS = {
    "WARNING: Retrying after connection broken by 'NewConnectionError(...): Temporary failure in name "
    "resolution'\nERROR: No matching distribution found for torch==2.13.0": "could not be reached",
    "error: Request failed after 3 retries\n  cause: dns error": "could not be reached",
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device": "disk is full",
    "ERROR: No matching distribution found for numba==0.68.1": "numba==0.68.1",
    "error: subprocess-exited-with-error\n      error: package directory 'x' does not exist\n"
    "error: subprocess-exited-with-error": "package directory 'x' does not exist",
    "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))": "certificate",
    "ERROR: Failed building wheel for numba": "no finished build",
    "PermissionError: [Errno 13] Permission denied: '.venv/bin/x'": "may not be written",
    "Traceback (most recent call last):\nKeyError: 'odd'": "KeyError: 'odd'",
    "": "without a word",
}


@pytest.mark.parametrize("output", OUTPUTS, ids=list(OUTPUTS.values()))
def test_failure_becomes_a_cause_and_a_cure(tools: ModuleType, output: str) -> None:
    what, mend = module(tools, "diagnose").explain(output)
    assert OUTPUTS[output] in what
    assert mend.endswith(".") or "=" in mend


def test_failed_step_says_what_failed_and_where_the_log_is(tools: ModuleType, tmp_path: Path) -> None:
    step = tools.Step(tmp_path / "log")
    command = [
        sys.executable,
        "-c",
        "print('OSError: [Errno 28] No space left on device'); raise SystemExit(1)",
    ]
    with pytest.raises(tools.SetupFailed) as failure:
        step.run("unpacking", command)
    assert failure.value.what == "unpacking: the disk is full."
    assert str(tmp_path / "log") in failure.value.mend
    assert "Errno 28" in (tmp_path / "log").read_text()


def test_full_disk_stops_before_anything_is_downloaded(
    tools: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage(10**12, 10**12, 5 * 10**8))
    assert tools.main(["--torch", "cpu", "--venv", str(tmp_path / "venv")]) == 1
    shown = capsys.readouterr()
    assert "together about" in shown.out  # sizes first
    assert "0.5 GB of free disk" in shown.err
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("version", [(3, 10, 2), (3, 15, 0)])
def test_python_without_builds_is_refused(
    tools: ModuleType,
    version: tuple[int, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.version_info", version)
    assert tools.main(["--venv", str(tmp_path / "venv")]) == 1
    assert "PYTHON=python3.11" in capsys.readouterr().err


def test_finished_environment_is_left_alone(
    tools: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment, build = module(tools, "environment"), tools.Build.CPU
    python = environment.python_of(tmp_path)
    python.parent.mkdir()
    python.touch()
    environment.write_stamp(tmp_path, {**environment.wanted(TREE, build), "has": "cpu"})
    monkeypatch.setattr(tools, "installed_build", lambda python: build)
    monkeypatch.setattr(tools, "driver_found", lambda: False)
    monkeypatch.setattr(tools, "install", lambda *arguments: pytest.fail("installed again"))
    assert tools.main(["--venv", str(tmp_path)]) == 0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tree": "/elsewhere"}'])
def test_damaged_or_foreign_stamp_is_no_finished_environment(
    tools: ModuleType, tmp_path: Path, content: str
) -> None:
    environment = module(tools, "environment")
    python = environment.python_of(tmp_path)
    python.parent.mkdir()
    python.touch()
    (tmp_path / ".ready").write_text(content)
    assert environment.read_stamp(tmp_path) != environment.wanted(TREE, tools.Build.CPU)


def test_missing_ensurepip_names_the_debian_package(
    tools: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = module(tools, "environment")
    said = subprocess.CompletedProcess(
        [], 1, "The virtual environment was not created: ensurepip is not available", ""
    )
    monkeypatch.setattr("subprocess.run", lambda *arguments, **options: said)
    with pytest.raises(tools.SetupFailed) as failure:
        environment.ensure_environment(tmp_path / "venv")
    assert f"python3.{sys.version_info.minor}-venv" in failure.value.mend


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make as if from a terminal, also where a make runs these tests."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=TREE, capture_output=True, text=True, env=clean)


@pytest.mark.skipif(sys.platform == "win32", reason="make and sh")
def test_make_says_what_to_install_without_python() -> None:
    done = make("setup", "PYTHON=/no/such/python")
    assert done.returncode != 0
    assert "Python 3.11 or newer" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="make and sh")
def test_makefile_documents_every_target_and_uses_no_new_feature() -> None:
    """GNU make 3.81 is what macOS ships: it silently misreads what came later."""
    text = (TREE / "Makefile").read_text(encoding="utf-8")
    shown = make("help").stdout
    targets = next(line for line in text.splitlines() if line.startswith(".PHONY:")).split()[1:]
    assert [name for name in targets if name not in ("help", "model") and f"make {name} " not in shown] == []
    for feature in (
        ".ONESHELL",
        ".RECIPEPREFIX",
        "$(file",
        "!=",
        "::=",
        "&:",
        "undefine",
        ".SHELLFLAGS",
        "private ",
    ):
        assert feature not in text, feature
