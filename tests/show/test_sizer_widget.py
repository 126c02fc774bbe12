"""The sizer's shell: driven without a browser, stored without its state, and without ipywidgets at all."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest

from memlessons.show import CacheSizer, SizerState
from memlessons.show.sizer import WIDGET_MIMETYPE
from memlessons.show.sizer_picture import sizer_figure
from memlessons.show.theme import PLOTLY_MIMETYPE
from memlessons.sizing.whatif import Edit
from tests.show.test_sizer import OWN

pytest.importorskip("ipywidgets")
pytest.importorskip("anywidget")

TORN = '{"model_type": "llama",'


@pytest.fixture
def sizer():
    return CacheSizer("llama-3.1-8b", context=4096)


def same(live, state):
    """Whether a live figure shows what a fresh one of this state would."""
    fresh = sizer_figure(state)
    for old, new in zip(live.data, fresh.data, strict=True):
        assert list(old.x) == list(new.x) and list(old.y) == list(new.y)
        assert list(old.customdata) == list(new.customdata)
        assert old.marker.pattern.shape == new.marker.pattern.shape if old.type == "bar" else True
    assert [n.text for n in live.layout.annotations] == [n.text for n in fresh.layout.annotations]
    assert live.layout.title.text == fresh.layout.title.text
    for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2", "xaxis3", "yaxis3"):
        for part in ("range", "tickvals", "ticktext", "domain"):
            assert live.layout[axis][part] == fresh.layout[axis][part]
    assert (live.layout.height, live.layout.meta["alt"]) == (fresh.layout.height, fresh.alt)
    return True


def test_moving_the_controls_changes_state_numbers_and_figure(sizer):
    fields = sizer.controls.fields
    assert "512 MiB at 4,096 tokens" in sizer.controls.numbers.value
    fields["context"].value = 8192
    assert sizer.state == SizerState("llama-3.1-8b", context=8192)
    assert "1.00 GiB at 8,192 tokens" in sizer.controls.numbers.value
    fields["batch"].value = 30
    assert "all 30 sequences" in sizer.controls.numbers.value
    fields["key_format"].value = fields["value_format"].value = "q8_0"
    fields["card"].value = "H200 SXM"
    fields["tp"].value = 2
    fields["engine"].value = "llama.cpp"
    fields["reserve_gib"].value = 1.5
    wanted = SizerState("llama-3.1-8b", 8192, 30, "q8_0", "q8_0", "H200 SXM", 2, "llama.cpp", reserve_gib=1.5)
    assert sizer.state == wanted and sizer.answer == wanted.answer()
    assert same(sizer.controls.figure, sizer.state)


def test_a_model_with_a_shorter_memory_says_so_and_the_wish_survives(sizer):
    fields = sizer.controls.fields
    fields["context"].value = 65_536
    fields["preset"].value = "llama-2-7b"
    assert fields["context"].value == 4096 and max(v for _, v in fields["context"].options) == 4096
    assert "You asked for 65,536 tokens" in sizer.controls.numbers.value
    fields["batch"].value = 8
    assert sizer.state.context == 65_536
    assert same(sizer.controls.figure, sizer.state)
    fields["preset"].value = "llama-3.1-8b"
    assert fields["context"].value == 65_536
    assert "You asked" not in sizer.controls.numbers.value


def test_setting_the_state_moves_the_controls_once_and_calls_nothing_back(sizer):
    wanted = SizerState(
        "gemma-3-27b",
        5001,
        777,
        card="B200 SXM",
        tp=3,
        engine="llama.cpp",
        edits=(Edit("one_kv_head"),),
        config=None,
    )
    figure = sizer.controls.figure
    sizer.state = wanted
    fields = sizer.controls.fields
    assert [fields[n].value for n in ("preset", "context", "batch", "tp")] == ["gemma-3-27b", 5001, 777, 3]
    assert sizer.state == wanted
    assert sizer.controls.figure is figure and same(figure, wanted)


def test_edits_are_added_removed_and_taken_back(sizer):
    edits = sizer.controls.edits
    assert edits.taken.layout.display == "none"
    edits.kind.value = "one_kv_head"
    edits.add.click()
    edits.kind.value = "window"
    assert edits.every.layout.display is None
    edits.value.value, edits.every.value, edits.sinks.value = 1024, 4, 4
    edits.add.click()
    assert sizer.state.edits == (Edit("one_kv_head"), Edit("window", 1024, every=4, sinks=4))
    assert edits.taken.layout.display is None and edits.every.layout.display is None
    assert edits.list.options[0] == "1. one KV head: × 8.0, in all × 8.0"
    assert edits.list.index == 1
    assert same(sizer.controls.figure, sizer.state)
    edits.list.index = 0
    edits.remove.click()
    assert sizer.state.edits == (Edit("window", 1024, every=4, sinks=4),) and edits.list.index == 0
    edits.kind.value = "format"
    edits.value.value = "int8"
    edits.add.click()
    assert sizer.state.edits[-1] == Edit("format", format="int8")
    edits.back.click()
    assert sizer.state == SizerState("llama-3.1-8b", context=4096)
    edits.remove.click()  # nothing is chosen, nothing happens
    assert sizer.state.edits == () and same(sizer.controls.figure, sizer.state)


def test_edits_that_another_model_cannot_take_are_kept_and_say_so(sizer):
    sizer.controls.edits.kind.value = "one_kv_head"
    sizer.controls.edits.add.click()
    sizer.controls.fields["preset"].value = "deepseek-r1"
    assert "not possible here: one KV head" in sizer.controls.edits.list.options[0]
    sizer.controls.fields["preset"].value = "llama-3.1-8b"
    assert "× 8.0" in sizer.controls.edits.list.options[0]


def test_every_change_offered_is_one_that_some_model_takes(sizer):
    edits = sizer.controls.edits
    for _, kind in edits.kind.options:
        edits.kind.value = kind
        for _, value in edits.value.options:
            edits.value.value = value
            assert edits.chosen().kind == kind and edits.chosen().name


def test_a_bad_configuration_is_named_and_the_last_good_numbers_stay(sizer):
    controls = sizer.controls
    before = controls.numbers.value
    assert controls.own.panel.layout.display == "none"
    controls.fields["preset"].value = ""
    assert controls.own.panel.layout.display is None and "Paste" in controls.message.value
    for text, says in ((TORN, "BadConfig"), ('{"model_type": "<i>x"}', "UnknownArchitecture")):
        controls.own.text.value = text
        assert says in controls.message.value and 'role="alert"' in controls.message.value
        assert "still those of llama-3.1-8b: 1 sequence" in controls.message.value
        assert "<i>x" not in controls.message.value
        assert controls.numbers.value == before and sizer.state == SizerState("llama-3.1-8b")
    controls.own.text.value = OWN
    assert controls.message.value == "" and sizer.state.config == OWN
    assert "2,048 tokens" in controls.numbers.value and same(controls.figure, sizer.state)
    controls.fields["preset"].value = "llama-2-7b"
    assert sizer.state.config is None and controls.own.panel.layout.display == "none"
    controls.fields["preset"].value = ""
    assert sizer.state.config == OWN


def upload(sizer, content, name="config.json"):
    file = {
        "name": name,
        "content": memoryview(content),
        "type": "",
        "size": len(content),
        "last_modified": 0,
    }
    sizer.controls.own._uploaded({"new": (file,)})


def test_an_uploaded_file_is_a_pasted_one_and_a_bad_one_is_named(sizer):
    sizer.controls.fields["preset"].value = ""
    upload(sizer, b"\xef\xbb\xbf" + OWN.encode())
    assert sizer.state.config == OWN and sizer.controls.own.text.value == OWN
    upload(sizer, b"\xff\xfe\x00", "weights.bin")
    assert "BadConfig: weights.bin is no text" in sizer.controls.message.value
    upload(sizer, b" " * (16 * 2**20 + 1))
    assert "at most 16,777,216" in sizer.controls.message.value
    assert sizer.state.config == OWN


def test_what_an_engine_cannot_store_is_named_and_another_engine_can(sizer):
    fields = sizer.controls.fields
    fields["engine"].value = "vllm"
    fields["key_format"].value = "int4"
    assert "BadEngineArgument: vllm does not store" in sizer.controls.message.value
    assert sizer.state.key_format == "bf16"
    fields["engine"].value = "ideal"
    assert sizer.controls.message.value == "" and sizer.state.key_format == "int4"
    assert same(sizer.controls.figure, sizer.state)


def test_the_field_to_copy_from_follows_the_state(sizer):
    copy = sizer.controls.copy
    sizer.controls.fields["context"].value = 8192
    assert "context=8192" in copy.python and "--max-model-len 8192" in copy.flags


def test_a_slider_has_powers_of_two_and_finer_steps_up_to_the_longest(sizer):
    values = [value for _, value in sizer.controls.fields["context"].options]
    assert values == sorted(set(values))
    assert {2**i for i in range(18)} <= set(values) and values[-1] == 131_072
    assert all(b / a <= 1.13 for a, b in pairwise(values) if a >= 8)
    sequences = [value for _, value in sizer.controls.fields["batch"].options]
    assert sequences[0] == 1 and sequences[-1] == 1024
    huge = CacheSizer(batch=5000, tp=3)
    assert huge.controls.fields["batch"].value == 5000 == huge.state.batch
    assert huge.controls.fields["tp"].value == 3


def test_every_control_is_named(sizer):
    controls = sizer.controls
    widgets = [*controls.fields.values(), controls.own.text, controls.edits.kind, controls.edits.value]
    assert all(widget.description for widget in [*widgets, controls.edits.list, controls.edits.add])


def test_each_output_has_a_live_and_a_still_form(sizer):
    table, picture = sizer.forms()
    assert set(table) == {WIDGET_MIMETYPE, "text/html", "text/plain"}
    assert set(picture) == {WIDGET_MIMETYPE, PLOTLY_MIMETYPE, "text/plain"}
    assert table[WIDGET_MIMETYPE]["model_id"] == sizer.controls.panel.model_id
    assert picture[WIDGET_MIMETYPE]["model_id"] == sizer.controls.below.model_id
    assert len(json.dumps([table, picture])) < 60_000
    sizer.controls.fields["context"].value = 8192
    assert "8,192" in sizer.forms()[0]["text/html"]


def test_a_shell_gets_text(sizer, capsys):
    sizer.show()
    printed = capsys.readouterr().out
    assert printed == repr(sizer) + "\n"
    assert printed.startswith("llama-3.1-8b: 1 sequence of 4,096 tokens")
    assert sizer.explain().startswith("llama-3.1-8b with 1 sequence of 4,096 tokens")


def test_one_format_stands_for_both_unless_two_are_given():
    assert CacheSizer(key_format="fp8").state.value_format == "fp8"
    assert CacheSizer(key_format="fp8", value_format="int4").state.value_format == "int4"


def test_all_that_a_state_holds_can_be_given():
    sizer = CacheSizer(tp=2, engine="sglang", config=OWN, edits=[Edit("share", 2)], reserve_gib=1)
    assert sizer.state == SizerState(
        tp=2, engine="sglang", config=OWN, edits=(Edit("share", 2),), reserve_gib=1
    )
    assert sizer.controls.fields["preset"].value == "" and sizer.controls.own.text.value == OWN
    assert sizer.waterfall[-1].running == 2


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
    assert rest.startswith("llama-2-7b: 1 sequence of 1,024 tokens")


def test_an_executed_and_tidied_notebook_holds_a_table_and_a_figure_and_no_widget():
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    from memlessons.book.tidy import settle

    code = (
        "from memlessons.show import CacheSizer\nfrom memlessons.sizing.whatif import Edit\n"
        "CacheSizer(batch=3, edits=[Edit('one_kv_head'), Edit('share', 2)])"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    (cell,) = notebook.cells
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", store_widget_state=False).execute()
    table, picture = cell.outputs
    assert WIDGET_MIMETYPE in table.data and WIDGET_MIMETYPE in picture.data
    settle(notebook)
    table, picture = cell.outputs
    assert set(table.data) == {"text/html", "text/plain"}
    assert "all 3 sequences" in table.data["text/html"] and "× 16.0" in table.data["text/html"]
    assert set(picture.data) == {PLOTLY_MIMETYPE, "text/plain"}
    assert picture.data[PLOTLY_MIMETYPE]["layout"]["meta"]["alt"].startswith("Three panels.")
    assert len(nbformat.writes(notebook)) < 60_000
