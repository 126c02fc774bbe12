"""Asking a running server what its cache holds: one page, fetched with limits, then read."""

import http.client
import threading
import time
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

from memlessons.errors import MemlessonsError
from memlessons.measure.observed.metrics import NotAMetricsPage, read_metrics
from memlessons.measure.observed.reported import Reported

PAGE_BYTES = 8 * 2**20
_SCHEMES = ("http", "https")


class ServerUnreachable(MemlessonsError, OSError):
    """A server that does not answer, refuses, or takes too long."""


class BadAddress(MemlessonsError, ValueError):
    """An address that is no http or https address."""


def read_server(url: str, timeout: float = 5) -> Reported:
    """What a running server says of its cache on its metrics page; `timeout` in seconds, for all of it.

    `/metrics` is added where the address has no path, `http://` where it has no scheme. At most 8 MiB are
    read, no proxy is asked, and a redirect may not leave http and https. BadAddress, ServerUnreachable or
    NotAMetricsPage say what is wrong.
    """
    address = _address(url)
    if not 0 < timeout < float("inf"):
        raise BadAddress(f"timeout={timeout!r}: must be a number of seconds above 0")
    answer: list[bytes | Exception] = []
    # Looking up a name and reading headers know no deadline of their own: the thread may be left behind.
    thread = threading.Thread(target=_fetch_into, args=(answer, address, timeout), daemon=True)
    thread.start()
    thread.join(timeout)
    if not answer:
        raise ServerUnreachable(f"{address}: no whole answer within {timeout:g} s")
    if isinstance(answer[0], Exception):
        raise answer[0] from None
    return read_metrics(answer[0].decode("utf-8", "replace"), address)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadAddress(f"{url!r}: {error}; give an address such as http://localhost:8000") from None
    if parts.scheme not in _SCHEMES or not host:
        raise BadAddress(f"{url!r}: must be an http or https address, such as http://localhost:8000")
    if "@" in parts.netloc:
        raise BadAddress("an address with a password in it: metrics pages ask for none; leave it out")
    if any(c.isspace() or ord(c) < 32 for c in url):
        raise BadAddress(f"{url!r}: blanks have no place in an address")
    path = parts.path if parts.path.strip("/") else "/metrics"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


class _Redirects(HTTPRedirectHandler):
    """urllib would follow a redirect to ftp too."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage, newurl: str
    ) -> Request | None:
        if urlsplit(newurl).scheme not in _SCHEMES:
            raise ServerUnreachable(f"{req.full_url}: redirects to {newurl[:100]!r}, which is not http")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch_into(answer: list[bytes | Exception], address: str, timeout: float) -> None:
    try:
        answer.append(_fetch(address, timeout))
    except MemlessonsError as error:
        answer.append(error)
    except HTTPError as error:
        error.close()
        answer.append(_refused(address, error.code))
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(error, http.client.IncompleteRead):
            answer.append(NotAMetricsPage(f"{address}: the answer was cut off; ask again"))
        else:
            answer.append(ServerUnreachable(f"{address}: {reason or type(error).__name__}; is it running?"))


def _refused(address: str, code: int) -> MemlessonsError:
    if code in (404, 405, 501):
        return NotAMetricsPage(
            f"{address}: answers {code}, there is no metrics page; llama.cpp needs --metrics, SGLang "
            "--enable-metrics, and vLLM has it at /metrics"
        )
    return ServerUnreachable(f"{address}: answers {code}")


def _fetch(address: str, timeout: float) -> bytes:
    opener = OpenerDirector()
    for handler in (HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler, _Redirects):
        opener.add_handler(handler())
    deadline = time.monotonic() + timeout
    request = Request(address, headers={"Accept": "text/plain", "User-Agent": "memlessons"})
    page = bytearray()
    with opener.open(request, timeout=timeout) as response:
        if response is None:
            raise ServerUnreachable(f"{address}: no answer")
        while chunk := response.read1(64 * 1024):
            page += chunk
            if len(page) > PAGE_BYTES:
                raise NotAMetricsPage(
                    f"{address}: more than {PAGE_BYTES:,} bytes, no metrics page is so long"
                )
            if time.monotonic() > deadline:
                raise ServerUnreachable(f"{address}: no whole answer within {timeout:g} s")
        if response.length:
            raise NotAMetricsPage(f"{address}: the answer was cut off; ask again")
    return bytes(page)
