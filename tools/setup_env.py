"""Make the virtual environment that every other make target uses.

Run by `make setup` with any Python that is new enough; uses the standard library only. Says what it
downloads and how large that is before it starts, and ends a failed step with what to try next.
Running it again is quick: a stamp in the environment remembers what was installed.
"""

import argparse
import platform
import shutil
import sys
import time
from pathlib import Path

from choose_torch import TORCH_VERSION, Build, choose, driver_found, installed_build
from environment import ensure_environment, python_of, read_stamp, wanted, write_stamp
from steps import SetupFailed, Step, check_space, say

TREE = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = (3, 11), (3, 14)

# Downloads measured with these pins on Linux x86_64; installed sizes with `du`.
REST_MB = 270
TRITON_MB = 200
TORCH_MB = {Build.CPU: 190, Build.CUDA: 2600}
INSTALLED_MB = {Build.CPU: 2700, Build.CUDA: 8000}


def check_system() -> None:
    """Refuse a Python or a machine that this release of torch was not built for."""
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        raise SetupFailed(
            f"torch {TORCH_VERSION} is not published for Intel Macs (and Intel Pythons on Apple silicon).",
            "On Apple silicon, use an arm64 Python: make setup PYTHON=/opt/homebrew/bin/python3",
        )
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        here = ".".join(str(part) for part in sys.version_info[:3])
        raise SetupFailed(
            f"Python {here} at {sys.executable} does not do: the pinned packages are built for 3.11 to 3.14.",
            "Install Python 3.11 or newer and name it, for example: make setup PYTHON=python3.11",
        )


def announce(build: Build, why: str) -> None:
    """Say what will be downloaded and how large it is, before anything is."""
    linux = sys.platform.startswith("linux")
    torch_mb = TORCH_MB[build] if linux else TORCH_MB[Build.CPU]
    parts = {f"torch {TORCH_VERSION}{' with its CUDA libraries' if torch_mb > 1000 else ''}": torch_mb}
    if linux:
        parts["triton"] = TRITON_MB
    parts["everything else: JupyterLab, plotly, numba, ..."] = REST_MB
    say(f"torch: {build.value} build ({why})")
    say("To download, unless pip has it already:")
    for name, megabytes in parts.items():
        say(f"  {name:<48} about {megabytes:>5,} MB")
    total, installed = sum(parts.values()) / 1000, INSTALLED_MB[build] / 1000
    say(f"  together about {total:.1f} GB; on disk about {installed:.1f} GB in .venv")


def install_torch(step: Step, python: Path, build: Build) -> None:
    """Install the pinned torch, the build that was asked for."""
    pin = f"torch=={TORCH_VERSION}"
    pip = [str(python), "-m", "pip", "install", "-c", str(TREE / "constraints.txt")]
    have = installed_build(python)
    if have is build:
        say(f"torch {TORCH_VERSION} ({build.value} build) is there already")
        return
    if have is not None:
        step.run(
            f"removing torch's {have.value} build", [str(python), "-m", "pip", "uninstall", "-y", "torch"]
        )
    linux = sys.platform.startswith("linux")
    needs_uv = (build is Build.CPU) if linux else (build is Build.CUDA)
    if not needs_uv:
        step.run(f"torch {TORCH_VERSION}", [*pip, pin])
        return
    # The public index serves the CUDA build on Linux. A wheel in the reader's own find-links folder comes
    # first; otherwise uv knows where the CPU builds are.
    if linux and step.try_run("a torch wheel on this disk", [*pip, "--no-index", "--no-deps", pin]):
        return
    step.run("uv, which finds the right build of torch", [*pip, "uv"])
    backend = "cpu" if build is Build.CPU else "auto"
    uv = [str(python), "-m", "uv", *pip[2:], "--python", str(python), "--torch-backend", backend, pin]
    if step.try_run(f"torch {TORCH_VERSION}, {build.value} build", uv):
        return
    if linux:
        say("NOTE: no CPU build of torch can be reached from here. pip's own index serves the CUDA build,")
        say("      which works without a GPU but is a download of about 3 GB. Press Ctrl-C to stop.")
        check_space(TREE, INSTALLED_MB[Build.CUDA])
        time.sleep(5)
    step.run(f"torch {TORCH_VERSION}", [*pip, pin])


def install(build: Build, why: str, venv: Path) -> None:
    """Everything between an announced download and a working environment."""
    announce(build, why)
    here = installed_build(python_of(venv)) is build
    check_space(TREE, 1000 if here else INSTALLED_MB[build])
    python = ensure_environment(venv)
    step = Step(log=venv / "setup.log")
    install_torch(step, python, build)
    pip = [str(python), "-m", "pip", "install"]
    step.run("everything else", [*pip, "-c", str(TREE / "constraints.txt"), "-e", f"{TREE}[book,dev]"])
    step.run(
        "a first import", [str(python), "-c", "import torch, memlessons, memlessons.kernels, memlessons.book"]
    )


def main(arguments: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--torch", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--venv", type=Path, default=TREE / ".venv")
    options = parser.parse_args(arguments)
    venv: Path = options.venv.absolute()
    try:
        check_system()
        stamp = read_stamp(venv)
        build, why = choose(options.torch, stamp.get("torch"), sys.platform, driver_found())
        want = wanted(TREE, build)
        # What is there may be another build than asked for, where the asked one could not be reached.
        has = installed_build(python_of(venv))
        if has is not None and stamp == {**want, "has": has.value}:
            return 0
        started = time.monotonic()
        install(build, why, venv)
        has = installed_build(python_of(venv))
        write_stamp(venv, {**want, "has": has.value if has else ""})
    except SetupFailed as failure:
        sys.stdout.flush()
        print(f"\nset-up stopped: {failure.what}\n{failure.mend}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nset-up interrupted; running it again goes on from here.", file=sys.stderr)
        return 130
    except OSError as error:
        print(
            f"\nset-up stopped: {error}\nFree some space or mend the permissions, then run it again.",
            file=sys.stderr,
        )
        return 1
    free = shutil.disk_usage(TREE).free / 1e9
    say(f"Ready after {time.monotonic() - started:.0f} s: {venv} ({free:.0f} GB of disk left).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
