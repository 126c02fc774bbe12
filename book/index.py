"""The contents page of `_build/`: which chapters were built here, when, and how it went."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memlessons.units import seconds_text

from .sources import Chapter

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>memlessons</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; }}
li {{ margin: 0.5rem 0; list-style: none; }}
ol {{ padding: 0; }}
.number {{ display: inline-block; width: 2.5rem; opacity: 0.7; font-variant-numeric: tabular-nums; }}
.run {{ margin-left: 2.5rem; font-size: 0.85rem; opacity: 0.75; }}
.failed {{ font-weight: bold; opacity: 1; }}
</style>
</head>
<body>
<h1>memlessons</h1>
<p>How language models remember, and what it costs: the chapters, executed on this machine.</p>
<ol>
{items}
</ol>
<p>To work through a chapter yourself: <code>memlessons start {first}</code>, then <code>make lab</code>.</p>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one build of a chapter left: its title, seconds, date, and the cell that failed, if any."""

    name: str
    title: str
    seconds: float
    date: str
    failed_cell: str | None


def record_path(folder: Path, name: str) -> Path:
    """Where the entry of a built chapter is kept, beside its page."""
    return folder / f"{name}.json"


def entries(folder: Path, chapters: Sequence[Chapter]) -> tuple[Entry, ...]:
    """The chapters that were built into a folder, this time or before, in reading order."""
    found = []
    for chapter in chapters:
        path = record_path(folder, chapter.name)
        if path.is_file() and (folder / f"{chapter.name}.html").is_file():
            found.append(Entry(**json.loads(path.read_text(encoding="utf-8"))))
    return tuple(found)


def index_page(built: Sequence[Entry]) -> str:
    """The HTML of the contents page."""
    first = built[0].name.split("_")[0] if built else "00"
    return _PAGE.format(items="\n".join(_item(entry) for entry in built), first=first)


def _item(entry: Entry) -> str:
    number = entry.name.split("_")[0]
    run = f"{entry.date}, {seconds_text(entry.seconds)}"
    state = f'<span class="failed">stopped in cell {entry.failed_cell}</span>, ' if entry.failed_cell else ""
    return (
        f'<li><span class="number">{number}</span><a href="{entry.name}.html">{html.escape(entry.title)}</a>'
        f'<div class="run">{state}{run} · <a href="{entry.name}.ipynb">notebook</a></div></li>'
    )
