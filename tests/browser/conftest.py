"""Fixtures of the browser tests: a Chromium, a JupyterLab, a place for screenshots."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.lab import Lab


# For a module, not the session: playwright keeps an event loop running, and tests elsewhere start their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A headless Chromium. (Where there is none, the marker `browser` has skipped the test.)"""
    from tests.browser.lab import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Lab"]:
    """A JupyterLab server over an empty work folder."""
    from tests.browser.lab import Lab

    root = tmp_path_factory.mktemp("lab")
    with Lab(root, root / "work").running() as running:
        yield running


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: MEMLESSONS_SCREENSHOTS, or a temporary folder."""
    given = os.environ.get("MEMLESSONS_SCREENSHOTS")
    return Path(given) if given else tmp_path_factory.mktemp("screenshots")
