"""The virtual environment itself, and the stamp that says what was put into it."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from choose_torch import Build
from steps import SetupFailed, explain, say

_VERSION = sys.version_info[:2]
# Another Python than the one that runs this was named on purpose: PYTHON=python3.12.
_USABLE = f"import sys, pip; sys.exit(sys.version_info[:2] != {_VERSION})"


def python_of(venv: Path) -> Path:
    """The Python inside a virtual environment, on this system."""
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def _usable(python: Path) -> bool:
    try:
        return subprocess.run([str(python), "-c", _USABLE], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def ensure_environment(venv: Path) -> Path:
    """Make the environment where it is missing or broken; returns its Python."""
    python = python_of(venv)
    # The commands in an environment name its folder: it does not survive a move.
    moved = read_stamp(venv).get("tree", str(venv.parent)) != str(venv.parent)
    if not moved and _usable(python):
        return python
    if venv.exists():
        why = (
            "was made in another folder"
            if moved
            else f"has no working Python {_VERSION[0]}.{_VERSION[1]} with pip"
        )
        say(f"{venv} {why}: making it anew")
    else:
        say(f"making {venv} with Python {'.'.join(map(str, sys.version_info[:3]))}")
    # Inside an activated environment, sys.executable is the very Python that --clear would delete.
    base = getattr(sys, "_base_executable", sys.executable)
    made = subprocess.run([base, "-m", "venv", "--clear", str(venv)], capture_output=True, text=True)
    if made.returncode == 0 and _usable(python):
        return python
    text = made.stdout + made.stderr
    if "ensurepip" in text or "No module named venv" in text:
        package = f"python3.{sys.version_info.minor}-venv"
        raise SetupFailed(
            f"Python at {base} cannot make virtual environments: its ensurepip is missing.",
            f"On Debian and Ubuntu: sudo apt install {package}. Then run this again.",
        )
    raise SetupFailed(f"making {venv} failed: {explain(text)[0]}", explain(text)[1])


def wanted(tree: Path, build: Build) -> dict[str, str]:
    """The stamp of an up-to-date environment: what was asked for, by content, not by file times."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((tree / name).read_bytes())
    version = ".".join(str(part) for part in _VERSION)
    return {"pins": digest.hexdigest()[:16], "torch": build.value, "tree": str(tree), "python": version}


def read_stamp(venv: Path) -> dict[str, str]:
    """What an earlier run installed; empty where there was none, it failed, or its Python is gone."""
    try:
        stamp = json.loads((venv / ".ready").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) and python_of(venv).exists() else {}


def write_stamp(venv: Path, stamp: dict[str, str]) -> None:
    """Remember a finished set-up."""
    beside = venv / ".ready.new"
    beside.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    beside.replace(venv / ".ready")
