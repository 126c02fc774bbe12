"""What really happens: fair timing, the device's rates, records with provenance, accounts of live memory.

`timed`, `interleaved`, records, accounts and what engines say load no torch; what measures a device does,
when first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memlessons.measure.account import Account, CannotCount, Comparison, Entry, Rounding, audit
from memlessons.measure.files import CorruptFile
from memlessons.measure.record import Record, Value, provenance
from memlessons.measure.timing import BadTiming, Timing, interleaved, timed

if TYPE_CHECKING:
    from memlessons.measure.device import Machine, NoSuchDevice, machine
    from memlessons.measure.observed.log import read_log
    from memlessons.measure.observed.peer import audit_transformers
    from memlessons.measure.observed.reported import NothingSaid, Part, Reported, Said
    from memlessons.measure.observed.server import read_server
    from memlessons.measure.work import Work, adding, multiplying

__all__ = [
    "Account", "BadTiming", "CannotCount", "Comparison", "CorruptFile", "Entry", "Machine", "NoSuchDevice",
    "NothingSaid", "Part", "Record", "Reported", "Rounding", "Said", "Timing", "Value", "Work", "adding",
    "audit", "audit_transformers", "interleaved", "machine", "multiplying", "provenance", "read_log",
    "read_server", "timed",
]  # fmt: skip

# What imports torch, or is needed by few: loaded when first asked for.
_LATER = dict.fromkeys(("Machine", "NoSuchDevice", "machine"), "device")
_LATER |= dict.fromkeys(("Work", "adding", "multiplying"), "work")
_LATER |= dict.fromkeys(("NothingSaid", "Part", "Reported", "Said"), "observed.reported")
_LATER |= {"read_log": "observed.log", "read_server": "observed.server"}
_LATER |= {"audit_transformers": "observed.peer"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
