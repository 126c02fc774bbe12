"""Committed outputs do not depend on where they were made."""

import tempfile
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from memlessons.book.tidy import PLOTLY, WIDGET, settle, without_traces
from memlessons.places import TREE, cache_folder


def _notebook(*outputs: NotebookNode) -> NotebookNode:
    cell = nbformat.v4.new_code_cell("1", id="a", outputs=list(outputs))
    return nbformat.v4.new_notebook(cells=[cell])


def _display(**data: object) -> NotebookNode:
    return nbformat.v4.new_output("display_data", data={key.replace("_", "/"): v for key, v in data.items()})


@pytest.mark.parametrize(
    ("printed", "committed"),
    [
        ("{home}/notes.txt", "~/notes.txt"),
        ("file://{home}/notes.txt", "file://~/notes.txt"),
        ("{tree}/book/x.json and {tree}", "./book/x.json and ."),
        ("{reader}/scoreboard.json", "work/scoreboard.json"),
        ("saved in {work}/scoreboard.json", "saved in work/scoreboard.json"),
        ("{cache}/models/m.gguf", "~/.cache/memlessons/models/m.gguf"),
        ("{temp}/tmpx8a_2/file", "(temporary folder)/file"),
        ("{temp}/ipykernel_123/456.py:4: UserWarning: x", "(this cell):4: UserWarning: x"),
        ("<object object at 0x7f2cbe253200>", "<object object at 0x…>"),
        ("the mask 0xff, {home}-x, 1{home}", "the mask 0xff, {home}-x, 1{home}"),
    ],
)
def test_local_folders_and_addresses_are_replaced(tmp_path: Path, printed: str, committed: str) -> None:
    work = tmp_path / "work"
    local = {"home": Path.home(), "tree": TREE, "work": work, "cache": cache_folder()}
    local["reader"] = TREE / "work"
    local["temp"] = Path(tempfile.gettempdir())
    text = printed.format(**local)
    notebook = _notebook(
        nbformat.v4.new_output("stream", text=text),
        _display(text_plain=text, text_html=text, image_png=text),
        nbformat.v4.new_output("error", ename="E", evalue=text, traceback=[text]),
    )
    without_traces(notebook, work)
    stream, display, error = notebook.cells[0].outputs
    expected = committed.format(**local)
    assert [stream.text, display.data["text/plain"], display.data["text/html"]] == [expected] * 3
    assert [error.evalue, *error.traceback] == [expected] * 2
    assert display.data["image/png"] == text


def test_controls_timings_and_plotly_copies_go() -> None:
    control = nbformat.v4.new_output(
        "display_data", data={WIDGET: {"model_id": "1"}, "text/plain": "IntSlider()"}
    )
    pictured = nbformat.v4.new_output(
        "display_data", data={WIDGET: {"model_id": "2"}, "image/png": "x", "text/plain": "Box()"}
    )
    figure = nbformat.v4.new_output("display_data", data={PLOTLY: {"data": []}, "text/html": "<div>" * 9})
    bundle = nbformat.v4.new_output("display_data", data={"text/html": "Plotly" * 100_000})
    table = nbformat.v4.new_output("display_data", data={"text/html": "<table>"})
    notebook = _notebook(control, pictured, figure, bundle, table)
    notebook.metadata = NotebookNode(kernelspec={"name": "python3"}, widgets={"state": 1})
    notebook.metadata["language_info"] = NotebookNode(name="python", version="3.11.2")
    notebook.cells[0].metadata = NotebookNode(tags=["x"], execution={"started": "now"})
    settle(notebook)
    outputs = notebook.cells[0].outputs
    assert [list(output.data) for output in outputs] == [
        ["text/plain"],
        ["image/png", "text/plain"],
        [PLOTLY],
        ["text/html"],
    ]
    assert "IntSlider" not in outputs[0].data["text/plain"] and outputs[1].data["text/plain"] == "Box()"
    assert notebook.metadata == {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}}
    assert notebook.cells[0].metadata == {"tags": ["x"]}


def test_printed_pieces_are_joined_but_stay_on_their_side_of_a_figure() -> None:
    pieces = [("stdout", "a"), ("stderr", "w\n"), ("stdout", "b\n10 %\r"), ("stdout", "99 %\r100 %\n"), None]
    pieces += [("stderr", "late"), None, ("stdout", "\r\n")]
    outputs = [
        nbformat.v4.new_output("stream", name=piece[0], text=piece[1]) if piece else _display(image_png="x")
        for piece in pieces
    ]
    notebook = _notebook(*outputs)
    settle(notebook)
    found = [(output.get("name"), output.get("text")) for output in notebook.cells[0].outputs]
    assert found == [
        ("stdout", "ab\n100 %\n"),
        ("stderr", "w\n"),
        (None, None),
        ("stderr", "late"),
        (None, None),
        ("stdout", "\n"),
    ]
