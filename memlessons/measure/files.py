"""JSON files that are whole or absent, and read with suspicion."""

import json
import math
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.files import write_whole


class CorruptFile(MemlessonsError, ValueError):
    """A file that should hold a record and does not; the message names the file and what is wrong."""


def write_json(path: Path, value: Any) -> None:
    """Write `value` to `path` so that a reader sees the old file or the new one, never half of it.

    Makes missing folders. Numbers that JSON cannot say (NaN, infinity) raise ValueError and write nothing.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. CorruptFile if it is none; FileNotFoundError if there is no file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise CorruptFile(f"{path.name}: not readable JSON ({error}); remove it and measure again") from None
    if not isinstance(value, dict):
        raise CorruptFile(
            f"{path.name}: holds a {type(value).__name__}, not an object; remove it and measure again"
        )
    return value


def take(source: dict[str, Any], key: str, kinds: type | tuple[type, ...], where: str) -> Any:
    """`source[key]`, which must be of one of `kinds` (a bool is no number); CorruptFile otherwise.

    A float must be finite, and may be written as a whole number.
    """
    if key not in source:
        raise CorruptFile(f"{where}: {key!r} is missing")
    value, wanted = source[key], kinds if isinstance(kinds, tuple) else (kinds,)
    if float in wanted and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        names = " or ".join(kind.__name__ for kind in wanted)
        raise CorruptFile(f"{where}: {key}={value!r} must be {names}")
    if isinstance(value, float) and not math.isfinite(value):
        raise CorruptFile(f"{where}: {key}={value!r} must be finite")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
