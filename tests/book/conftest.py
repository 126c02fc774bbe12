"""A tiny book in a temporary folder; the real one is never written to."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from memlessons.book.report import Board, board
from memlessons.book.sources import Chapter, chapters

GOOD = """\
# %% [markdown] id="01-open"
# # A good chapter
# The ridge is $\\frac{2G}{b}$.

# %% id="01-first"
import memlessons

memlessons.lesson("01")


# %% id="01-figure" tags=["figure"]
import plotly.graph_objects as go

figure = go.Figure(go.Scatter(y=[1, 3, 2]))
figure.update_layout(title="</script> is text", meta={"alt": "A line with a \\"peak\\""})
figure

# %% id="01-control"
import ipywidgets

ipywidgets.IntSlider(value=3)

# %% id="01-where"
import os
import warnings

warnings.warn("careful", stacklevel=1)
print(os.getcwd(), object())
"""

FAILING = """\
# %% [markdown] id="02-open"
# # A failing chapter

# %% id="02-fails"
print("before")
missing_name

# %% id="02-after"
print("never")
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., tuple[Chapter, ...]]:
    """`write({"01_good": text, ...})` writes sources into the temporary folder and lists its chapters."""

    def write_sources(sources: dict[str, str]) -> tuple[Chapter, ...]:
        folder = tmp_path / "source"
        folder.mkdir(exist_ok=True)
        for name, text in sources.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        return chapters(folder)

    return write_sources


@pytest.fixture
def good(write: Callable[..., tuple[Chapter, ...]]) -> Chapter:
    return write({"01_good": GOOD})[0]


@pytest.fixture
def failing() -> str:
    return FAILING


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work folder of this test alone."""
    folder = tmp_path / "work"
    monkeypatch.setenv("MEMLESSONS_WORK", str(folder))
    return folder


class Shown:
    """A board and what it printed."""

    def __init__(self, board: Board, stream: io.StringIO) -> None:
        self.board = board
        self._stream = stream

    @property
    def text(self) -> str:
        return self._stream.getvalue()


@pytest.fixture
def shown() -> Iterator[Shown]:
    stream = io.StringIO()
    with board(2, Console(file=stream, width=200)) as running:
        yield Shown(running, stream)
