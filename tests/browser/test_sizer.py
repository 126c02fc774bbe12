"""The cache sizer in a real JupyterLab: moved by keyboard, it answers in the page, in both themes."""

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from memlessons.book.sources import notebook_text, read
from memlessons.book.tidy import settle
from memlessons.show import CacheSizer
from tests.browser.lab import Lab, Theme

pytestmark = pytest.mark.browser

NOTEBOOK = """\
# %% [markdown] id="s-open"
# # Sizer

# %% id="s-sizer"
import memlessons

memlessons.lesson("02")
from memlessons.show import CacheSizer

CacheSizer("llama-3.1-8b", context=4096)
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_context_is_moved_by_keyboard_and_the_numbers_follow(
    lab: Lab, chromium: Browser, screenshots: Path, theme: Theme
) -> None:
    script = lab.work.parent / f"sizer_{theme}.py"
    script.write_text(NOTEBOOK, encoding="utf-8")
    notebook = lab.work / f"sizer_{theme}.ipynb"
    notebook.write_text(notebook_text(read(script)), encoding="utf-8")
    lab.theme(theme)
    with lab.open(chromium, notebook) as opened:
        page = opened.page
        opened.run_all()
        opened.assert_ran(least_figures=1)
        page.wait_for_selector("td:text-is('512 MiB at 4,096 tokens')")
        # The live forms only: one table, and one figure that is not the still one.
        assert page.locator(".jp-OutputArea table").count() == 1
        assert page.locator(".js-plotly-plot").count() == 1
        assert page.locator(".jp-RenderedPlotly").count() == 0
        assert opened.screenshots(screenshots / f"sizer.{theme}")
        handle = page.locator(".noUi-handle").first
        handle.focus()
        handle.press("ArrowRight")
        page.wait_for_selector("td:text-is('576 MiB at 4,608 tokens')")
        page.wait_for_selector(".gtitle:has-text('4,608 tokens')")
        for _ in range(7):
            handle.press("ArrowRight")
        page.wait_for_selector("td:text-is('1.00 GiB at 8,192 tokens')")
        page.get_by_label("model").first.select_option("llama-2-7b")
        page.wait_for_selector("text=You asked for 8,192 tokens; llama-2-7b was trained to read 4,096")
        page.wait_for_selector(".js-plotly-plot .annotation-text:has-text('K and V: 2.00 GiB')")
        assert opened.screenshots(screenshots / f"sizer-moved.{theme}")
        assert opened.errors() == []
        assert opened.outside == []


def test_a_stored_notebook_shows_the_same_state_as_a_table_and_a_picture(
    lab: Lab, chromium: Browser, screenshots: Path
) -> None:
    forms = CacheSizer("llama-2-7b", context=2048, batch=3).forms()
    outputs = [nbformat.v4.new_output("display_data", data=data) for data in forms]
    cell = nbformat.v4.new_code_cell("CacheSizer()", execution_count=1, outputs=outputs)
    stored = nbformat.v4.new_notebook(cells=[cell])
    stored.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    settle(stored)
    notebook = lab.work / "stored.ipynb"
    nbformat.write(stored, notebook)
    lab.theme("light")
    with lab.open(chromium, notebook) as opened:
        opened.page.wait_for_selector("td:text-is('1.00 GiB at 2,048 tokens')")
        assert all(opened.figures()) and len(opened.figures()) == 1
        assert "Error displaying widget" not in opened.page.locator(".jp-Notebook").inner_text()
        assert opened.screenshots(screenshots / "sizer-stored.light")
