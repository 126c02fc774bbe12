"""A checkpoint from the Hugging Face hub: configuration, tokenizer and safetensors of one repository."""

import errno
import os
from fnmatch import fnmatchcase
from pathlib import Path

from memlessons.model.file_errors import (
    DownloadInterrupted,
    ModelNotFetched,
    NoNetwork,
    NoSpace,
    disk_error,
)
from memlessons.units import bytes_text

PREFIX = "hf:"
_WANTED = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "*.safetensors*",
)


def folder_name(repository: str) -> str:
    """The name of the folder a repository is kept in."""
    return "hf--" + repository.replace("/", "--")


def download_repository(repository: str, target: Path, free_bytes: int, *, bars: bool) -> None:
    """Download the repository's model files into the new folder `target`.

    `repository` is `owner/name`; the address is that of HF_ENDPOINT or the public hub. Raises
    ModelNotFetched (no such repository, or one that must be asked for), NoNetwork, NoSpace or
    DownloadInterrupted; `target` is then the caller's to remove.
    """
    import huggingface_hub
    from huggingface_hub import errors

    # Read now: the client reads it when it is first imported.
    endpoint = os.environ.get("HF_ENDPOINT") or None
    offline = (
        f"Where the hub cannot be reached, copy the repository's files into a folder "
        f"{folder_name(repository)!r} inside a folder that MEMLESSONS_MODELS names"
    )
    try:
        info = huggingface_hub.HfApi(endpoint).model_info(repository, files_metadata=True, timeout=20)
    except errors.HFValidationError as error:
        raise ModelNotFetched(f"{repository!r} is not a repository's name (owner/name): {error}") from None
    except (errors.RepositoryNotFoundError, errors.GatedRepoError) as error:
        raise ModelNotFetched(
            f"the hub has no repository {repository!r} that you may read; check the name, or log in with "
            f"`hf auth login` if it must be asked for ({type(error).__name__})"
        ) from None
    except Exception as error:  # the hub's client lets whatever its HTTP library raises through
        raise NoNetwork(f"the Hugging Face hub could not be reached ({_short(error)}). {offline}") from error
    # At the top only: folders hold conversions for other programs.
    top = [f for f in info.siblings or () if "/" not in f.rfilename]
    files = [f for f in top if any(fnmatchcase(f.rfilename, pattern) for pattern in _WANTED)]
    if not any(f.rfilename.endswith(".safetensors") for f in files):
        raise ModelNotFetched(f"the repository {repository!r} holds no .safetensors file")
    total = sum(f.size or 0 for f in files)
    if total > free_bytes:
        raise NoSpace(f"{repository} takes {bytes_text(total)}, {bytes_text(free_bytes)} are free")
    # The hub's own bars: it knows how far each file is.
    (huggingface_hub.utils.enable_progress_bars if bars else huggingface_hub.utils.disable_progress_bars)()
    for file in files:
        what = f"{repository}: {file.rfilename}"
        try:
            path = huggingface_hub.hf_hub_download(
                repository, file.rfilename, revision=info.sha, local_dir=target, endpoint=endpoint
            )
        except Exception as error:
            # Network errors are OSErrors too, but carry no number of the file system.
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EACCES):
                raise disk_error(error, target.parent.parent) from error
            raise DownloadInterrupted(f"{what} did not arrive ({_short(error)})") from error
        if file.size is not None and os.path.getsize(path) != file.size:
            raise DownloadInterrupted(f"{what} arrived with another size than the hub states")


def _short(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__
