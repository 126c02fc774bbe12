"""A check in a real kernel: it runs as the cell runs, and shows HTML with text beside it."""

import json
import os

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

CELLS = {
    "stub": "from memlessons.coursework import exercise, hint, recall, solution\n\n"
    "@exercise('00.1')\ndef room_left(need_bytes, card_gb, reserve_gib): ...",
    "wrong": "@exercise('00.1')\ndef room_left(need_bytes, card_gb, reserve_gib):\n"
    "    return card_gb * 10**9 - reserve_gib * 2**30 - need_bytes",
    "raises": "@exercise('00.1', seed=5)\ndef room_left(need_bytes, card_gb, reserve_gib):\n"
    "    total = card_gb * 10**9\n    return total / '<b>'",
    "right": "@exercise('00.1')\ndef room_left(need, gb, gib):\n"
    "    print('once')\n    return max(0, gb * 10**9 - gib * 2**30 - need)",
    "kept": "room_left(0, 1, 0)",
    "help": "hint('00.1')\nsolution('00.1')\nrecall('02')",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What a kernel answered to each cell, and the progress file that it left."""
    folder = tmp_path_factory.mktemp("work")
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    )
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3")
    client.execute(env=os.environ | {"MEMLESSONS_WORK": str(folder)})
    found = {
        name: [out.get("data", {"text": out.get("text")}) for out in cell.outputs]
        for name, cell in zip(CELLS, notebook.cells, strict=True)
    }
    return found | {"progress": json.loads((folder / "progress.json").read_text())["exercises"]}


def test_each_check_is_one_bundle_of_html_and_text(outputs):
    for name in ("stub", "wrong", "raises", "right"):
        assert set(outputs[name][0]) == {"text/html", "text/plain"}
    assert "not done yet" in outputs["stub"][0]["text/plain"]
    assert 'this looks like "negative room"' in outputs["wrong"][0]["text/plain"]


def test_the_readers_line_of_the_cell_is_shown_and_escaped(outputs):
    assert "line 4: return total / '<b>'" in outputs["raises"][0]["text/plain"]
    assert "<b>" not in outputs["raises"][0]["text/html"]


def test_prints_of_a_hundred_calls_do_not_fill_the_page_and_those_of_the_reader_do_show(outputs):
    assert len(outputs["right"]) == 1
    assert outputs["right"][0]["text/plain"].count("once") == 2
    assert outputs["kept"][0] == {"text": "once\n"}


def test_hint_solution_and_question_render(outputs):
    texts = [out["text/plain"] for out in outputs["help"]]
    assert texts[0].startswith("00.1, hint 1 of 3: ")
    assert "def room_left(" in texts[1]
    assert texts[2].startswith("From memory: ")


def test_what_was_done_is_kept(outputs):
    entry = outputs["progress"]["00.1"]
    assert (entry["tries"], entry["hints"]) == (3, 1)
    assert {"passed", "solution"} <= set(entry)
