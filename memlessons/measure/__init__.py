"""What really happens: fair timing, the device's rates, records with provenance, accounts of live memory.

`timed`, `interleaved`, records and accounts load no torch; what measures a device does, when first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlessons.measure.account import Account, CannotCount, Comparison, Entry, Rounding, audit
from memlessons.measure.files import CorruptFile
from memlessons.measure.record import Record, Value, provenance
from memlessons.measure.timing import BadTiming, Timing, interleaved, timed

if TYPE_CHECKING:
    from memlessons.measure.device import Machine, NoSuchDevice, machine
    from memlessons.measure.work import Work, adding, multiplying

__all__ = [
    "Account", "BadTiming", "CannotCount", "Comparison", "CorruptFile", "Entry", "Machine", "NoSuchDevice",
    "Record", "Rounding", "Timing", "Value", "Work", "adding", "audit", "interleaved", "machine",
    "multiplying", "provenance", "timed",
]  # fmt: skip

_WITH_TORCH = dict.fromkeys(("Machine", "NoSuchDevice", "machine"), "device")
_WITH_TORCH |= dict.fromkeys(("Work", "adding", "multiplying"), "work")


def __getattr__(name: str) -> Any:
    if name in _WITH_TORCH:
        return getattr(import_module(f"{__name__}.{_WITH_TORCH[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
