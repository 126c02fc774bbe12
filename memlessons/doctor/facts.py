"""What this machine says about itself. The checks are pure functions of these facts."""

import os
import platform
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memlessons import places
from memlessons.doctor.probes import driver_text, installed_version, interpreter_failure, torch_facts

DISTRIBUTIONS = (
    "torch",
    "triton",
    "numpy",
    "numba",
    "ipykernel",
    "ipywidgets",
    "jupyterlab",
    "jupyterlab_widgets",
    "anywidget",
    "plotly",
)
LABEXTENSIONS = {"jupyterlab_widgets": "@jupyter-widgets/jupyterlab-manager", "anywidget": "anywidget"}


@dataclass(frozen=True, slots=True)
class Space:
    """A folder, whether it can be written, and the bytes left on its disk."""

    folder: Path
    writable: bool
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the checks look at; a test makes one by hand."""

    system: str = sys.platform
    machine: str = platform.machine()
    python: tuple[int, ...] = sys.version_info[:3]
    executable: str = sys.executable
    versions: dict[str, str | None] = field(default_factory=dict)
    torch: dict[str, Any] = field(default_factory=dict)  # "error" where it does not import
    interpreter: str | None = None  # why Triton's interpreter failed, "" where it works, None: not tried
    driver: str = ""  # "NVIDIA H200, driver 580.1, 143771 MiB"; a line per GPU
    driver_found: bool = False
    labextensions: dict[str, bool] = field(default_factory=dict)
    kernel_python: str = ""  # the Python that JupyterLab's "python3" kernel starts
    cache: Space | None = None
    work: Space | None = None


def space(folder: Path) -> Space:
    """How much room a folder has, measured at its nearest ancestor that exists."""
    here = folder
    while not here.exists() and here != here.parent:
        here = here.parent
    return Space(folder, os.access(here, os.W_OK), shutil.disk_usage(here).free)


def kernel_python() -> str:
    """The Python of JupyterLab's "python3" kernel; empty where there is none."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
    except ImportError:
        return ""
    try:
        argv = KernelSpecManager().get_kernel_spec("python3").argv
    except NoSuchKernel:
        return ""
    # Jupyter reads these names as "the Python that runs the server", whatever PATH says.
    if argv[0] in ("python", "python3", f"python3.{sys.version_info.minor}"):
        return sys.executable
    return shutil.which(argv[0]) or argv[0]


def gather() -> Facts:
    """Ask this machine; takes a few seconds, most of them torch's import."""
    extensions = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    versions = {name: installed_version(name) for name in DISTRIBUTIONS}
    # Side by side, so that three answers that never come cost one time limit.
    with ThreadPoolExecutor() as pool:
        torch = pool.submit(torch_facts) if versions["torch"] else None
        interpreter = pool.submit(interpreter_failure) if versions["torch"] and versions["triton"] else None
        driver = pool.submit(driver_text)
        return Facts(
            versions=versions,
            torch=torch.result() if torch else {},
            interpreter=interpreter.result() if interpreter else None,
            driver=driver.result(),
            driver_found=places.has_nvidia_driver(),
            labextensions={name: (extensions / path).is_dir() for name, path in LABEXTENSIONS.items()},
            kernel_python=kernel_python(),
            cache=space(places.cache_folder()),
            work=space(places.work_folder()),
        )
