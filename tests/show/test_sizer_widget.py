"""The sizer's shell: driven without a browser, stored without its state, and without ipywidgets at all."""

import subprocess
import sys
from itertools import pairwise

import pytest

from memlessons.show import CacheSizer, SizerState
from memlessons.show.sizer import WIDGET_MIMETYPE
from memlessons.show.sizer_picture import sizer_figure
from memlessons.show.theme import PLOTLY_MIMETYPE

pytest.importorskip("ipywidgets")
pytest.importorskip("anywidget")


@pytest.fixture
def sizer():
    return CacheSizer("llama-3.1-8b", context=4096)


def same(live, state):
    """Whether a live figure shows what a fresh one of this state would."""
    fresh = sizer_figure(state)
    for old, new in zip(live.data, fresh.data, strict=True):
        assert list(old.x) == list(new.x) and list(old.y) == list(new.y)
    assert [n.text for n in live.layout.annotations] == [n.text for n in fresh.layout.annotations]
    assert live.layout.title.text == fresh.layout.title.text
    assert live.layout.yaxis2.range == fresh.layout.yaxis2.range
    assert live.layout.xaxis.ticktext == fresh.layout.xaxis.ticktext
    assert live.layout.meta["alt"] == fresh.alt
    return True


def test_moving_a_slider_changes_state_numbers_and_figure(sizer):
    fields = sizer.controls.fields
    assert "512 MiB at 4,096 tokens" in sizer.controls.numbers.value
    fields["context"].value = 8192
    assert sizer.state == SizerState("llama-3.1-8b", context=8192)
    assert "1.00 GiB at 8,192 tokens" in sizer.controls.numbers.value
    fields["batch"].value = 30
    assert "K and V of 30 readers" in sizer.controls.numbers.value
    fields["key_format"].value = "q8_0"
    fields["value_format"].value = "q4_0"
    fields["card"].value = "H200 SXM"
    assert sizer.state == SizerState("llama-3.1-8b", 8192, 30, "q8_0", "q4_0", "H200 SXM")
    assert sizer.sizing.readers == 30
    assert same(sizer.controls.figure, sizer.state)


def test_a_model_with_a_shorter_memory_says_so_and_the_wish_survives(sizer):
    fields = sizer.controls.fields
    fields["context"].value = 65_536
    fields["preset"].value = "llama-2-7b"
    assert fields["context"].value == 4096 and max(v for _, v in fields["context"].options) == 4096
    assert "You asked for 65,536 tokens" in sizer.controls.numbers.value
    assert same(sizer.controls.figure, sizer.state)
    fields["preset"].value = "llama-3.1-8b"
    assert fields["context"].value == 65_536
    assert "You asked" not in sizer.controls.numbers.value


def test_setting_the_state_moves_the_controls_once_and_calls_nothing_back(sizer):
    wanted = SizerState("gemma-3-27b", context=5001, batch=777, card="B200 SXM")
    figure = sizer.controls.figure
    sizer.state = wanted
    fields = sizer.controls.fields
    assert (fields["preset"].value, fields["context"].value, fields["batch"].value) == (
        "gemma-3-27b",
        5001,
        777,
    )
    assert sizer.state == wanted
    assert sizer.controls.figure is figure and same(figure, wanted)


def test_a_slider_has_powers_of_two_and_finer_steps_up_to_the_longest(sizer):
    values = [value for _, value in sizer.controls.fields["context"].options]
    assert values == sorted(set(values))
    assert {2**i for i in range(18)} <= set(values) and values[-1] == 131_072
    assert all(b / a <= 1.13 for a, b in pairwise(values) if a >= 8)
    readers = [value for _, value in sizer.controls.fields["batch"].options]
    assert readers[0] == 1 and readers[-1] == 1024
    huge = CacheSizer(batch=5000)
    assert huge.controls.fields["batch"].value == 5000 == huge.state.batch


def test_each_output_has_a_live_and_a_still_form(sizer):
    table, picture = sizer.forms()
    assert set(table) == {WIDGET_MIMETYPE, "text/html", "text/plain"}
    assert set(picture) == {WIDGET_MIMETYPE, PLOTLY_MIMETYPE, "text/plain"}
    assert table[WIDGET_MIMETYPE]["model_id"] == sizer.controls.panel.model_id
    assert picture[WIDGET_MIMETYPE]["model_id"] == sizer.controls.figure.model_id
    assert len(str(table)) + len(str(picture)) < 60_000
    sizer.controls.fields["context"].value = 8192
    assert "8,192" in sizer.forms()[0]["text/html"]


def test_a_shell_gets_text(sizer, capsys):
    sizer.show()
    printed = capsys.readouterr().out
    assert printed == repr(sizer) + "\n"
    assert "512 MiB at 4,096 tokens" in printed
    assert sizer.explain().startswith("llama-3.1-8b with 1 reader at 4,096 tokens")


def test_one_format_stands_for_both_unless_two_are_given():
    assert CacheSizer(key_format="fp8").state.value_format == "fp8"
    assert CacheSizer(key_format="fp8", value_format="int4").state.value_format == "int4"


@pytest.mark.parametrize("missing", ["ipywidgets", "anywidget"])
def test_without_widgets_the_same_state_is_a_table_and_a_picture(missing):
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from memlessons.show import CacheSizer\n"
        "sizer = CacheSizer('llama-2-7b', context=1024)\n"
        "table, picture = sizer.forms()\n"
        "print(sizer.controls, sorted(table), sorted(picture)); sizer.show()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, rest = done.stdout.split("\n", 1)
    assert first == f"None ['text/html', 'text/plain'] ['{PLOTLY_MIMETYPE}', 'text/plain']"
    assert rest.startswith("llama-2-7b, 1 reader of 1,024 tokens")


def test_an_executed_and_tidied_notebook_holds_a_table_and_a_figure_and_no_widget():
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    from memlessons.book.tidy import settle

    cell = nbformat.v4.new_code_cell("from memlessons.show import CacheSizer\nCacheSizer(batch=3)")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", store_widget_state=False).execute()
    table, picture = cell.outputs
    assert WIDGET_MIMETYPE in table.data and WIDGET_MIMETYPE in picture.data
    settle(notebook)
    table, picture = cell.outputs
    assert set(table.data) == {"text/html", "text/plain"}
    assert "K and V of 3 readers" in table.data["text/html"]
    assert set(picture.data) == {PLOTLY_MIMETYPE, "text/plain"}
    assert picture.data[PLOTLY_MIMETYPE]["layout"]["meta"]["alt"].startswith("Two panels.")
    assert len(nbformat.writes(notebook)) < 60_000
