"""A repository of the hub: its model files or nothing, from a hub of our own on this machine."""

import http.server
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memlessons.model import fetch, hub
from memlessons.model.fetch import DownloadInterrupted, ModelNotFetched, NoNetwork, NoSpace, UnsupportedModel
from tests.model.conftest import leftovers

REVISION = "a" * 40


class Hub(http.server.ThreadingHTTPServer):
    """A hub with one repository, owner/toy; `sent` overrides what a file's request is answered with."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {
            "config.json": b"{}", "tokenizer.json": b'{"version": "1.0"}', "model.safetensors": bytes(10_000),
            "README.md": b"# toy", "pytorch_model.bin": bytes(10), "onnx/model.safetensors": bytes(5),
        }  # fmt: skip
        self.sent: dict[str, bytes] = {}


class Handler(http.server.BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def answer(self, *, with_body: bool) -> None:
        files, path = self.server.files, self.path.split("?")[0]
        prefix = f"/owner/toy/resolve/{REVISION}/"
        if path == "/api/models/owner/toy":
            siblings = [{"rfilename": name, "size": len(content)} for name, content in files.items()]
            body = json.dumps({"id": "owner/toy", "sha": REVISION, "siblings": siblings}).encode()
            headers = {"Content-Type": "application/json"}
        elif path.startswith(prefix):
            name = path.removeprefix(prefix)
            body = self.server.sent.get(name, files[name])
            headers = {"ETag": '"' + "b" * 40 + '"', "X-Repo-Commit": REVISION}
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, empty_cache: Path) -> Iterator[Hub]:
    for name in [name for name in os.environ if "PROXY" in name.upper()]:
        monkeypatch.delenv(name)
    made = Hub()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{made.server_address[1]}")
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_the_model_files_of_a_repository_and_no_others_are_fetched(server: Hub, empty_cache: Path) -> None:
    path = fetch.fetch("hf:owner/toy", progress=False)
    assert path == fetch.locate("hf:owner/toy") == empty_cache / "models" / "hf--owner--toy"
    assert leftovers(path) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (path / "model.safetensors").read_bytes() == bytes(10_000)
    assert [p.name for p in (empty_cache / "models").iterdir()] == ["hf--owner--toy"]


@pytest.mark.parametrize("name", ["owner/nosuch", "not a name//"])
def test_a_repository_that_is_not_there_is_named(name: str, server: Hub, empty_cache: Path) -> None:
    with pytest.raises(ModelNotFetched, match=name.split("/")[0]) as caught:
        fetch.fetch(f"hf:{name}", progress=False)
    assert not isinstance(caught.value, NoNetwork)
    assert leftovers(empty_cache) == []


def test_a_repository_without_safetensors_is_named(server: Hub, empty_cache: Path) -> None:
    del server.files["model.safetensors"]
    with pytest.raises(ModelNotFetched, match="safetensors"):
        fetch.fetch("hf:owner/toy", progress=False)


def test_a_hub_out_of_reach_is_named_and_says_what_to_do(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(NoNetwork, match="MEMLESSONS_MODELS") as caught:
            fetch.fetch("hf:owner/toy", progress=False)
    assert "hf--owner--toy" in str(caught.value)
    assert leftovers(empty_cache) == []


def test_a_file_that_arrives_short_leaves_nothing(server: Hub, empty_cache: Path) -> None:
    server.sent["model.safetensors"] = bytes(9_000)
    with pytest.raises(DownloadInterrupted, match="model.safetensors"):
        fetch.fetch("hf:owner/toy", progress=False)
    assert [p.name for p in (empty_cache / "models").iterdir()] == []


def test_too_little_space_is_named_before_the_download(server: Hub, tmp_path: Path) -> None:
    with pytest.raises(NoSpace, match="KiB"):
        hub.download_repository("owner/toy", tmp_path / "new", 1000, bars=False)
    assert leftovers(tmp_path) == []


def test_loading_a_repository_says_that_it_is_not_for_us(server: Hub) -> None:
    from memlessons.model.load import load

    with pytest.raises(UnsupportedModel, match="GGUF"):
        load("hf:owner/toy")
