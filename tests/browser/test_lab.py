"""The fixture itself, on a notebook that takes a second: it sees figures, controls and errors."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from memlessons.book.sources import notebook_text, read
from tests.browser.lab import Lab, OpenNotebook, Theme

pytestmark = pytest.mark.browser

TINY = """\
# %% [markdown] id="t-open"
# # Tiny

# %% id="t-figure"
import memlessons

memlessons.lesson("00")
import plotly.graph_objects as go

go.Figure([go.Scatter(y=[1, 3, 2]), go.Bar(y=[2, 1, 3])])

# %% id="t-control"
import ipywidgets

slider = ipywidgets.IntSlider(value=3, max=10, description="turns")
square = ipywidgets.Label(value="9")
slider.observe(lambda change: setattr(square, "value", str(change["new"] ** 2)), names="value")
ipywidgets.VBox([slider, square])
"""


def _opened(lab: Lab, chromium: Browser, name: str, source: str) -> Iterator[OpenNotebook]:
    script = lab.work.parent / f"{name}.py"
    script.write_text(source, encoding="utf-8")
    notebook = lab.work / f"{name}.ipynb"
    notebook.write_text(notebook_text(read(script)), encoding="utf-8")
    with lab.open(chromium, notebook) as opened:
        yield opened


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_is_drawn_and_a_control_answers_without_leaving_this_machine(
    lab: Lab, chromium: Browser, screenshots: Path, theme: Theme
) -> None:
    lab.theme(theme)
    for opened in _opened(lab, chromium, f"tiny_{theme}", TINY):
        opened.run_all()
        opened.assert_ran(least_figures=1)
        handle = opened.page.locator(".noUi-handle")
        handle.focus()
        handle.press("ArrowRight")
        opened.page.wait_for_selector(".widget-label:text-is('16')")
        assert opened.screenshots(screenshots / f"tiny.{theme}")
        assert opened.outside == []
        light = opened.page.evaluate("document.body.dataset.jpThemeLight")
        assert light == ("true" if theme == "light" else "false")


def test_an_error_and_an_empty_figure_are_seen(lab: Lab, chromium: Browser) -> None:
    source = TINY.replace("[1, 3, 2]", "[]").replace("[2, 1, 3]", "[]").replace("ipywidgets.VBox", "missing")
    for opened in _opened(lab, chromium, "broken", source + '\n# %% id="t-after"\n1\n'):
        opened.run_all()
        assert "NameError" in "".join(opened.errors())
        assert opened.unfinished() == ["1"]
        assert opened.figures() == [0]
        with pytest.raises(AssertionError):
            opened.assert_ran()
