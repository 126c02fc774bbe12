"""Asking a server: what it says is read, and whatever else answers at that address is named."""

import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memlessons.measure import read_server
from memlessons.measure.observed.metrics import NotAMetricsPage
from memlessons.measure.observed.server import PAGE_BYTES, BadAddress, ServerUnreachable

PAGE = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="573"} 1.0\nvllm:kv_cache_usage_perc 0.25\n'

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """The address of a server of this test's own that answers every request with `answer`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # The other side may have heard enough.
            with suppress(OSError):
                answer(self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def page(text: str, code: int = 200, length: int | None = None) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        request.send_response(code)
        request.send_header("Content-Type", "text/plain; version=0.0.4")
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.end_headers()
        request.wfile.write(body)

    return answer


def test_a_servers_page_is_fetched_and_read() -> None:
    asked = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        page(PAGE)(request)

    with served(answer) as url:
        reported = read_server(url)
        assert read_server(f"{url}/") == read_server(url.removeprefix("http://")) == reported
        read_server(f"{url}/behind/a/proxy?x=1")
    assert (reported.engine, reported.blocks, reported.block_tokens, reported.usage) == (
        "vllm",
        573,
        16,
        0.25,
    )
    assert asked == ["/metrics"] * 3 + ["/behind/a/proxy?x=1"]


@pytest.mark.parametrize("code", [404, 501])
def test_a_server_without_metrics_is_named(code: int) -> None:
    with served(page("File not found", code)) as url, pytest.raises(NotAMetricsPage, match="--metrics"):
        read_server(url)


@pytest.mark.parametrize("code", [401, 500, 503])
def test_a_server_that_refuses_is_named(code: int) -> None:
    with served(page("", code)) as url, pytest.raises(ServerUnreachable, match=str(code)):
        read_server(url)


def test_a_page_for_people_is_named() -> None:
    with (
        served(page("\n<!DOCTYPE html>\n<html></html>\n")) as url,
        pytest.raises(NotAMetricsPage, match="HTML"),
    ):
        read_server(url)


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "node_cpu_seconds_total 4\n", "\x00\xff\n", '{"a": 1}\n']
)
def test_other_pages_are_no_metrics_of_an_engine(text: str) -> None:
    with served(page(text)) as url, pytest.raises(NotAMetricsPage, match="no figures"):
        read_server(url)


def test_half_a_page_is_never_taken_for_a_whole_one() -> None:
    cut_off = [
        page(PAGE, length=len(PAGE) + 10),  # the connection ends before the length that was promised
        page(PAGE[:-20]),  # in the middle of a line
    ]

    def half_a_chunk(request: BaseHTTPRequestHandler) -> None:
        request.protocol_version = "HTTP/1.1"
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.wfile.write(b"%x\r\n%s" % (len(PAGE) + 10, PAGE.encode()))

    for answer in [*cut_off, half_a_chunk]:
        with served(answer) as url, pytest.raises(NotAMetricsPage, match="cut off"):
            read_server(url)


def test_an_endless_page_is_not_read_to_its_end() -> None:
    sent = 0

    def answer(request: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        request.send_response(200)
        request.end_headers()
        while sent < 64 * PAGE_BYTES:
            request.wfile.write(b"vllm:kv_cache_usage_perc 0.5\n" * 10_000)
            sent += 290_000

    with served(answer) as url, pytest.raises(NotAMetricsPage, match="8,388,608 bytes"):
        read_server(url, timeout=30)
    assert sent < 8 * PAGE_BYTES


def test_a_page_that_drips_is_left_at_the_deadline() -> None:
    done = threading.Event()

    def body(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        while not done.wait(0.02):
            request.wfile.write(b"#\n")

    def headers(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 200 OK\r\n")
        while not done.wait(0.02):
            request.wfile.write(b"X")

    try:
        for answer in (body, headers):
            with served(answer) as url, pytest.raises(ServerUnreachable, match=r"within 0\.3 s"):
                read_server(url, timeout=0.3)
    finally:
        done.set()


def test_a_silent_server_and_a_dead_one_are_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(ServerUnreachable):
            read_server(f"http://127.0.0.1:{port}", timeout=0.3)
    with pytest.raises(ServerUnreachable, match="is it running"):
        read_server(f"http://127.0.0.1:{port}", timeout=2)


def test_what_answers_but_is_no_web_server_is_unreachable() -> None:
    class Greeter(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1000)
            self.request.sendall(b"220 mail.example ready\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeter) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(ServerUnreachable):
            read_server(f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/metrics", "file:///etc/hostname", "data:text/plain,x"])
def test_a_redirect_may_not_leave_http(target: str) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", target)
        request.end_headers()

    with served(answer) as url, pytest.raises(ServerUnreachable):
        read_server(url)


def test_redirects_are_followed_and_circles_left() -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/there":
            page(PAGE)(request)
        else:
            request.send_response(302)
            request.send_header("Location", "/there" if request.path == "/metrics" else "/circle")
            request.end_headers()

    with served(answer) as url:
        assert read_server(url).blocks == 573
        with pytest.raises(ServerUnreachable):
            read_server(f"{url}/circle")


@pytest.mark.parametrize(
    "url",
    ["", "ftp://localhost/metrics", "file:///etc/passwd", "http://", "http://[::1", "http://x:port",
     "http://local host:8000", "http://a:b@localhost:8000", "http://x/\nHost: y"],
)  # fmt: skip
def test_addresses_that_are_none_are_named(url: str) -> None:
    with pytest.raises(BadAddress) as caught:
        read_server(url)
    assert "a:b" not in str(caught.value)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan")])
def test_a_timeout_must_be_some_time(timeout: float) -> None:
    with pytest.raises(BadAddress, match="timeout"):
        read_server("http://localhost:1", timeout=timeout)
