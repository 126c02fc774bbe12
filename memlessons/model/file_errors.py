"""Named errors of model files: not there, not whole, not what it says, not what we can read."""

import errno
from pathlib import Path

from memlessons.plan.gguf.errors import ModelFileError, NotAModel, TruncatedModel, UnsupportedModel

__all__ = [
    "DownloadInterrupted", "FolderNotWritable", "ModelFileError", "ModelNotFetched", "NoNetwork", "NoSpace",
    "NotAModel", "TruncatedModel", "UnsupportedModel", "WrongDigest", "disk_error",
]  # fmt: skip


class ModelNotFetched(ModelFileError):
    """The model is not on this machine."""


class NoNetwork(ModelNotFetched):
    """The place the model comes from could not be reached."""


class DownloadInterrupted(ModelNotFetched):
    """The download began and did not arrive whole."""


class NoSpace(ModelFileError):
    """Too little free disk space for the model."""


class FolderNotWritable(ModelFileError):
    """The folder for models cannot be written."""


class WrongDigest(ModelFileError):
    """The file is not the one the catalogue names: its SHA-256 differs."""


def disk_error(error: OSError, folder: Path) -> ModelFileError:
    """NoSpace for a full disk or quota, FolderNotWritable otherwise."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return NoSpace(
            f"the disk of {folder} is full: free some, or set MEMLESSONS_CACHE to a folder on another disk"
        )
    return FolderNotWritable(
        f"cannot write into {folder} ({error}); set MEMLESSONS_CACHE to a folder that you can write"
    )
