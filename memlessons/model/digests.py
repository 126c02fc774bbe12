"""SHA-256 of a model file, computed once and remembered until the file changes.

Hashing 98 MB takes a few tenths of a second, too long for every start. A small note in the cache folder
says which file, in which state (size, time of change, inode), has which digest.
"""

import contextlib
import hashlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

from memlessons.places import cache_folder


def file_digest(path: Path) -> str:
    """SHA-256 of the file in hexadecimal, from the note if the file is as it was."""
    note, state = _note_of(path), _state_of(path)
    with contextlib.suppress(OSError, ValueError, KeyError):
        known = json.loads(note.read_text(encoding="utf-8"))
        if isinstance(known, dict) and known.items() >= state.items():
            return str(known["sha256"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # A file that changed while it was read has a digest of neither state.
    if _state_of(path) == state:
        write_json(note, {**state, "sha256": digest})
    return digest


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write a small note atomically; without a writable folder there is simply no note."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}-{uuid.uuid4().hex}")
        try:
            temporary.write_text(json.dumps(values), encoding="utf-8")
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def _note_of(path: Path) -> Path:
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:32]
    return cache_folder() / "digests" / f"{name}.json"


def _state_of(path: Path) -> dict[str, Any]:
    found = path.stat()
    return {
        "path": str(path.resolve()),
        "bytes": found.st_size,
        "mtime_ns": found.st_mtime_ns,
        "inode": found.st_ino,
    }
