"""What every test may rely on: the reader's folders are safe, and missing tools skip, not fail.

MEMLESSONS_NO_SKIPS=1 (continuous integration sets it) turns "no browser" and "no model" into failures.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from memlessons import places

# Before anything imports triton: without a GPU its kernels run in the interpreter.
if not places.has_nvidia_driver():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Deadlines would be timing gates. The quick pace draws the same examples each time, the full one new ones.
settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("full", max_examples=300, deadline=None)
settings.load_profile(places.pace())

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser_path() -> str | None:
    """The Chromium that tests drive: BROWSER_PATH, or the first one on PATH."""
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, BROWSERS)), None)


def model_is_here() -> bool:
    """Whether SmolLM2 was fetched on this machine."""
    from memlessons.errors import MemlessonsError
    from memlessons.model.fetch import locate

    try:
        locate("smollm2")
    except MemlessonsError:
        return False
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a browser or the model where there is none, unless skipping is forbidden."""
    if os.environ.get("MEMLESSONS_NO_SKIPS", "") not in ("", "0"):
        return
    if any(item.get_closest_marker("model") for item in items) and not model_is_here():
        _skip(items, "model", "needs SmolLM2: memlessons fetch smollm2")
    if not browser_path():
        _skip(items, "browser", "needs a Chromium: install one, or name it in BROWSER_PATH")


def _skip(items: list[pytest.Item], marker: str, reason: str) -> None:
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def reader_work_is_safe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that a test starts writes into the reader's own work folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMLESSONS_WORK", str(tmp_path_factory.mktemp("work")))
        yield


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder for this test alone; models in the reader's cache stay visible."""
    models = places.cache_folder() / "models"
    given = os.environ.get("MEMLESSONS_MODELS", "")
    monkeypatch.setenv("MEMLESSONS_MODELS", os.pathsep.join(filter(None, [given, str(models)])))
    monkeypatch.setenv("MEMLESSONS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def tree() -> Path:
    """The source tree that these tests belong to."""
    return Path(__file__).resolve().parent.parent
