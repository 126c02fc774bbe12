"""GPUs: what the machine has, and whether this torch can use it."""

from memlessons.doctor.check import Check, pip_install, setup_again
from memlessons.doctor.facts import Facts

_CUDA_BUILD = pip_install("torch==2.13.0").replace(" install ", " install --force-reinstall ", 1)
_CPU_BUILD = "uv pip install --torch-backend cpu --reinstall torch==2.13.0"


def check_gpu(facts: Facts) -> Check:
    """An NVIDIA GPU is used where there is one; none is needed."""
    name = "NVIDIA GPU"
    if not facts.driver_found:
        return Check(name, "PASS", "none: lessons measure the CPU, kernels run in the interpreter")
    driver = "; ".join(facts.driver.splitlines()) or "a driver is installed, but nvidia-smi does not answer"
    if "error" in facts.torch or not facts.torch:
        return Check(name, "WARN", f"{driver}; torch must work first")
    if facts.torch["cuda"]:
        return Check(name, "PASS", f"{driver}; torch uses {', '.join(facts.torch['gpus'])}")
    if facts.torch["built_for_cuda"] is None:
        return Check(
            name, "WARN", f"{driver}; but this torch is a CPU build", setup_again("TORCH=cuda", _CUDA_BUILD)
        )
    text = f"{driver}; torch, built for CUDA {facts.torch['built_for_cuda']}, cannot use it: driver too old?"
    if not facts.driver:
        return Check(name, "FAIL", text, "nvidia-smi")
    return Check(name, "FAIL", text, setup_again("TORCH=cpu", _CPU_BUILD))


def check_mps(facts: Facts) -> Check:
    """Apple's GPU, where this is a Mac."""
    name = "Apple GPU (MPS)"
    if facts.system != "darwin":
        return Check(name, "PASS", "not a Mac")
    if "error" in facts.torch or not facts.torch:
        return Check(name, "WARN", "torch must work first")
    if facts.torch["mps"]:
        return Check(name, "PASS", "torch can use it")
    if facts.torch["mps_built"]:
        return Check(
            name, "PASS", "none that torch can use (an Intel Mac, or an old macOS): the CPU is measured"
        )
    return Check(name, "WARN", "this torch was built without MPS", pip_install("torch"))
