"""Outputs without what only the machine that made them can use.

`settle` serves every executed notebook; `without_traces` adds what a committed one needs: the same
run on another machine must not differ in folders, addresses or process numbers.
"""

import re
import tempfile
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output

from memlessons.places import TREE, cache_folder

PLOTLY = "application/vnd.plotly.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDGET_NOTE = "A control stands here: run the notebook to turn it."
_KEPT_METADATA = {"tags"}
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
# The first part keeps a long line without spaces from being searched from each of its characters.
_KERNEL_FILE = re.compile(r"(?<![^\s\"'(])[^\s\"'(]*ipykernel_\d+[/\\]\d+\.py")
# The tree is shown as "."; the reader's own folder in it needs no such start, one beside it keeps its "..".
_READERS_FOLDER = re.compile(r"(?<!\.)\./(?=work[/\\])")
_TEMPORARY = "(temporary folder)"
# Names in there are drawn at random.
_INSIDE_TEMPORARY = re.compile(re.escape(_TEMPORARY) + r"[/\\][\w.-]+")
_PLOTLY_BUNDLE_CHARACTERS = 500_000


def settle(notebook: NotebookNode) -> None:
    """Replace, in place, live controls by a note, and drop timings, widget states and plotly.js copies.

    A control is dead without its kernel, and one stored widget figure weighs several megabytes.
    """
    notebook.metadata = NotebookNode(
        {key: value for key, value in notebook.metadata.items() if key in ("kernelspec", "language_info")}
    )
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k in _KEPT_METADATA})
        if cell.cell_type == "code":
            shown = [output for output in cell.outputs if not _is_plotly_bundle(output)]
            cell.outputs = _join_streams(shown)
            for output in cell.outputs:
                _settle_output(output)


def _join_streams(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """One stdout and one stderr, in this order, for each run of printed text between other outputs.

    A kernel sends prints in pieces whose number and order depend on the moment. (nbclient can join
    them, but moves what was printed after a figure before it, and takes quadratic time on long lines.)
    """
    joined = []
    for streams, group in groupby(outputs, key=lambda output: output.output_type == "stream"):
        if not streams:
            joined += list(group)
            continue
        texts = {"stdout": "", "stderr": ""}
        for output in group:
            texts[output.name] += output.text
        lines = {name: "\n".join(map(_last_overprint, text.split("\n"))) for name, text in texts.items()}
        joined += [new_output("stream", name=name, text=text) for name, text in lines.items() if text]
    return joined


def _last_overprint(line: str) -> str:
    """What a terminal would show of a line that a progress bar wrote over and over."""
    return line.rstrip("\r").split("\r")[-1]


def _is_plotly_bundle(output: NotebookNode) -> bool:
    data = output.get("data", {})
    html = "".join(data.get("text/html", ""))
    return PLOTLY not in data and len(html) > _PLOTLY_BUNDLE_CHARACTERS and "Plotly" in html


def _settle_output(output: NotebookNode) -> None:
    data = output.get("data")
    if data is None:
        return
    if PLOTLY in data:
        data.pop("text/html", None)
    if data.pop(WIDGET, None) is not None and not data.keys() - {"text/plain"}:
        data["text/plain"] = WIDGET_NOTE


def without_traces(notebook: NotebookNode, work: Path) -> None:
    """Replace, in place, this machine's folders, memory addresses and kernel files in all text outputs."""
    shown = _folders(work)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = _clean(output["text"], shown)
            if "traceback" in output:
                output["traceback"] = [_clean(line, shown) for line in output["traceback"]]
                output["evalue"] = _clean(output["evalue"], shown)
            for kind, value in output.get("data", {}).items():
                if kind.startswith("text/") and isinstance(value, str):
                    output["data"][kind] = _clean(value, shown)


def _folders(work: Path) -> dict[str, str]:
    """What to write for each local folder, the longest path first because the others may contain it."""
    known = {
        Path(tempfile.gettempdir()): _TEMPORARY,
        Path.home(): "~",
        TREE: ".",
        cache_folder().absolute(): "~/.cache/memlessons",
        work.absolute(): "work",
    }
    known |= {path.resolve(): name for path, name in known.items()}
    texts = {str(path): name for path, name in known.items() if path != Path(path.anchor)}
    return dict(sorted(texts.items(), key=lambda item: -len(item[0])))


def _clean(text: str, shown: Mapping[str, str]) -> str:
    text = _KERNEL_FILE.sub("(this cell)", text)
    for folder, name in shown.items():
        # Whole path components only: "/home/an" must not eat the start of "/home/anna".
        pattern = rf"(?<![\w.-]){re.escape(folder)}(?![\w-])"
        text = re.sub(pattern, name, text)
    text = _INSIDE_TEMPORARY.sub(_TEMPORARY, text)
    return _READERS_FOLDER.sub("", _ADDRESS.sub("0x…", text))
