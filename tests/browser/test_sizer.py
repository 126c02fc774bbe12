"""The cache sizer in a real JupyterLab, by keyboard, in both themes, held against `memlessons size`."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from memlessons.book.sources import notebook_text, read
from memlessons.book.tidy import settle
from memlessons.show import CacheSizer
from memlessons.sizing.whatif import Edit
from memlessons.units import bytes_text
from tests.browser.lab import Lab, OpenNotebook, Theme

pytestmark = pytest.mark.browser

NOTEBOOK = """\
# %% [markdown] id="s-open"
# # Sizer

# %% id="s-sizer"
import memlessons

memlessons.lesson("02")
from memlessons.show import CacheSizer

CacheSizer("llama-3.1-8b", context=4096, batch=2)
"""

CHANGED = NOTEBOOK.replace(
    'CacheSizer("llama-3.1-8b", context=4096, batch=2)',
    """from memlessons.sizing.whatif import Edit

edits = [Edit("one_kv_head"), Edit("window", 1024, every=6, sinks=4)]
CacheSizer("gemma-3-27b", context=32_768, batch=64, card="A100 80GB SXM", tp=2, engine="vllm",
           edits=edits, reserve_gib=4)""",
)

CONFIG = {
    "model_type": "llama", "num_hidden_layers": 10, "hidden_size": 2048, "num_attention_heads": 16,
    "num_key_value_heads": 4, "intermediate_size": 5632, "vocab_size": 32_000,
    "max_position_embeddings": 16_384, "_name_or_path": "someone/tiny",
}  # fmt: skip


def said_by_the_command(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "memlessons", "size", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_page_says(page: Page, found: dict[str, Any]) -> None:
    """What the page shows of a question is what the command line says of it."""
    one = f"{bytes_text(found['kv_bytes_per_sequence'])} at {found['context_tokens']:,} tokens"
    page.wait_for_selector(f"td:text-is('{one}')")
    shown: dict[str, str] = page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.textContent)).filter(cells => cells.length == 2))"
    )
    if found["sequences"] > 1:
        assert shown[f"all {found['sequences']} sequences"] == bytes_text(found["kv_bytes"])
    assert shown["weights"].startswith(bytes_text(found["weights"]["stored_bytes"]) + ";")
    assert shown["room"] == f"for {found['sequences_that_fit']:,} sequences of this length"
    for engine in ("vllm", "llama.cpp", "sglang"):
        assert shown[f"{engine} reserves"].startswith(
            bytes_text(found["engines"][engine]["bytes_per_device"])
        )
    step = found["decode_step"]
    wanted = [1e3 * seconds for seconds in (step["least_seconds"], *step["expected_seconds"])]
    said = re.match(r"\D+([\d.]+) ms; ([\d.]+) to ([\d.]+) ms expected", shown["one decode step"])
    assert said, "milliseconds on this card"
    assert list(map(float, said.groups())) == pytest.approx(wanted, rel=0.006)


def add(page: Page, kind: str, how: str | None = None) -> None:
    before = page.get_by_label("changes").locator("option").count()
    page.get_by_label("change it").select_option(kind)
    if how is not None:
        page.get_by_label("how", exact=True).select_option(how)
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    page.locator("select[size] option, select[multiple] option").nth(before).wait_for(state="attached")


def upload(page: Page, file: Path) -> None:
    with page.expect_file_chooser() as choosing:
        page.get_by_role("button", name="or upload a file").press("Enter")
    choosing.value.set_files(file)


def in_all(page: Page) -> float:
    """The running factor that the list of changes ends with."""
    last = page.get_by_label("changes").locator("option").last.inner_text()
    return float(last.rpartition("×")[2])


def assert_every_control_is_reached_by_tab_in_reading_order(page: Page) -> None:
    page.get_by_label("model", exact=True).focus()
    names = []
    for _ in range(17):
        names.append(page.evaluate(_NAME_IN_FOCUS))
        page.keyboard.press("Tab")
    wanted = [
        "model", "context", "sequences", "K stored as", "V stored as", "card", "cards", "engine",
        "reserve, GiB", "change it", "how", "Add", "copy as Python", "copy as flags",
        "this state as text",
    ]  # fmt: skip
    assert [name for name in names if not name.endswith("as a number")] == wanted


def open_sizer(lab: Lab, name: str, text: str = NOTEBOOK) -> Path:
    script = lab.work.parent / f"{name}.py"
    script.write_text(text, encoding="utf-8")
    notebook = lab.work / f"{name}.ipynb"
    notebook.write_text(notebook_text(read(script)), encoding="utf-8")
    return notebook


def at_900_pixels(opened: OpenNotebook, to: Path) -> Sequence[int]:
    """A picture of a narrow window; how far its outputs could be scrolled sideways."""
    page = opened.page
    page.set_viewport_size({"width": 900, "height": 2000})
    page.wait_for_timeout(1500)
    page.screenshot(path=to)
    return page.evaluate(
        "() => [...document.querySelectorAll('.jp-OutputArea-output, .jp-WindowedPanel-outer')]"
        ".map(part => part.scrollWidth - part.clientWidth)"
    )


def test_a_reader_finds_the_way_to_twenty_times_and_takes_it_along(lab: Lab, chromium: Browser) -> None:
    lab.theme("light")
    with lab.open(chromium, open_sizer(lab, "sizer")) as opened:
        page = opened.page
        opened.run_all()
        opened.assert_ran(least_figures=1)
        assert_page_says(page, said_by_the_command("llama-3.1-8b", "--batch", "2", "--gpu", "RTX 4090"))
        assert_every_control_is_reached_by_tab_in_reading_order(page)
        # The live forms only: one figure, and none that is still.
        assert page.locator(".js-plotly-plot").count() == 1
        assert page.locator(".jp-RenderedPlotly").count() == 0
        slider = page.get_by_role("slider", name="context")
        slider.focus()
        slider.press("ArrowRight")
        page.wait_for_selector(".gtitle:has-text('4,608 tokens')")
        for _ in range(23):
            slider.press("ArrowRight")
        page.wait_for_selector("td:text-is('4.00 GiB at 32,768 tokens')")
        assert slider.get_attribute("aria-valuetext") == "32,768"
        page.get_by_label("card", exact=True).select_option("H100 SXM 80GB")
        page.get_by_label("engine").select_option("llama.cpp")
        page.get_by_label("reserve, GiB").fill("2")
        page.get_by_label("reserve, GiB").press("Enter")
        page.wait_for_selector(".js-plotly-plot .ytick:has-text('kept free')")
        asked = ["llama-3.1-8b", "--batch", "2", "--context", "32k", "--gpu", "H100 SXM 80GB"]
        assert_page_says(page, said_by_the_command(*asked, "--engine", "llama.cpp", "--reserve", "2GiB"))
        page.get_by_label("engine").select_option("ideal")
        add(page, "one KV head")
        assert in_all(page) == 8
        add(page, "windows", "of 1,024 tokens")
        assert in_all(page) > 20
        add(page, "neighbours share")
        add(page, "fewer KV heads")
        page.wait_for_selector("option:has-text('not possible here')", state="attached")
        page.wait_for_selector(".js-plotly-plot .annotation-text:has-text('not possible here')")
        page.get_by_role("button", name="Remove").press("Enter")
        page.locator("option:has-text('not possible here')").wait_for(state="detached")
        factor = in_all(page)
        page.wait_for_selector(f".js-plotly-plot .annotation-text:has-text('× {factor}')")
        page.wait_for_selector(".gtitle:has-text('llama-3.1-8b, changed')")
        page.get_by_role("button", name="copy as flags").press("Enter")
        field = page.get_by_label("this state as text")
        assert "vllm serve PATH/TO/llama-3.1-8b --max-model-len 32768 --max-num-seqs 2" in field.input_value()
        page.get_by_role("button", name="copy as Python").press("Enter")
        code = field.input_value()
        assert "Edit('one_kv_head'), Edit('window', number=1024, every=6), Edit('share', number=2)" in code
        page.get_by_role("status").filter(has_text=re.compile("copied|Ctrl")).wait_for()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        page.wait_for_selector(f"td:text-is('{bytes_text(int(done.stdout.split()[0]))}')")
        page.get_by_role("button", name="Back to the model as published").press("Enter")
        page.wait_for_selector("td:text-is('4.00 GiB at 32,768 tokens')")
        page.wait_for_selector(".js-plotly-plot .annotation-text:has-text('nothing is changed yet')")
        assert opened.errors() == []
        assert opened.outside == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_stands_in_both_themes_and_in_a_narrow_window(
    lab: Lab, chromium: Browser, screenshots: Path, theme: Theme
) -> None:
    lab.theme(theme)
    with lab.open(chromium, open_sizer(lab, f"sizer_{theme}", CHANGED)) as opened:
        page = opened.page
        opened.run_all()
        page.wait_for_selector(".js-plotly-plot .ytick:has-text('kept free')")
        add(page, "neighbours share")  # the figure grows by a row, and must follow its window all the same
        assert opened.screenshots(screenshots / f"sizer.{theme}")
        assert max(at_900_pixels(opened, screenshots / f"sizer-900.{theme}.png")) <= 0
        page.keyboard.press("Escape")
        page.keyboard.press("Control+b")  # the file browser beside it
        page.wait_for_timeout(1500)
        page.screenshot(path=screenshots / f"sizer-900-beside.{theme}.png")
        plot, box = page.evaluate(
            "() => ['.js-plotly-plot svg', '.jp-OutputArea-output'].map("
            "name => document.querySelector(name).getBoundingClientRect().width)"
        )
        assert plot <= box < 600
        assert opened.errors() == []


def test_a_configuration_is_pasted_and_uploaded_and_a_bad_one_is_named(
    lab: Lab, chromium: Browser, screenshots: Path, tmp_path: Path
) -> None:
    (tmp_path / "tiny.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (tmp_path / "bad.json").write_bytes(b"\xff\xfe{")
    lab.theme("light")
    with lab.open(chromium, open_sizer(lab, "sizer_own")) as opened:
        page = opened.page
        opened.run_all()
        page.wait_for_selector("td:text-is('512 MiB at 4,096 tokens')")
        page.get_by_label("model", exact=True).select_option("your own config.json")
        page.get_by_role("status").filter(has_text="Paste the text").wait_for()
        text = page.get_by_label("config.json")
        text.fill(json.dumps(CONFIG)[:-1])
        alert = page.get_by_role("alert")
        alert.filter(has_text="BadConfig").wait_for()
        assert "still those of llama-3.1-8b: 2 sequences of 4,096 tokens" in alert.inner_text()
        assert page.locator("td:text-is('512 MiB at 4,096 tokens')").count() == 1
        assert opened.screenshots(screenshots / "sizer-bad.light")
        text.fill(json.dumps(CONFIG))
        alert.wait_for(state="detached")
        found = said_by_the_command(str(tmp_path / "tiny.json"), "--batch", "2", "--gpu", "RTX 4090")
        assert_page_says(page, found)
        page.wait_for_selector(".gtitle:has-text('tiny: 2 sequences')")
        page.get_by_label("model", exact=True).select_option("llama-2-7b")
        page.wait_for_selector("td:text-is('2.00 GiB at 4,096 tokens')")
        page.get_by_label("model", exact=True).select_option("your own config.json")
        upload(page, tmp_path / "bad.json")
        alert.filter(has_text="bad.json is no text").wait_for()
        upload(page, tmp_path / "tiny.json")
        page.wait_for_selector(f"td:text-is('{bytes_text(found['kv_bytes'])}')")
        assert opened.errors() == []


def test_a_stored_notebook_shows_the_same_state_as_a_table_and_a_picture(
    lab: Lab, chromium: Browser, screenshots: Path
) -> None:
    edits = [Edit("fewer_kv_heads", 4), Edit("format", format="int8")]
    forms = CacheSizer("llama-2-7b", context=2048, batch=3, edits=edits).forms()
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
        opened.page.wait_for_selector("td:text-is('132 MiB at 2,048 tokens')")
        assert opened.page.locator("td:text-is('× 7.8')").count() == 1
        assert all(opened.figures()) and len(opened.figures()) == 1
        assert "Error displaying widget" not in opened.page.locator(".jp-Notebook").inner_text()
        assert opened.screenshots(screenshots / "sizer-stored.light")


_NAME_IN_FOCUS = """() => {
    const it = document.activeElement;
    const label = it.labels && it.labels[0] ? it.labels[0].textContent : it.getAttribute("aria-label");
    return label || it.textContent;
}"""
