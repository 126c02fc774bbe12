"""Each check, driven by facts of machines that this one is not."""

import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memlessons import doctor
from memlessons.doctor import facts as facts_module
from memlessons.doctor import probes, stack, storage
from memlessons.doctor.check import Check, exit_code, release
from memlessons.doctor.devices import check_gpu, check_mps
from memlessons.doctor.facts import Facts, Space
from memlessons.doctor.notebook import check_anywidget, check_kernel_widgets, check_lab, check_server_widgets
from memlessons.errors import MemlessonsError
from memlessons.units import GIB, MIB

CPU_TORCH = {
    "version": "2.13.0+cpu",
    "built_for_cuda": None,
    "cuda": False,
    "gpus": [],
    "mps_built": False,
    "mps": False,
    "threads": 2,
}
GPU_TORCH = {
    **CPU_TORCH,
    "version": "2.13.0",
    "built_for_cuda": "13.0",
    "cuda": True,
    "gpus": ["NVIDIA H200"],
}

HEALTHY = Facts(
    system="linux",
    machine="x86_64",
    python=(3, 11, 7),
    executable="/home/a/.venv/bin/python",
    versions={
        "torch": "2.13.0+cpu",
        "triton": "3.7.1",
        "numpy": "2.4.6",
        "numba": "0.68.1",
        "ipykernel": "7.4.0",
        "ipywidgets": "8.1.9",
        "jupyterlab": "4.6.6",
        "jupyterlab_widgets": "3.0.17",
        "anywidget": "0.11.0",
        "plotly": "7.1.0",
    },
    torch=CPU_TORCH,
    interpreter="",
    labextensions={"jupyterlab_widgets": True, "anywidget": True},
    kernel_python="/home/a/.venv/bin/python",
    cache=Space(Path("/home/a/.cache/memlessons"), True, 50 * GIB),
    work=Space(Path("/home/a/work"), True, 50 * GIB),
)


def but(**changes: Any) -> Facts:
    """The healthy machine with some facts changed; `versions` is merged, None removes a package."""
    if "versions" in changes:
        changes["versions"] = {**HEALTHY.versions, **changes["versions"]}
    return dataclasses.replace(HEALTHY, **changes)


@pytest.fixture(autouse=True)
def fetched_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    monkeypatch.setattr("memlessons.model.fetch.locate", lambda name: model)


def test_healthy_machine_passes_everything() -> None:
    checks = doctor.examine(HEALTHY)
    assert [(check.name, check.detail) for check in checks if check.status != "PASS"] == []
    assert [check.name for check in checks if check.mend] == []
    assert exit_code(checks) == 0


BROKEN: list[tuple[str, Callable[[Facts], Check], Facts, str, str]] = [
    ("old Python", stack.check_python, but(python=(3, 10, 4)), "FAIL", "PYTHON=python3.11"),
    ("Python of the future", stack.check_python, but(python=(3, 15, 0)), "WARN", "PYTHON="),
    ("no torch", stack.check_torch, but(versions={"torch": None}, torch={}), "FAIL", "torch==2.13.0"),
    ("old torch", stack.check_torch, but(versions={"torch": "2.10.1"}), "FAIL", "torch==2.13.0"),
    (
        "broken torch",
        stack.check_torch,
        but(torch={"error": "libc10.so: no such file"}),
        "FAIL",
        "--force-reinstall",
    ),
    ("no triton on Linux", stack.check_triton, but(versions={"triton": None}), "WARN", "triton==3.7.1"),
    ("old triton", stack.check_triton, but(versions={"triton": "3.5.1"}), "FAIL", "triton==3.7.1"),
    ("unpaired", stack.check_pairing, but(versions={"triton": "3.6.0"}), "FAIL", "numpy<2.4"),
    (
        "unpaired, GPU",
        stack.check_pairing,
        but(versions={"triton": "3.6.0"}, torch=GPU_TORCH),
        "WARN",
        "numpy<2.4",
    ),
    ("no NumPy", stack.check_pairing, but(versions={"numpy": None}), "FAIL", "install"),
    ("interpreter", stack.check_interpreter, but(interpreter="AttributeError: x"), "FAIL", "triton==3.7.1"),
    ("GPU unused", check_gpu, but(driver_found=True, driver="H200, 580"), "WARN", "TORCH=cuda"),
    (
        "driver too old",
        check_gpu,
        but(driver_found=True, driver="T4, 450", torch={**GPU_TORCH, "cuda": False}),
        "FAIL",
        "TORCH=cpu",
    ),
    (
        "silent driver",
        check_gpu,
        but(driver_found=True, torch={**GPU_TORCH, "cuda": False}),
        "FAIL",
        "nvidia-smi",
    ),
    ("no JupyterLab", check_lab, but(versions={"jupyterlab": None}), "FAIL", "jupyterlab"),
    ("no ipykernel", check_lab, but(versions={"ipykernel": None}), "FAIL", "ipykernel"),
    ("no kernel", check_lab, but(kernel_python=""), "FAIL", "ipykernel install"),
    ("another kernel", check_lab, but(kernel_python="/usr/bin/python3"), "FAIL", "ipykernel install"),
    ("no ipywidgets", check_kernel_widgets, but(versions={"ipywidgets": None}), "FAIL", "ipywidgets"),
    ("ipywidgets 7", check_kernel_widgets, but(versions={"ipywidgets": "7.7.1"}), "FAIL", "ipywidgets"),
    (
        "no lab widgets",
        check_server_widgets,
        but(versions={"jupyterlab_widgets": None}),
        "FAIL",
        "jupyterlab_widgets",
    ),
    (
        "old lab widgets",
        check_server_widgets,
        but(versions={"jupyterlab_widgets": "1.1.1"}),
        "FAIL",
        "install",
    ),
    (
        "no lab extension",
        check_server_widgets,
        but(labextensions={"anywidget": True}),
        "FAIL",
        "--force-reinstall",
    ),
    ("no anywidget", check_anywidget, but(versions={"anywidget": None}), "FAIL", "anywidget"),
    ("no anywidget extension", check_anywidget, but(labextensions={}), "FAIL", "--force-reinstall"),
    (
        "full disk",
        storage.check_cache_room,
        but(cache=Space(Path("/c"), True, 90 * MIB)),
        "FAIL",
        "MEMLESSONS_CACHE",
    ),
    (
        "filling disk",
        storage.check_cache_room,
        but(cache=Space(Path("/c"), True, GIB)),
        "WARN",
        "MEMLESSONS_CACHE",
    ),
    (
        "read-only",
        storage.check_work_room,
        but(work=Space(Path("/w"), False, GIB)),
        "FAIL",
        "MEMLESSONS_WORK",
    ),
]


