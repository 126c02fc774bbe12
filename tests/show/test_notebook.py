"""The same calls in a real kernel, and in a terminal's IPython."""

import os
import subprocess
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

CELLS = {
    "say": "from memlessons.show import *\nsay('Between **11.1** tokens, <b>not</b> more.')",
    "table": "table({'<i>a</i>': 1.5, 'b': 2.0}, unit='seconds', caption='Times')",
    "guess": "guess = predict('00', 16, unit='times')\nreveal('00', 1.8)",
    "wrong": "assert predict('01', 'sixteen') is None",
    "claim": "claim(1 > 2, then='Faster.', otherwise='Not faster *here*.')",
    "source": "show_source(claim)",
    "mine": "def f(x):\n    return x + 1\nshow_source(f)",
    "last": "lines({'a line': ([1, 2], [3, 4])}, 'How fast?', 'tokens', 'time', 'One line.', id='fig-99')",
    "show": "from memlessons.plan import presets\n"
    "show(memory_picture(presets.get('smollm2-135m').plan, 100))",
}
PLOT = "application/vnd.plotly.v1+json"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What a kernel answered to each cell: a list of bundles by mimetype."""
    folder = tmp_path_factory.mktemp("work")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    )
    environment = os.environ | {"MEMLESSONS_WORK": str(folder)}
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3")
    client.execute(env=environment)
    return {
        name: [out.get("data", {"text": out.get("text")}) for out in cell.outputs]
        for name, cell in zip(CELLS, notebook.cells, strict=True)
    }


def test_prose_renders_as_markdown_that_holds_no_tags(outputs):
    assert outputs["say"] == [
        {
            "text/markdown": "Between **11.1** tokens, &lt;b>not&lt;/b> more.",
            "text/plain": "Between 11.1 tokens, <b>not</b> more.",
        }
    ]
    assert [out["text/markdown"] for out in outputs["claim"]] == ["Not faster *here*."]
    said = [out["text/plain"] for out in outputs["guess"]]
    assert said[1] == "Your guess: 16 times · measured: 1.8 times · the guess is 8.89 times too high."
    assert outputs["wrong"][0]["text/plain"].startswith("GuessNotANumber")


def test_tables_are_escaped_html_with_plain_text_beside(outputs):
    (shown,) = outputs["table"]
    assert set(shown) == {"text/html", "text/plain"}
    assert "&lt;i&gt;a&lt;/i&gt;" in shown["text/html"]
    assert "1.50 s" in shown["text/plain"]


def test_source_of_the_package_and_of_the_readers_own_cell(outputs):
    assert outputs["source"][0]["text/markdown"].startswith("`memlessons/show/prose.py, line ")
    assert outputs["mine"][0]["text/markdown"].startswith("`this notebook, line 1`\n\n```python\ndef f(x):")


@pytest.mark.parametrize("cell", ["last", "show"])
def test_figures_are_stored_as_their_plot_and_their_words_once(outputs, cell):
    (shown,) = outputs[cell]
    assert set(shown) == {PLOT, "text/plain"}
    assert len(str(shown)) < 20_000
    assert shown["text/plain"].startswith("[figure] ")
    assert shown[PLOT]["layout"]["meta"]["alt"]


def test_a_terminals_ipython_prints_instead(tmp_path):
    program = "from memlessons.show import *; say('**fine** <b>'); table({'a': 1}); predict('00', 3)"
    environment = os.environ | {"MEMLESSONS_WORK": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython")}
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--quick", "--colors=NoColor", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("fine <b>\n")
    assert "Written down: 3." in done.stdout
    assert "object at 0x" not in done.stdout
