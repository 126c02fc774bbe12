"""Expanded weights are made once, kept whole or not at all, and never believed when damaged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from memlessons.model import gguf_file, weights_cache
from memlessons.model.gguf_file import read_gguf
from tests.model.conftest import leftovers

EXPAND = gguf_file._expand


@pytest.fixture
def expansions(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A list that grows by one whenever a file is dequantised."""
    made: list[Path] = []

    def counted(path, header, config):
        made.append(path)
        return EXPAND(path, header, config)

    monkeypatch.setattr(gguf_file, "_expand", counted)
    return made


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def kept(cache: Path) -> Path:
    (path,) = (cache / "weights").glob("*.safetensors")
    return path


def test_a_second_reading_maps_what_the_first_made(
    tiny: Path, empty_cache: Path, expansions: list[Path]
) -> None:
    first = read_gguf(tiny).weights
    again = read_gguf(tiny).weights
    assert len(expansions) == 1
    assert same(first, again) and same(again, read_gguf(tiny, cached=False).weights)
    assert [p.suffix for p in sorted((empty_cache / "weights").iterdir())] == [".json", ".safetensors"]


def test_writing_into_mapped_weights_does_not_change_the_file(tiny: Path, expansions: list[Path]) -> None:
    read_gguf(tiny).weights["embed"].zero_()
    assert read_gguf(tiny).weights["embed"].abs().sum() > 0
    assert len(expansions) == 1


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "flipped", "other", "gone", "note"])
def test_a_damaged_cache_is_made_again(
    damage: str, tiny: Path, empty_cache: Path, expansions: list[Path]
) -> None:
    want = read_gguf(tiny, cached=False).weights
    read_gguf(tiny)
    path = kept(empty_cache)
    whole = path.read_bytes()
    os.utime(path, ns=(1, 1))
    if damage == "cut":
        path.write_bytes(whole[:-1000])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_bytes(b"hello" * 100)
    elif damage == "flipped":
        path.write_bytes(whole[:-5] + bytes([whole[-5] ^ 64]) + whole[-4:])
    elif damage == "other":
        from safetensors.torch import save_file

        save_file({"embed": torch.zeros(3)}, path)
        weights_cache.write_json(path.with_suffix(".json"), weights_cache._state_of(path))
    elif damage == "gone":
        path.unlink()
    else:
        path.with_suffix(".json").write_text("{not json")
    expansions.clear()
    assert same(read_gguf(tiny).weights, want)
    assert len(expansions) == 1
    assert same(read_gguf(tiny).weights, want)
    assert len(expansions) == 1


def test_without_space_the_weights_come_with_a_warning_and_nothing_is_left(
    tiny: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = weights_cache.shutil._ntuple_diskusage(10**9, 10**9, 1000)
    monkeypatch.setattr(weights_cache.shutil, "disk_usage", lambda path: usage)
    with pytest.warns(UserWarning, match="MEMLESSONS_CACHE"):
        weights = read_gguf(tiny).weights
    assert same(weights, read_gguf(tiny, cached=False).weights)
    assert leftovers(empty_cache / "weights") == []


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes to set")
def test_a_disk_that_fills_up_while_writing_leaves_nothing(tiny: Path, empty_cache: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(tiny)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    assert "could not be kept" in run.stderr
    assert leftovers(empty_cache / "weights") == []


_LIMITED = """
import resource, sys
from pathlib import Path
from memlessons.model.gguf_file import read_gguf
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
assert read_gguf(Path(sys.argv[1])).weights["embed"].abs().sum() > 0
"""


def test_a_folder_that_cannot_be_written_gives_a_warning_only(tiny: Path, empty_cache: Path) -> None:
    empty_cache.mkdir(parents=True)
    (empty_cache / "weights").write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="could not be kept"):
        assert read_gguf(tiny).weights
    assert leftovers(empty_cache) == ["digests/" + p.name for p in (empty_cache / "digests").iterdir()] + [
        "weights"
    ]


def test_an_interrupt_while_keeping_leaves_nothing(
    tiny: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        read_gguf(tiny)
    assert leftovers(empty_cache) == []


def test_a_file_that_changes_is_expanded_anew(tiny: Path, tmp_path: Path, expansions: list[Path]) -> None:
    from tests.model.tiny_gguf import Tiny

    first = read_gguf(tiny).weights
    other = Tiny(seed=1).write(tmp_path / "other.gguf")
    os.replace(other, tiny)
    assert not same(read_gguf(tiny).weights, first)
    assert len(expansions) == 2
