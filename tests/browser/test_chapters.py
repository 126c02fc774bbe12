"""Chapters in the reader's hands: opened in JupyterLab and run with Run All Cells."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from memlessons.book.sources import Chapter, chapters, notebook_text, read
from tests.browser.lab import Lab, OpenNotebook

IN_BROWSER = ("01", "02", "03")  # a new chapter takes the place of the last one
CHAPTERS = [chapter for chapter in chapters() if chapter.number in IN_BROWSER]


@pytest.mark.browser
@pytest.mark.model
@pytest.mark.parametrize("chapter", CHAPTERS, ids=[chapter.name for chapter in CHAPTERS])
def test_all_cells_run_without_an_error_and_figures_are_drawn(
    chapter: Chapter, lab: Lab, chromium: Browser, screenshots: Path
) -> None:
    notebook = lab.work / f"{chapter.name}.ipynb"
    notebook.write_text(notebook_text(read(chapter.source)), encoding="utf-8")
    with lab.open(chromium, notebook) as opened:
        opened.run_all(seconds=600)
        opened.screenshots(screenshots / f"{chapter.name}.lab")
        opened.assert_ran(least_figures=1)
        if chapter.number == "02":
            _move_the_sizer(opened)


def _move_the_sizer(opened: OpenNotebook) -> None:
    """The context of Llama-3.1-8B one stop up: 131,072 bytes a token, and the page says so."""
    opened.page.wait_for_selector("td:text-is('512 MiB at 4,096 tokens')")
    handle = opened.page.locator(".noUi-handle").first
    handle.focus()
    handle.press("ArrowRight")
    opened.page.wait_for_selector("td:text-is('576 MiB at 4,608 tokens')")
    assert opened.errors() == []
