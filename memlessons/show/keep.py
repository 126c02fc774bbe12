"""Small JSON files of the reader's own: changed whole or not at all, and never thrown away.

A change writes a temporary file beside the target and moves it over with `os.replace`, so a reader, or a
process killed half-way, sees the old file or the new one. What cannot be read is moved aside, not lost.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.files import write_whole

Data = dict[str, Any]

_WAIT_SECONDS = 15.0
# A change takes milliseconds: a lock this old belongs to a process that is gone.
_STALE_SECONDS = 10.0


class NotKept(MemlessonsError, OSError):
    """A file of the reader's could not be written; what was there before is untouched."""


def read_json(path: Path, valid: Callable[[Any], bool]) -> tuple[Data | None, str]:
    """The file's content and "", or None and what is wrong with it; None and "" if there is no file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None, ""
    except (OSError, UnicodeDecodeError) as error:
        return None, f"{path.name} cannot be read ({type(error).__name__})"
    except (ValueError, RecursionError):
        return None, f"{path.name} is not JSON"
    return (data, "") if valid(data) else (None, f"{path.name} is JSON, but not a file of ours")


def update_json(path: Path, change: Callable[[Data], None], valid: Callable[[Any], bool], fresh: Data) -> str:
    """Read, change in place, write back; one process at a time. Returns a note for the reader, or "".

    A file that is corrupt or not ours is moved to NAME.broken-1 (or the next free number) and the change
    starts from `fresh`. Raises NotKept if the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            data, wrong = read_json(path, valid)
            note = ""
            if data is None:
                data = json.loads(json.dumps(fresh))
                if wrong:
                    note = f"{wrong}: moved aside to {_move_aside(path).name}, nothing of it is lost"
            change(data)
            write_whole(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
            return note
    except OSError as error:
        if isinstance(error, NotKept):
            raise
        reason = error.strerror or type(error).__name__
        raise NotKept(
            f"{path.name} was not written: {reason}. Free some space or allow writing there"
        ) from error


def _move_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    os.rename(path, aside)
    return aside


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold NAME.lock, made with O_EXCL, which every system has."""
    lock = path.with_name(f".{path.name}.lock")
    patience = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except (FileExistsError, PermissionError) as error:  # Windows: the lock is being deleted
            try:
                age = time.time() - lock.stat().st_mtime
            except FileNotFoundError:
                age = 0.0
                if isinstance(error, PermissionError) and not os.access(path.parent, os.W_OK):
                    raise
            if age > _STALE_SECONDS:
                lock.unlink(missing_ok=True)
            elif time.monotonic() > patience:
                raise NotKept(f"{path.name} was not written: another process holds {lock.name}") from None
            time.sleep(0.01)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
