"""Built pages, opened from a folder without a network."""

from pathlib import Path

import nbformat
import plotly.graph_objects as go
import pytest
from playwright.sync_api import Browser

from memlessons.book.page import Link, page
from memlessons.book.screens import in_parts
from memlessons.book.tidy import PLOTLY
from tests.browser.lab import TRACE_SHAPES

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_and_formulas_are_drawn_without_a_network(
    chromium: Browser, tmp_path: Path, screenshots: Path, scheme: str
) -> None:
    figure = go.Figure([go.Scatter(y=[1, 3, 2]), go.Bar(y=[2, 1, 3])])
    figure.update_layout(title="</script> is text", meta={"alt": 'A "peak"'})
    shown = nbformat.v4.new_output("display_data", data={PLOTLY: figure.to_plotly_json()})
    prose = nbformat.v4.new_markdown_cell("# Page\n$$\\frac{a}{b}$$ and `$5`", id="a")
    notebook = nbformat.v4.new_notebook(
        cells=[prose, nbformat.v4.new_code_cell("1", id="b", outputs=[shown])]
    )
    path = tmp_path / "page.html"
    path.write_text(page(notebook, "Page", (Link("Contents", "index.html"),)), encoding="utf-8")

    context = chromium.new_context(color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    try:
        opened = context.new_page()
        complaints: list[str] = []
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("requestfailed", lambda request: complaints.append(request.url))
        opened.goto(path.as_uri())
        opened.wait_for_selector(".js-plotly-plot .trace path", state="attached")
        assert complaints == []
        (shapes,) = opened.evaluate(TRACE_SHAPES)
        assert shapes > 3
        assert opened.get_by_role("img", name='A "peak"').is_visible()
        assert opened.locator("math mfrac").is_visible() and opened.get_by_text("$5").is_visible()
        assert opened.title() == "Page" and opened.get_by_role("link", name="Contents").is_visible()
        background = opened.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in background.strip("rgb()").split(", ")[:3])
        assert (brightness > 600) == (scheme == "light")
        assert [path.name for path in in_parts(opened, 700, screenshots / f"page.{scheme}")] == [
            f"page.{scheme}.1.png"
        ]
    finally:
        context.close()
