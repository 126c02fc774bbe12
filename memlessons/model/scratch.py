"""A folder for half-made things, beside the place where the whole thing will lie."""

import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".fetch-"
_ABANDONED_SECONDS = 600.0
_ALIVE_SECONDS = 30.0


@contextlib.contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A new folder inside `folder`, so that a rename out of it is atomic; removed at the end in any case.

    A process that was killed outright leaves its folder behind: the next one removes it, once ten minutes
    have passed without a sign of life.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    scratch, ended = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder)), threading.Event()
    threading.Thread(target=_give_signs_of_life, args=(scratch, ended), daemon=True).start()
    try:
        yield scratch
    finally:
        ended.set()
        shutil.rmtree(scratch, ignore_errors=True)


def _give_signs_of_life(scratch: Path, ended: threading.Event) -> None:
    while not ended.wait(_ALIVE_SECONDS):
        with contextlib.suppress(OSError):
            os.utime(scratch)
