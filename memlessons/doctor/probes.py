"""Questions to this machine that may hang or crash, each in a subprocess with a time limit.

torch with a broken driver, or Triton's interpreter: the doctor has to survive its patient.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_TORCH = """
import json, platform, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "version": torch.__version__,
    "built_for_cuda": torch.version.cuda,
    "cuda": cuda,
    "gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if cuda else [],
    "mps_built": torch.backends.mps.is_built(),
    "mps": torch.backends.mps.is_available(),
    "threads": torch.get_num_threads(),
}))
"""

_SELF_TEST = """
import torch, triton
import triton.language as tl

@triton.jit
def dot_and_sum(x, y, out, WIDTH: tl.constexpr):
    rows = tl.arange(0, WIDTH)
    at = rows[:, None] * WIDTH + rows[None, :]
    product = tl.dot(tl.load(x + at), tl.load(y + at))
    tl.store(out + rows, tl.sum(product, axis=1))

x, y, out = torch.randn(16, 16), torch.randn(16, 16), torch.empty(16)
dot_and_sum[(1,)](x, y, out, WIDTH=16)
assert torch.allclose(out, (x @ y).sum(1), atol=1e-4), "the interpreter computes wrong values"
"""


def run_python(code_or_file: list[str], timeout: float, **variables: str) -> tuple[bool, str]:
    """Run this Python on `-c CODE` or a file: whether it ended well, and its output or last error."""
    command = [sys.executable, *code_or_file]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **variables},
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {timeout:.0f} s"
    except OSError as error:
        return False, str(error)
    if done.returncode == 0:
        return True, done.stdout.strip()
    lines = done.stderr.strip().splitlines()
    return False, lines[-1] if lines else f"it ended with code {done.returncode}"


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution, None where there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def torch_facts() -> dict[str, Any]:
    """What torch says about its build and its devices, or {"error": why it does not import}."""
    fine, output = run_python(["-c", _TORCH], timeout=25)
    if not fine:
        return {"error": output}
    facts: dict[str, Any] = json.loads(output.splitlines()[-1])
    return facts


def interpreter_failure(timeout: float = 25) -> str:
    """Run a small kernel in Triton's interpreter: why it failed, or "" where its values are torch's.

    From a real file: Triton reads a kernel's source from there, and `python -c` has none.
    """
    with tempfile.TemporaryDirectory(prefix="memlessons-") as folder:
        file = Path(folder) / "self_test.py"
        file.write_text(_SELF_TEST, encoding="utf-8")
        fine, output = run_python([str(file)], timeout, TRITON_INTERPRET="1")
    return "" if fine else output


def driver_text() -> str:
    """The GPUs as NVIDIA's driver names them, a line each; empty where no driver answers."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    command = [program, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