@pytest.mark.parametrize(
    ("check", "facts", "status", "mend"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_broken_machine_is_told_what_mends_it(
    check: Callable[[Facts], Check], facts: Facts, status: str, mend: str
) -> None:
    found = check(facts)
    assert (found.status, mend in found.mend) == (status, True), found
    assert exit_code([found]) == (status == "FAIL")


@pytest.mark.parametrize("facts", [row[2] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_every_failure_names_a_command(facts: Facts) -> None:
    assert [check for check in doctor.examine(facts) if check.status == "FAIL" and not check.mend] == []


@pytest.mark.parametrize(
    ("check", "facts", "word"),
    [
        (stack.check_triton, but(system="darwin", machine="arm64", versions={"triton": None}), "macOS"),
        (stack.check_triton, but(system="win32", machine="AMD64", versions={"triton": None}), "Windows"),
        (stack.check_interpreter, but(interpreter=None, versions={"triton": None}), "no triton"),
        (check_gpu, HEALTHY, "none"),
        (check_gpu, but(driver_found=True, driver="H200, 580", torch=GPU_TORCH), "NVIDIA H200"),
        (check_mps, HEALTHY, "not a Mac"),
        (check_mps, but(system="darwin", torch={**CPU_TORCH, "mps_built": True, "mps": True}), "can use it"),
        (check_mps, but(system="darwin", torch={**CPU_TORCH, "mps_built": True}), "Intel Mac"),
    ],
)
def test_what_a_machine_cannot_have_is_explained_and_passes(
    check: Callable[[Facts], Check], facts: Facts, word: str
) -> None:
    found = check(facts)
    assert found.status == "PASS"
    assert word in found.detail


def test_model_that_was_not_fetched_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Path:
        raise MemlessonsError("not here")

    monkeypatch.setattr("memlessons.model.fetch.locate", missing)
    found = storage.check_model(HEALTHY)
    assert (found.status, found.mend) == ("WARN", "/home/a/.venv/bin/python -m memlessons fetch smollm2")


def test_floors_are_those_of_pyproject(tree: Path) -> None:
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = "\n".join(project["dependencies"])
    assert f"torch>={stack.OLDEST_TORCH}" in text
    assert f"triton>={stack.OLDEST_TRITON};" in text
    assert project["requires-python"] == ">=" + ".".join(map(str, stack.OLDEST_PYTHON))
    pins = (tree / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"torch=={stack.TORCH_PIN}" in pins
    assert any(line.startswith(f"triton=={stack.TRITON_PIN};") for line in pins)


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.13.0+cpu", (2, 13, 0)), ("3.7.1.post2", (3, 7, 1)), ("2.0rc1", (2, 0)), ("", ()), ("dev", ())],
)
def test_release_reads_the_numbers_of_a_version(version: str, numbers: tuple[int, ...]) -> None:
    assert release(version) == numbers


def test_space_is_measured_at_the_nearest_folder_that_exists(tmp_path: Path) -> None:
    found = facts_module.space(tmp_path / "not" / "yet")
    assert found.folder == tmp_path / "not" / "yet"
    assert found.writable
    assert found.free_bytes > 0


def test_probe_that_hangs_is_given_up() -> None:
    fine, text = probes.run_python(["-c", "import time; time.sleep(60)"], timeout=0.2)
    assert (fine, "no answer" in text) == (False, True)


def test_probe_that_crashes_gives_its_last_line() -> None:
    assert probes.run_python(["-c", "raise OSError('libcudart is missing')"], 20) == (
        False,
        "OSError: libcudart is missing",
    )


def test_interpreter_self_test_notices_a_broken_triton(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "triton.py").write_text("raise ImportError('libtriton.so: wrong architecture')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "libtriton.so" in probes.interpreter_failure()


@pytest.mark.parametrize("name", ["ipywidgets", "no-such-distribution"])
def test_installed_version_is_none_without_the_package(name: str) -> None:
    found = probes.installed_version(name)
    assert found is None if name == "no-such-distribution" else re.match(r"\d+\.", found or "")


def test_doctor_runs_here_and_its_exit_code_says_what_it_found(tmp_path: Path) -> None:
    """The real thing, once: every probe of this machine."""
    command = [sys.executable, "-m", "memlessons", "doctor", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    checks = json.loads(done.stdout)
    assert [check["name"] for check in checks] == [check.name for check in doctor.examine(HEALTHY)]
    assert done.returncode == any(check["status"] == "FAIL" for check in checks)
    assert {check["name"]: check["status"] for check in checks}["torch"] == "PASS", done.stdout
