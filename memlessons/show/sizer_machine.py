"""This machine as a card of the sizer, if it can be found at once: nothing long is measured for a menu."""

import re
import sys
from dataclasses import dataclass
from functools import cache

from memlessons.cost import Accelerator, MissingFigure, accelerators
from memlessons.places import cache_folder, has_nvidia_driver

THIS_MACHINE = "this machine"

# What a driver's name has beside the name on the box.
_NOISE = {
    "nvidia", "geforce", "tesla", "amd", "instinct", "radeon", "gpu", "generation", "hbm2", "hbm2e", "hbm3",
    "hbm3e", "workstation", "edition",
}  # fmt: skip
_FORMS = {"sxm", "pcie", "nvl"}
_SAME_MEMORY = 0.12
"""A driver says binary units less what it keeps, a box decimal ones: up to 10 % apart for the same card."""


@dataclass(frozen=True, slots=True)
class Found:
    """A device of this machine: its figures, and the bytes a program sees of it where they are known."""

    accelerator: Accelerator
    visible_bytes: int | None = None


@cache
def this_machine() -> Found | None:
    """The best device here, or None: a GPU by its name, what was measured before, else nothing.

    A GPU that the table does not know is read once for a twentieth of a second. torch is loaded only where
    there is an NVIDIA driver or a kept measurement.
    """
    try:
        found = _gpu() if has_nvidia_driver() or "torch" in sys.modules else None
        return found or _kept("mps") or _kept("cpu")
    except (ImportError, RuntimeError, OSError, AssertionError):
        return None  # a driver without its GPU, a build without CUDA: then it is no card


def matched(name: str, memory_bytes: int) -> Accelerator | None:
    """The accelerator of the table that a driver calls `name`; None where none has the name and the memory.

    Where the name leaves the form open ("H200", "H100 80GB HBM3"), the one with the faster links.
    """
    words, form = _words(name)
    fits = [
        card
        for card in accelerators()
        if _words(card.name)[0] == words and abs(card.memory_bytes / memory_bytes - 1) <= _SAME_MEMORY
    ]
    same = [card for card in fits if form is None or _words(card.name)[1] in (None, form)]
    same.sort(key=lambda card: _words(card.name)[1] != (form or "sxm"))
    return same[0] if same else None


def _words(name: str) -> tuple[frozenset[str], str | None]:
    """A name's words without maker and memory, and its form of board."""
    plain = re.sub(r"\(.*?\)", "", name.lower())
    words = {re.sub(r"^sxm\d$", "sxm", word) for word in re.findall(r"[a-z0-9+]+", plain)} - _NOISE
    words = {word for word in words if not re.fullmatch(r"\d+gb", word)}
    return frozenset(words - _FORMS), next(iter(sorted(words & _FORMS)), None)


def _gpu() -> Found | None:
    import torch

    if not torch.cuda.is_available():
        return None
    from memlessons.measure import probe

    name, memory = probe.device_name("cuda"), probe.memory_bytes("cuda")
    if memory is None:
        return None
    known = matched(name, memory)
    if known is not None:
        return Found(known, memory)
    return _kept("cuda") or Found(_read_once(name, memory))


def _read_once(name: str, memory: int) -> Accelerator:
    import torch

    from memlessons.measure import probe

    rate = probe.read_rate(torch.ones(2**26, device="cuda"), 0.05)
    return Accelerator(
        name=name,
        kind="cuda",
        memory_bytes=memory,
        visible_bytes=memory,
        bandwidth=rate,
        matmul_flops=None,
        fp8_flops=None,
        l2_bytes=None,
        host_link=None,
        source="read once on this machine; machine(fresh=True) measures more",
        confidence="measured here",
    )


def _kept(device: str) -> Found | None:
    """What was measured of this device before and still holds."""
    path = cache_folder() / f"machine-{device}.json"
    if not path.is_file():
        return None
    import torch

    from memlessons.measure import device as measured

    found = measured._kept(path, torch.device(device))
    try:
        return None if found is None else Found(found.accelerator())
    except MissingFigure:
        return None
