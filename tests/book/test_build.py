"""What `make book` does, on a tiny book."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

from memlessons.book.build import build
from memlessons.book.execute import kernel_environment
from memlessons.book.sources import Chapter
from memlessons.places import TREE

Write = Callable[[dict[str, str]], tuple[Chapter, ...]]


def _committed() -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (TREE / "book").glob("*.ipynb")}


class _Loads(HTMLParser):
    """Everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (
                value
                and (name == "src" or (name == "href" and tag == "link"))
                and not value.startswith("data:")
            ):
                self.addresses.append(value)


def test_a_failing_chapter_is_shown_and_the_others_go_on(
    write: Write, good: Chapter, failing: str, work: Path, tmp_path: Path, shown: Any
) -> None:
    before = _committed()
    # The failing chapter runs first: what comes after it must not suffer.
    chapters = write({"00_failing": failing.replace("02-", "00-")})
    to = tmp_path / "_build"
    assert not build(chapters, to, shown.board)

    names = {path.name for path in to.iterdir()}
    files = {f"{chapter.name}.{kind}" for chapter in chapters for kind in ("ipynb", "html", "json")}
    assert names == files | {"index.html"}
    assert _committed() == before

    partial = nbformat.read(to / "00_failing.ipynb", as_version=4)
    assert [output.output_type for output in partial.cells[1].outputs] == ["stream", "error"]
    assert partial.cells[2].execution_count is None
    failed_page = (to / "00_failing.html").read_text(encoding="utf-8")
    assert "missing_name" in failed_page and "NameError" in failed_page
    assert re.search(r"failed +00_failing .* in cell 00-fails: NameError: name 'missing_name'", shown.text)
    assert re.search(r"ok +01_good +\d", shown.text)

    index = (to / "index.html").read_text(encoding="utf-8")
    assert "stopped in cell 00-fails" in index and 'href="01_good.html">A good chapter' in index

    executed = nbformat.read(to / "01_good.ipynb", as_version=4)
    assert [cell.id for cell in executed.cells] == [
        "01-open",
        "01-first",
        "01-figure",
        "01-control",
        "01-where",
    ]
    assert list(executed.cells[2].outputs[0].data) == ["application/vnd.plotly.v1+json"]
    assert "run the notebook" in executed.cells[3].outputs[0].data["text/plain"]
    assert str(work) in "".join(output.get("text", "") for output in executed.cells[4].outputs)


def test_a_page_needs_no_network_and_says_its_figures_in_words(
    good: Chapter, work: Path, tmp_path: Path, shown: Any
) -> None:
    assert build([good], tmp_path, shown.board)
    page = (tmp_path / "01_good.html").read_text(encoding="utf-8")
    assert page.count("plotly.js v") == 1
    assert 'role="img" aria-label="A line with a &quot;peak&quot;"' in page or (
        'A line with a "peak"' in page and 'role="img"' in page
    )
    assert "\\u003c/script> is text" in page
    assert "<mfrac>" in page and "frac{2G}" not in page
    loads = _Loads()
    loads.feed(re.sub(r"<script.*?</script>", lambda m: m[0].split(">")[0] + ">", page, flags=re.DOTALL))
    assert loads.addresses == []


def test_a_cell_that_runs_too_long_stops_its_chapter_only(
    write: Write, work: Path, tmp_path: Path, shown: Any
) -> None:
    slow = '# %% id="01-slow"\nimport time\ntime.sleep(60)\n'
    assert not build(write({"01_slow": slow}), tmp_path / "out", shown.board, cell_seconds=1)
    assert "in cell 01-slow: the cell ran longer than 1 s" in shown.text
    notebook = nbformat.read(tmp_path / "out" / "01_slow.ipynb", as_version=4)
    assert notebook.cells[0].outputs[-1].ename == "CellTimeout"


def test_a_dying_kernel_is_named(write: Write, work: Path, tmp_path: Path, shown: Any) -> None:
    dying = '# %% id="01-dies"\nimport os\nos._exit(1)\n'
    assert not build(write({"01_dies": dying}), tmp_path / "out", shown.board)
    assert "in cell 01-dies: the kernel died" in shown.text


def test_a_chapter_sees_the_readers_pace_and_work_folder(
    write: Write, work: Path, tmp_path: Path, shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMLESSONS_PACE", "quick")
    look = (
        '# %% id="01-look"\nimport memlessons\n\nmemlessons.lesson("01")\n'
        "import json\n\nfrom memlessons.places import TREE, pace, work_folder\n\n"
        "print(json.dumps([pace(), str(work_folder()), str(TREE)]))\n"
    )
    assert build(write({"01_look": look}), tmp_path / "out", shown.board)
    notebook = nbformat.read(tmp_path / "out" / "01_look.ipynb", as_version=4)
    assert json.loads(notebook.cells[0].outputs[0].text) == ["quick", str(work), str(TREE)]


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send Ctrl-C to one process")
def test_ctrl_c_keeps_finished_chapters_leaves_no_half_file_and_no_kernel(
    write: Write, work: Path, tmp_path: Path
) -> None:
    waiting = (
        '# %% id="02-wait"\nimport os, pathlib, time\n'
        'pathlib.Path("pid").write_text(str(os.getpid()))\ntime.sleep(120)\n'
    )
    write({"01_fine": '# %% id="01-fine"\n1\n', "02_wait": waiting})
    to = tmp_path / "out"
    command = [sys.executable, "-m", "memlessons.book", "build", "--to", str(to)]
    environment = os.environ | {"PYTHONPATH": str(TREE), "MEMLESSONS_WORK": str(work)}
    with subprocess.Popen(
        [*command, "--source", str(tmp_path / "source")],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        deadline = time.monotonic() + 60
        while not (work / "pid").is_file() or not (work / "pid").read_text():
            assert running.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors
    assert "finished chapters are kept" in errors and "Traceback" not in errors
    assert sorted(path.name for path in to.iterdir()) == ["01_fine.html", "01_fine.ipynb", "01_fine.json"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((work / "pid").read_text()), 0)


def test_a_tree_that_was_not_installed_reaches_its_kernels(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setattr("memlessons.book.execute._found_from_anywhere", lambda: False)
    assert kernel_environment(work)["PYTHONPATH"] == os.pathsep.join([str(TREE), "/elsewhere"])
    monkeypatch.setattr("memlessons.book.execute._found_from_anywhere", lambda: True)
    assert kernel_environment(work)["PYTHONPATH"] == "/elsewhere"
