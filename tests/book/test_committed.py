"""`make notebooks` and the check of what it wrote, on a tiny book."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from memlessons.book.__main__ import main
from memlessons.book.committed import MOST_BYTES, differences, regenerate, without_source
from memlessons.book.pictures import drawing
from memlessons.book.sources import Chapter, notebook_text, read

Write = Callable[[dict[str, str]], tuple[Chapter, ...]]


def _blank(figure: Mapping[str, Any], kind: str) -> bytes:
    return b"<svg ></svg>"


def _heavy(figure: Mapping[str, Any], kind: str) -> bytes:
    return b"<svg >" + b"<g/>" * 50_000 + b"</svg>" if kind == "svg" else b"PNG"


@pytest.mark.browser
def test_committed_notebooks_have_static_pictures_and_no_trace_of_the_machine(
    good: Chapter, work: Path, tmp_path: Path, shown: Any
) -> None:
    written = []
    with drawing() as draw:
        for run in ("one", "two"):
            assert regenerate([good], tmp_path / run, draw, shown.board), shown.text
            written.append((tmp_path / run / "01_good.ipynb").read_text(encoding="utf-8"))
    assert written[0] == written[1]
    assert len(written[0].encode()) < MOST_BYTES
    assert str(Path.home()) not in written[0] and str(tmp_path) not in written[0]

    notebook = nbformat.reads(written[0], as_version=4)
    nbformat.validate(notebook)
    figure = notebook.cells[2].outputs[0]
    alt = 'A line with a "peak"'
    assert set(figure.data) == {"application/vnd.plotly.v1+json", "image/svg+xml", "text/plain"}
    assert figure.data["text/plain"] == alt == figure.metadata["image/svg+xml"]["alt"]
    picture = ElementTree.fromstring(figure.data["image/svg+xml"])
    assert picture.attrib["aria-label"] == alt and picture.attrib["role"] == "img"
    assert figure.data["image/svg+xml"].count("<path") > 3
    assert re.search(r"0x…>", "".join(output.get("text", "") for output in notebook.cells[4].outputs))
    assert differences(good, tmp_path / "one") == []


def test_a_heavy_picture_becomes_a_png(good: Chapter, work: Path, tmp_path: Path, shown: Any) -> None:
    assert regenerate([good], tmp_path, _heavy, shown.board), shown.text
    figure = nbformat.read(tmp_path / "01_good.ipynb", as_version=4).cells[2].outputs[0]
    assert "image/svg+xml" not in figure.data and figure.data["image/png"] == "UE5H"
    assert figure.metadata["image/png"]["alt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("print(os.getcwd(), object())", 'print("x" * 600_000)'),
            r"more than 500 kB: show less in 01-where \(",
        ),
        (('meta={"alt": "A line with a \\"peak\\""}', "meta=None"), r"'01-figure' has no alt text"),
        (("ipywidgets.IntSlider(value=3)", "missing_name"), r"in cell 01-control: NameError"),
    ],
)
def test_a_chapter_that_must_not_be_committed_leaves_the_old_notebook(
    good: Chapter, work: Path, tmp_path: Path, shown: Any, change: tuple[str, str], message: str
) -> None:
    text = good.source.read_text(encoding="utf-8")
    assert change[0] in text
    good.source.write_text(text.replace(*change), encoding="utf-8")
    (tmp_path / "01_good.ipynb").write_text("old", encoding="utf-8")
    assert not regenerate([good], tmp_path, _blank, shown.board)
    assert re.search(message, shown.text)
    assert (tmp_path / "01_good.ipynb").read_text(encoding="utf-8") == "old"


def _change_source(cells: list[dict[str, Any]]) -> None:
    cells[1]["source"] = "import torch"


def _change_id(cells: list[dict[str, Any]]) -> None:
    cells[1]["id"] = "other"


def _change_type(cells: list[dict[str, Any]]) -> None:
    cells[0]["cell_type"] = "raw"


def _change_tags(cells: list[dict[str, Any]]) -> None:
    cells[2]["metadata"]["tags"] = []


def _change_order(cells: list[dict[str, Any]]) -> None:
    cells[1], cells[2] = cells[2], cells[1]


def _remove_one(cells: list[dict[str, Any]]) -> None:
    del cells[-1]


def _add_one(cells: list[dict[str, Any]]) -> None:
    cells.append({"cell_type": "markdown", "id": "extra", "metadata": {}, "source": ""})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_change_source, "01_good.ipynb, cell 01-first: the text differs from the source"),
        (_change_id, "01_good.ipynb lacks the cell 01-first"),
        (_change_type, "01_good.ipynb, cell 01-open: a raw cell, in the source markdown"),
        (_change_tags, "01_good.ipynb, cell 01-figure: the tags differ from the source"),
        (_change_order, "01_good.ipynb has its cells in another order"),
        (_remove_one, "01_good.ipynb lacks the cell 01-where"),
        (_add_one, "01_good.ipynb has a cell extra that is not in the source"),
    ],
)
def test_the_check_sees_every_difference_between_a_notebook_and_its_source(
    good: Chapter, tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], message: str
) -> None:
    path = tmp_path / "01_good.ipynb"
    path.write_text(notebook_text(read(good.source)), encoding="utf-8")
    assert differences(good, tmp_path) == []
    notebook = json.loads(path.read_text(encoding="utf-8"))
    change(notebook["cells"])
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert message in differences(good, tmp_path)


def test_the_check_sees_missing_and_orphaned_notebooks(good: Chapter, tmp_path: Path) -> None:
    (tmp_path / "09_orphan.ipynb").write_text("{}", encoding="utf-8")
    assert differences(good, tmp_path) == ["01_good.ipynb does not exist"]
    assert without_source([good], tmp_path) == ["09_orphan.ipynb has no source"]


def test_the_commands_exit_code_says_whether_notebooks_equal_their_sources(
    good: Chapter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["check", "--source", str(good.source.parent), "--to", str(tmp_path)]
    path = tmp_path / "01_good.ipynb"
    path.write_text(notebook_text(read(good.source)), encoding="utf-8")
    assert main(command) == 0
    path.write_text(path.read_text(encoding="utf-8").replace("lesson", "lessen"), encoding="utf-8")
    assert main(command) == 1
    assert "make notebooks" in capsys.readouterr().out
    assert main([*command, "07"]) == 1
    assert "there is no chapter 07; there are: 01" in capsys.readouterr().err
