"""Files that are either whole or not there."""

import os
import tempfile
import time
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write text so that an interruption leaves the old file, or none, but never half of the new one.

    Makes missing folders. The text goes to a temporary name in the same folder first, because only a
    rename within one file system is atomic, and onto the disk before it takes the old one's place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files that only their owner can read; these are for everybody.
        os.chmod(temporary, 0o644)
        _move(Path(temporary), path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _move(temporary: Path, path: Path) -> None:
    for attempt in range(20):
        try:
            os.replace(temporary, path)
            return
        except PermissionError:  # Windows: somebody has the old file open
            if attempt == 19:
                raise
            time.sleep(0.05)
