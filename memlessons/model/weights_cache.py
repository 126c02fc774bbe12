"""Expanded weights on disk: dequantising takes seconds, mapping a file does not.

One safetensors file per model, named by the digest of the file it was made from and by the version of
our layout. It is mapped, not read: pages come in when first used and leave again under memory pressure.
"""

import contextlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from memlessons.model.digests import write_json
from memlessons.model.scratch import scratch_folder
from memlessons.places import cache_folder
from memlessons.units import bytes_text

# Raise it when names, shapes or the order of rows change: older files are then made again.
LAYOUT = 1

Shapes = Mapping[str, tuple[int, ...]]


def weights_of(digest: str, shapes: Shapes, make: Callable[[], dict[str, Tensor]]) -> dict[str, Tensor]:
    """The float32 weights of the model file with that digest, mapped; made and kept if they are not there.

    A kept file that is not as we left it is made again. Where it cannot be kept (no space, a folder that
    cannot be written) the weights are returned all the same, with a warning.
    """
    path = cache_folder() / "weights" / f"{digest[:32]}-{LAYOUT}.safetensors"
    kept = _mapped(path, shapes)
    if kept is not None:
        return kept
    made = make()
    try:
        _keep(path, made)
    except Exception as error:  # safetensors raises its own error where the disk is full
        warnings.warn(
            f"the expanded weights ({bytes_text(_size(shapes))}) could not be kept in {path.parent} and are "
            f"made again each time, which takes seconds: {error}. "
            "Set MEMLESSONS_CACHE to a folder with more room",
            stacklevel=3,
        )
        return made
    return _mapped(path, shapes) or made


def _mapped(path: Path, shapes: Shapes) -> dict[str, Tensor] | None:
    """The weights in that file, or None if it is missing or not as `_keep` left it."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    with contextlib.suppress(OSError, ValueError, SafetensorError):
        if json.loads(_note_of(path).read_text(encoding="utf-8")) != _state_of(path):
            return None
        weights = load_file(path)
        if {name: tuple(w.shape) for name, w in weights.items()} == dict(shapes):
            return weights
    return None


def _keep(path: Path, weights: dict[str, Tensor]) -> None:
    from safetensors.torch import save_file

    with scratch_folder(path.parent) as scratch:
        needed = sum(w.numel() * w.element_size() for w in weights.values())
        free = shutil.disk_usage(scratch).free
        if free < needed * 1.02:
            raise OSError(f"{bytes_text(free)} are free")
        part = scratch / "weights"
        save_file(weights, part)
        part.chmod(0o644)  # a cache folder may be shared by a class
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        # The note first: if we end between the two, it does not fit the older file, which is made again.
        write_json(_note_of(path), _state_of(part))
        os.replace(part, path)


def _note_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _state_of(path: Path) -> dict[str, Any]:
    found = path.stat()
    return {"bytes": found.st_size, "mtime_ns": found.st_mtime_ns}


def _size(shapes: Shapes) -> int:
    total = 0
    for shape in shapes.values():
        elements = 4
        for dim in shape:
            elements *= dim
        total += elements
    return total
