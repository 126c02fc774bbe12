"""What a reader has tried, passed and looked up: `work/progress.json`, and `memlessons progress`."""

import argparse
from collections.abc import Callable
from datetime import date
from typing import Any

from memlessons.coursework.catalogue import exercise_names
from memlessons.places import work_folder
from memlessons.show.keep import NotKept, read_json, update_json

Entry = dict[str, Any]

_FILE = "progress.json"


def progress() -> dict[str, Entry]:
    """All that is kept, by exercise: {"03.2": {"tries": 4, "passed": "2026-03-01", "hints": 2}}."""
    data, _ = read_json(work_folder() / _FILE, _ours)
    return {} if data is None else dict(data["exercises"])


def note_try(id: str, passed: bool) -> str:
    """Count one more try; the date of the first pass stays. Returns a note for the reader, or ""."""

    def change(entry: Entry) -> None:
        entry["tries"] = _count(entry, "tries") + 1
        if passed:
            entry.setdefault("passed", date.today().isoformat())

    return _keep(id, change)


def note_hint(id: str, number: int) -> str:
    """Keep how many of the graded hints were seen. Returns a note for the reader, or ""."""

    def change(entry: Entry) -> None:
        entry["hints"] = max(_count(entry, "hints"), number)

    return _keep(id, change)


def note_solution(id: str) -> str:
    """Keep the day on which the solution was first seen. Returns a note for the reader, or ""."""
    return _keep(id, lambda entry: entry.setdefault("solution", date.today().isoformat()))


def _keep(id: str, change: Callable[[Entry], Any]) -> str:
    def whole(data: dict[str, Any]) -> None:
        change(data["exercises"].setdefault(id, {}))

    try:
        return update_json(work_folder() / _FILE, whole, _ours, {"format": 1, "exercises": {}})
    except NotKept as error:
        return f"{error} (the check itself is not touched by that)"


def _count(entry: Entry, name: str) -> int:
    value = entry.get(name, 0)
    return value if isinstance(value, int) else 0


def _ours(data: Any) -> bool:
    kept = data.get("exercises") if isinstance(data, dict) else None
    return isinstance(kept, dict) and all(isinstance(entry, dict) for entry in kept.values())


def overview(kept: dict[str, Entry], names: dict[str, str]) -> list[str]:
    """The lines of `memlessons progress`: a row for each chapter, and the exercise to do next.

    `names` are the exercises that there are, `kept` what is known of them; entries of others are left out.
    """
    if not any(id in kept for id in names):
        first = next(iter(names), None)
        start = f"Begin with `memlessons start {first.partition('.')[0]}`." if first else ""
        return [f"Nothing tried yet, and nothing is graded. {start}".rstrip()]
    states = {id: _state(kept.get(id)) for id in names}
    rows = [("chapter", "done", "tried", "open")]
    for chapter in dict.fromkeys(id.partition(".")[0] for id in names):
        own = [id for id in names if id.partition(".")[0] == chapter]
        cells = (
            " ".join(_marked(id, kept) for id in own if states[id] == s) for s in ("done", "tried", "open")
        )
        rows.append((chapter, *(cell or "-" for cell in cells)))  # type: ignore[arg-type]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    if any("*" in line for line in lines):
        lines.append("* with its solution seen")
    following = next((id for id in names if states[id] != "done"), None)
    if following is None:
        return [*lines, "", "All done."]
    return [*lines, "", f"Next: {following} {names[following]} (chapter {following.partition('.')[0]})"]


def _state(entry: Entry | None) -> str:
    if entry is None:
        return "open"
    return "done" if entry.get("passed") else "tried"


def _marked(id: str, kept: dict[str, Entry]) -> str:
    return f"{id}*" if kept.get(id, {}).get("solution") else id


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`memlessons progress` takes none."""


def run(args: argparse.Namespace) -> int:
    """Run `memlessons progress`."""
    path = work_folder() / _FILE
    data, wrong = read_json(path, _ours)
    if wrong:
        print(f"Note: {wrong}; the next check moves it aside and starts a new one.")
    print("\n".join(overview({} if data is None else data["exercises"], exercise_names())))
    return 0
