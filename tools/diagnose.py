"""From a package installer's output to one sentence: what failed, and what to try.

Installers print pages for a cable that is not plugged in. The causes below are those that readers meet;
the order matters, since a machine without a network also fails to find every package.
"""

import re
import sys

_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"

_CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|\[Errno 28\]|os error 28|not enough space on the disk|Disk quota exceeded",
        "the disk is full.",
        "Free some space (`pip cache purge` may help; TMPDIR may point to a larger disk), then run it again.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|invalid peer certificate",
        "the server's certificate was not accepted, as happens behind a company's proxy.",
        "Name your company's certificate: export PIP_CERT=/path/to/ca.pem SSL_CERT_FILE=/path/to/ca.pem",
    ),
    (
        r"ProxyError|Cannot connect to proxy|Tunnel connection failed",
        "the proxy did not answer.",
        "Check HTTPS_PROXY, then run it again.",
    ),
    (
        r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|Network is unreachable"
        r"|getaddrinfo failed|Name or service not known|nodename nor servname|ConnectTimeoutError"
        r"|Read timed out|ReadTimeoutError|ConnectionResetError|IncompleteRead|dns error"
        r"|error sending request|Connection aborted|Could not connect|IncompleteDownload",
        "the package index could not be reached, or the connection broke.",
        "Check the network and run it again: finished downloads are kept. Without a network, "
        "fill a folder with wheels elsewhere (pip download), then set PIP_FIND_LINKS to it, PIP_NO_INDEX=1.",
    ),
    (
        r"THESE PACKAGES DO NOT MATCH THE HASHES|BadZipFile|zipfile\.BadZip|Wheel .* is invalid",
        "a downloaded package is damaged.",
        "Empty pip's cache (`.venv/bin/python -m pip cache purge`) and run it again.",
    ),
    (
        r"Failed building wheel|Failed to build|error: command '.*(gcc|cc|clang|cl\.exe)"
        r"|Microsoft Visual C\+\+",
        f"a package has no finished build for {_PYTHON} on this system, and compiling it failed.",
        "Use Python 3.11, for which the pins were tested: make setup PYTHON=python3.11",
    ),
    (
        r"No matching distribution found for|because there are no wheels|has no wheels with a matching",
        f"a pinned package has no build for {_PYTHON} on this system.",
        "Use Python 3.11, for which the pins were tested: make setup PYTHON=python3.11",
    ),
    (
        r"ResolutionImpossible|conflicting dependencies|No solution found",
        "the pins contradict each other.",
        "Undo changes to pyproject.toml and constraints.txt, or look at the end of the log for the pair.",
    ),
    (
        r"\[Errno 13\]|Permission denied|Access is denied|Read-only file system",
        "a file or folder may not be written.",
        "Use a folder of your own, without sudo; close programs that use .venv (a running JupyterLab).",
    ),
)


def explain(output: str) -> tuple[str, str]:
    """The cause and the cure as two sentences; the last error line where the cause is not a known one."""
    for pattern, what, mend in _CAUSES:
        if re.search(pattern, output):
            named = re.search(r"No matching distribution found for (\S+)", output)
            return (f"{what[:-1]}: {named[1]}." if named and "no build" in what else what), mend
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # pip wraps a build's own error into several lines that say only that there was one.
    errors = [
        line
        for line in lines
        if re.match(r"(error|fatal)\b", line, re.IGNORECASE) or re.match(r"\w+Error: ", line)
        if "subprocess-exited-with-error" not in line
    ]
    last = (errors or lines or ["it ended without a word."])[-1]
    return last, "Run it again; if that does not help, the end of the log says more."
