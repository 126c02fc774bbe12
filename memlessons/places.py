"""Where things lie on the reader's machine, and at which pace a chapter runs."""

import importlib.util
import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import Literal

TREE = Path(__file__).resolve().parent.parent


def cache_folder() -> Path:
    """The folder of everything that can be made again; MEMLESSONS_CACHE overrides it."""
    given = os.environ.get("MEMLESSONS_CACHE")
    if given:
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("memlessons", appauthor=False))


def models_folders() -> list[Path]:
    """Folders searched for model files, in order: MEMLESSONS_MODELS, then our own cache."""
    given = os.environ.get("MEMLESSONS_MODELS")
    own = [cache_folder() / "models"]
    return [Path(part).expanduser() for part in given.split(os.pathsep) if part] + own if given else own


def book_folder() -> Path:
    """The folder that holds the chapters' notebooks, in a source tree or in an installed wheel."""
    beside = TREE / "book"
    return beside if beside.is_dir() else Path(__file__).resolve().parent / "book"


def work_folder() -> Path:
    """The reader's own folder; MEMLESSONS_WORK overrides it, an installed wheel uses ./work."""
    given = os.environ.get("MEMLESSONS_WORK")
    if given:
        return Path(given).expanduser()
    return TREE / "work" if (TREE / "book").is_dir() else Path.cwd() / "work"


def pace() -> Literal["quick", "full"]:
    """How thoroughly a chapter measures: MEMLESSONS_PACE=quick for few repetitions and short texts."""
    return "quick" if os.environ.get("MEMLESSONS_PACE", "").strip().lower() == "quick" else "full"


def has_nvidia_driver() -> bool:
    """Whether an NVIDIA driver answers on this machine, found out without importing torch."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def prepare_lesson(number: str) -> None:
    """See `memlessons.lesson`."""
    if not (number.isdigit() or number.isalpha()):
        raise ValueError(f"lesson({number!r}): name a chapter by its number or letter, such as '01' or 'A'")
    if importlib.util.find_spec("triton") is None or has_nvidia_driver():
        return
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        warnings.warn(
            "triton was imported before memlessons.lesson(); restart the kernel and run the first cell first",
            stacklevel=3,
        )
    os.environ["TRITON_INTERPRET"] = "1"
