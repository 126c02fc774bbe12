"""How published files spell what a class of today writes otherwise: the peer's own class translates each.

A file on a hub is older than the class that reads it. legacy.jsonl has fields as such files have them, with
small sizes, a type and its fields a line; the class turns them into those of today, and both must give the
same plan.
"""

import json
from pathlib import Path
from typing import Any


def rows(name: str) -> list[tuple[str, dict[str, Any]]]:
    """The types of a file beside this one, each with its fields."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return [(model_type, fields) for model_type, fields in map(json.loads, lines)]


LEGACY = rows("legacy.jsonl")
