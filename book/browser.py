"""Finding a Chrome or Chromium, for static pictures and for screenshots."""

import os
import shutil
from pathlib import Path

from memlessons.errors import MemlessonsError

FLAGS = (
    "--no-sandbox",  # containers have no user namespaces; only our own pages are opened
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


class NoBrowser(MemlessonsError):
    """No Chrome or Chromium was found; the message says how to name one."""


def find() -> Path:
    """The browser that BROWSER_PATH names, else the first on the search path. Raises NoBrowser."""
    given = os.environ.get("BROWSER_PATH")
    if given:
        if not Path(given).is_file():
            raise NoBrowser(f"BROWSER_PATH names {given}, which is not a file: correct it or unset it")
        return Path(given)
    for name in _NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise NoBrowser(
        "no Chrome or Chromium found: install one (Debian: apt install chromium) "
        "or set BROWSER_PATH to its program"
    )
