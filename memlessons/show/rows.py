"""The ledger: one row for each design a reader has run, kept in work/scoreboard.json."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from memlessons.places import book_folder, work_folder
from memlessons.plan import MemoryPlan
from memlessons.show.keep import read_json, update_json
from memlessons.show.row import Row, UnusableRow, row_of
from memlessons.show.shell import say


class Ledger:
    """The reader's rows, in one file; a row of the same name is replaced, all others stay as they are."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """Where the rows lie: scoreboard.json in the reader's work folder."""
        return self._path or work_folder() / "scoreboard.json"

    def add(self, name: str, plan: MemoryPlan, record: Any = None, **more: Any) -> Row:
        """Write one row and return it; the arguments are those of `row_of`, `chapter="00"` among them.

        Raises UnusableRow, or NotKept if the file cannot be written; a corrupt file is moved aside first,
        and said.
        """
        row = row_of(name, plan, record, **more)
        self.put(row)
        return row

    def put(self, row: Row) -> None:
        """Write a row that is ready; see `add`."""
        entry = asdict(row)
        try:
            entry = json.loads(json.dumps(entry, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise UnusableRow(f"row {row.name!r}: its provenance is no JSON: {error}") from error

        def change(data: dict[str, Any]) -> None:
            names = [old.get("name") for old in data["rows"]]
            if row.name in names:
                data["rows"][names.index(row.name)] = entry
            else:
                data["rows"].append(entry)

        note = update_json(self.path, change, _ours, {"format": 1, "rows": []})
        if note:
            _report(note)

    def rows(self) -> list[Row]:
        """The rows kept so far, in the order they were first added; what cannot be read is reported."""
        return read_rows(self.path)


def read_rows(path: Path) -> list[Row]:
    """The rows of one scoreboard file; none if there is no file. Unreadable ones are reported, and stay."""
    data, wrong = read_json(path, _ours)
    if data is None:
        if wrong:
            _report(f"{wrong}; it is left as it is, and moved aside when the next row is written")
        return []
    found, skipped = [], 0
    for entry in data["rows"]:
        try:
            found.append(Row(**{f.name: entry[f.name] for f in fields(Row) if f.name in entry}))
        except (TypeError, UnusableRow):
            skipped += 1
    if skipped:
        total = len(data["rows"])
        _report(f"{path.name}: {skipped} of {total} rows are not of this version; they stay in the file")
    return found


def recorded_rows(folder: Path | None = None) -> list[Row]:
    """Rows recorded on named devices that come with the book, by chapter."""
    place = folder or book_folder() / "measurements" / "scoreboard"
    rows = [row for file in sorted(place.glob("*.json")) for row in read_rows(file)]
    return sorted(rows, key=lambda row: row.chapter)


def with_recorded(own: Sequence[Row], recorded: Sequence[Row]) -> list[tuple[Row, bool]]:
    """The reader's rows and, for chapters without one, the recorded ones (True), in chapter order."""
    done = {row.chapter for row in own} | {row.name for row in own}
    stand_in = [row for row in recorded if row.chapter not in done and row.name not in done]
    return sorted([(r, False) for r in own] + [(r, True) for r in stand_in], key=lambda pair: pair[0].chapter)


def _ours(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and isinstance(data.get("rows"), list)
        and all(isinstance(r, dict) for r in data["rows"])
    )


def _report(note: str) -> None:
    say(f"Note: {note}.")
