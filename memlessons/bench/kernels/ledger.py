"""The kernel race's file: written after every step, taken up again by a later run, never another device's."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memlessons import kernels
from memlessons.errors import MemlessonsError
from memlessons.measure import Record, Value

_SAME = ("device", "driver", "commit", "versions")
_JUDGES = ("targets.py", "report.py")
_LISTS = ("rows", "left_out", "failed", "refused")


class AnotherDevice(MemlessonsError):
    """The file that would be written holds another device's measurements."""


def file_name(device: str, kind: str) -> str:
    """The name of a device's file: kernels-nvidia-h200.json; otherwise of its kind, kernels-cpu.json."""
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-") if kind == "cuda" else kind
    return f"kernels-{slug or 'unnamed'}.json"


def sources_digest() -> str:
    """SHA-256 of the kernels and of this race, so that a tree without git says as well what was measured.

    Targets and the report on them are left out: they judge values and take part in none.
    """
    whole = hashlib.sha256()
    for folder in (kernels.__path__[0], Path(__file__).parent):
        for file in sorted(Path(folder).glob("*.py")):
            if file.name not in _JUDGES:
                whole.update(file.name.encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


class Ledger:
    """Values by name, and facts: `rows` (what each row measured), `left_out`, `failed`, `refused`, `done`.

    A rehearsal's file says what was walked through and holds no value.
    """

    def __init__(
        self,
        path: Path,
        provenance: Mapping[str, Any],
        device: Mapping[str, Any],
        planned: Sequence[str],
        rehearsal: bool = False,
    ) -> None:
        self.path, self.planned, self.rehearsal = path, tuple(planned), rehearsal
        self.values: dict[str, Value] = {}
        self.provenance = dict(provenance)
        self.facts: dict[str, Any] = {"rehearsal": rehearsal, "sources": sources_digest()}
        self.facts |= {"device": dict(device), "checked": {}, "done": []} | {name: {} for name in _LISTS}
        self._in_the_way = path.exists() and not rehearsal
        if self._in_the_way:
            self._take_up(Record.read(path))
        self.facts["failed"] = {}
        self.facts["left_out"] = dict.fromkeys(self.todo(), "not reached")

    def _take_up(self, old: Record) -> None:
        if old.provenance.get("device") != self.provenance["device"]:
            raise AnotherDevice(
                f"{self.path.name} holds measurements of {old.provenance.get('device')}, this is "
                f"{self.provenance['device']}: choose another folder with --out"
            )
        same = all(old.provenance.get(key) == self.provenance.get(key) for key in _SAME)
        # On a CPU the number of threads is among the device's facts.
        if same and all(old.facts.get(key) == self.facts[key] for key in ("sources", "device", "rehearsal")):
            self.values, self.provenance, self._in_the_way = dict(old.values), dict(old.provenance), False
            self.facts |= old.facts

    @property
    def taken_up(self) -> bool:
        """Whether values of an earlier run were kept."""
        return bool(self.facts["done"])

    def todo(self) -> list[str]:
        """Names of what is planned and not measured yet, in order."""
        return [name for name in self.planned if name not in self.facts["done"]]

    def put(self, job: str, values: Mapping[str, Value], row: Mapping[str, Any]) -> None:
        """A job is done: its values, and what they are of."""
        self.values |= values
        self.facts["rows"][job] = dict(row) | {"date": datetime.now(UTC).isoformat(timespec="seconds")}
        self.facts["done"] = [*self.facts["done"], job]
        self.facts["left_out"].pop(job, None)
        self.save()

    def leave_out(self, job: str, why: str) -> None:
        """A job was not done, and why; a job that is done stays so."""
        if job not in self.facts["done"]:
            self.facts["left_out"][job] = why
        self.save()

    def fail(self, job: str, why: str) -> None:
        """A job raised."""
        self.facts["left_out"].pop(job, None)
        self.facts["failed"][job] = why
        self.save()

    def refuse(self, what: str, why: str) -> None:
        """A figure that cannot be true; it is in no value."""
        self.facts["refused"][what] = why

    def save(self) -> None:
        """Write the file; an older one in its place stays until there is a value to put there."""
        if self._in_the_way and not self.values:
            return
        self._in_the_way = False
        self.record.write(self.path)

    @property
    def record(self) -> Record:
        """What the file says, or will say."""
        facts, values = dict(self.facts), self.values
        if self.rehearsal:
            facts["walked"], values = sorted(values), {}
        return Record("kernels", values, self.provenance, facts)
