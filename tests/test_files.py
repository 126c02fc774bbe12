"""A file is whole or not there."""

import os
from pathlib import Path

import pytest

from memlessons.files import write_whole


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    write_whole(tmp_path / "new" / "a.txt", "naïve\nline\n")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "naïve\nline\n".encode()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "old")

    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(error):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
