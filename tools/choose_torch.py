"""Which build of torch this machine should get, and which one it has."""

import enum
import re
import shutil
from pathlib import Path

TORCH_VERSION = "2.13.0"


class Build(enum.Enum):
    """A build of torch: for any processor, or with NVIDIA's libraries."""

    CPU = "cpu"
    CUDA = "cuda"


def driver_found() -> bool:
    """Whether this machine has an NVIDIA driver."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def choose(asked: str, before: str | None, system: str, driver: bool) -> tuple[Build, str]:
    """The build to install and the reason for it.

    `asked` is TORCH=auto|cpu|cuda, `before` what an earlier run installed, `system` a `sys.platform`.
    "auto" keeps what is there, and otherwise takes the CUDA build only where it can run.
    """
    if system == "darwin":
        return Build.CPU, "macOS has one build, with Apple's GPU in it"
    if asked != "auto":
        return Build(asked), f"TORCH={asked}"
    if before is not None:
        return Build(before), f"as before; TORCH={'cpu' if before == 'cuda' else 'cuda'} changes it"
    if driver:
        return Build.CUDA, "an NVIDIA driver was found; TORCH=cpu for the small one"
    return Build.CPU, "no NVIDIA driver was found; TORCH=cuda for the large one"


def installed_build(python: Path) -> Build | None:
    """The build of the pinned torch in the environment of `python`, None where there is none.

    Read from torch's own version file: importing torch would take seconds.
    """
    root = python.parent.parent
    sites = [*root.glob("lib/python3*/site-packages"), root / "Lib" / "site-packages"]
    for site in sites:
        try:
            text = (site / "torch" / "version.py").read_text(encoding="utf-8")
        except OSError:
            continue
        version = re.search(r"^__version__ = '([^']*)'", text, re.MULTILINE)
        if version and version[1].partition("+")[0] == TORCH_VERSION:
            return Build.CPU if re.search(r"^cuda\b.*= None", text, re.MULTILINE) else Build.CUDA
    return None
