"""Python and the numerical packages: are they there, and do they fit each other?"""

import sys

from memlessons.doctor.check import Check, pip_install, release, setup_again
from memlessons.doctor.facts import Facts

# As in pyproject.toml; a test compares.
OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
OLDEST_TORCH, OLDEST_TRITON = "2.11", "3.6"
TORCH_PIN, TRITON_PIN = "2.13.0", "3.7.1"
# Interpreters of older Tritons call a NumPy function that NumPy 2.4 removed.
INTERPRETER_TRITON, NUMPY_LIMIT = (3, 7), (2, 4)


def check_python(facts: Facts) -> Check:
    """Python 3.11 to 3.14: for others there is no build of the pinned packages."""
    text = f"{'.'.join(map(str, facts.python))} at {facts.executable}"
    if facts.python[:2] < OLDEST_PYTHON:
        mend = setup_again("PYTHON=python3.11", "python3.11 -m venv .venv")
        return Check("Python", "FAIL", f"{text}: 3.11 or newer is needed", mend)
    if facts.python[:2] > NEWEST_PYTHON:
        mend = setup_again("PYTHON=python3.13", "python3.13 -m venv .venv")
        return Check("Python", "WARN", f"{text}: newer than 3.14, not tried", mend)
    return Check("Python", "PASS", text)


def check_torch(facts: Facts) -> Check:
    """A torch that imports and is not too old."""
    version = facts.versions.get("torch")
    mend = pip_install(f"torch=={TORCH_PIN}")
    if version is None:
        return Check("torch", "FAIL", "not installed", mend)
    if "error" in facts.torch:
        again = mend.replace(" install ", " install --force-reinstall --no-deps ", 1)
        return Check("torch", "FAIL", f"{version} does not import: {facts.torch['error']}", again)
    if release(version) < release(OLDEST_TORCH):
        return Check("torch", "FAIL", f"{version}: {OLDEST_TORCH} or newer is needed", mend)
    cuda = facts.torch.get("built_for_cuda")
    build = f"built for CUDA {cuda}" if cuda else "CPU build" if facts.system != "darwin" else "macOS build"
    return Check("torch", "PASS", f"{version}, {build}, {facts.torch.get('threads', '?')} threads")


def triton_expected(facts: Facts) -> bool:
    """Whether Triton is published for this system."""
    return facts.system.startswith("linux") and facts.machine in ("x86_64", "aarch64", "AMD64", "arm64")


def check_triton(facts: Facts) -> Check:
    """A Triton that is not too old, or why there is none here."""
    version = facts.versions.get("triton")
    if version is None and not triton_expected(facts):
        where = {"darwin": "macOS", "win32": "Windows"}.get(facts.system, f"{facts.system} {facts.machine}")
        return Check("triton", "PASS", f"none here: not published for {where}; lessons show recorded kernels")
    mend = pip_install(f"triton=={TRITON_PIN}")
    if version is None:
        return Check("triton", "WARN", "not installed: lessons show recorded kernels instead of yours", mend)
    if release(version) < release(OLDEST_TRITON):
        return Check("triton", "FAIL", f"{version}: {OLDEST_TRITON} or newer is needed", mend)
    return Check("triton", "PASS", version)


def check_pairing(facts: Facts) -> Check:
    """Triton's interpreter before 3.7 breaks with NumPy 2.4 and newer; on a GPU it is not used."""
    name = "NumPy with triton"
    numpy, triton = facts.versions.get("numpy"), facts.versions.get("triton")
    if numpy is None:
        return Check(name, "FAIL", "NumPy is not installed", pip_install("numpy"))
    if triton is None:
        return Check(name, "PASS", f"NumPy {numpy}, no triton to fit")
    if release(triton) < INTERPRETER_TRITON and release(numpy) >= NUMPY_LIMIT:
        text = f"the interpreter of triton {triton} needs NumPy older than 2.4, not {numpy}"
        mend = f'{sys.executable} -m pip install "numpy<2.4"'
        return Check(name, "WARN" if facts.torch.get("cuda") else "FAIL", text, mend)
    return Check(name, "PASS", f"NumPy {numpy} with triton {triton}")


def check_interpreter(facts: Facts) -> Check:
    """A small kernel gives torch's values in Triton's interpreter."""
    name = "Triton interpreter"
    if facts.interpreter is None:
        missing = "triton" if facts.versions.get("triton") is None else "torch"
        return Check(name, "PASS", f"not tried: no {missing} here")
    if facts.interpreter:
        return Check(name, "FAIL", facts.interpreter, pip_install(f"triton=={TRITON_PIN}"))
    return Check(name, "PASS", "a kernel with a dot product gives torch's values")
