"""A log is a file: what has no end, or makes its reader wait, is refused by name."""

import io
import os
from pathlib import Path

import pytest

from memlessons.measure import read_log
from memlessons.measure.observed import lines
from memlessons.measure.observed.lines import BLOCK_BYTES, LogUnreadable


def test_a_pipe_and_a_device_are_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "a pipe"
    os.mkfifo(pipe)
    for source in (pipe, "/dev/zero", Path("/dev/zero")):
        with pytest.raises(LogUnreadable, match="a pipe or a device, not a file; give a log file"):
            read_log(source)


def test_a_stream_without_end_of_line_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_LINE_BYTES", 2 * BLOCK_BYTES)

    class Zeros(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return bytes(size)

        def readline(self, size: int | None = -1) -> bytes:
            return bytes(size or 0)

    with pytest.raises(LogUnreadable, match="without an end of line"):
        read_log(Zeros())  # type: ignore[arg-type]


def test_a_long_log_with_lines_is_no_endless_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_LINE_BYTES", 2 * BLOCK_BYTES)
    text = "INFO [kv_cache_utils.py:716] GPU KV cache size: 178,880 tokens\n"
    filler = (b"x" * 1000 + b"\n") * (5 * BLOCK_BYTES // 1000)
    assert read_log(io.BytesIO(filler + text.encode())).tokens == 178880
