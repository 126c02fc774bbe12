"""A log as lines of bounded length, whatever it is: gigabytes, one endless line, binary junk, UTF-16."""

import io
import re
import stat
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import IO, Any

from memlessons.errors import MemlessonsError

BLOCK_BYTES = 256 * 1024
LINE_BYTES = 64 * 1024
MOST_LINE_BYTES = 2 * 2**30
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

Source = str | PathLike[str] | IO[bytes]


class LogUnreadable(MemlessonsError, OSError):
    """A log that cannot be opened or read."""


def open_log(source: Source) -> tuple[IO[bytes], str]:
    """A stream of bytes and a name for messages: of a file, of a text, or of a stream of bytes as it is.

    A string is a text if it has more than one line or a blank, else the name of a file. LogUnreadable if
    there is no such file, or it is a folder, a pipe or a device.
    """
    if isinstance(source, str) and (len(source) > 4096 or any(c in source for c in "\n\r ")):
        try:
            is_file = len(source) <= 4096 and Path(source).is_file()
        except (OSError, ValueError):
            is_file = False
        if not is_file:
            return io.BytesIO(source.encode("utf-8", "replace")), "the text"
    if isinstance(source, str | PathLike):
        path = Path(source)
        try:
            # A pipe or a device may have no end, and opening one may wait for ever.
            if not stat.S_ISREG(path.stat().st_mode):
                raise OSError("a folder, a pipe or a device, not a file")
            return path.open("rb"), path.name
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise LogUnreadable(f"{path.name or source!r}: {reason}; give a log file, or its text") from None
    return source, "the stream"


def telling_lines(stream: IO[bytes], words: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    """(line number, line) of every line that holds one of `words`, without colours and line ends.

    Memory stays below a few blocks: a line longer than LINE_BYTES comes in pieces of the same number.
    LogUnreadable for a line of more than MOST_LINE_BYTES, as a device of zeros has.
    """
    first = 1
    endless = 0
    while block := _block(stream):
        endless = 0 if b"\n" in block else endless + len(block)
        if endless > MOST_LINE_BYTES:
            raise LogUnreadable(f"more than {MOST_LINE_BYTES:,} bytes without an end of line: this is no log")
        # UTF-16, as some shells redirect, is plain text with a zero beside every letter.
        plain = block.translate(None, b"\0")
        if any(word in plain for word in words):
            yield from _lines_of(plain, first, words)
        first += plain.count(b"\n")


def _block(stream: IO[bytes]) -> bytes:
    block: Any = stream.read(BLOCK_BYTES)
    if not isinstance(block, bytes):
        raise LogUnreadable("the stream gives text: open it for bytes, mode 'rb'")
    # A block ends where a line does, unless the line has no end.
    return block + stream.readline(LINE_BYTES) if block and not block.endswith(b"\n") else block


def _lines_of(block: bytes, first: int, words: Sequence[bytes]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(block.split(b"\n"), first):
        if not any(word in line for word in words):
            continue
        # Progress bars overwrite themselves: what follows a carriage return is a line of its own.
        for shown in line.split(b"\r"):
            for start in range(0, len(shown), LINE_BYTES):
                text = shown[start : start + LINE_BYTES].decode("utf-8", "replace")
                yield number, _COLOURS.sub("", text).strip()
