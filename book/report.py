"""What the terminal shows while chapters run: a progress bar, then a line per chapter."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from memlessons.units import seconds_text

from .execute import Execution


class Board:
    """A progress bar over the cells of all chapters, and the lines that stay above it."""

    def __init__(self, console: Console, progress: Progress, chapters: int) -> None:
        self.console = console
        self._progress = progress
        self._chapters = chapters
        self._done = 0
        self._task: TaskID = progress.add_task("", total=1, visible=False)

    def begin(self, name: str, cells: int) -> None:
        """A chapter starts."""
        label = f"{name} ({self._done + 1} of {self._chapters})"
        self._progress.reset(self._task, total=cells, description=label, visible=True)

    def cell(self, index: int) -> None:
        """The cell at this index (from 0) starts."""
        self._progress.update(self._task, completed=index)

    def end(self, name: str, execution: Execution) -> None:
        """A chapter is through: print its line, and the last lines of its error."""
        self._done += 1
        self._progress.update(self._task, visible=False)
        seconds = seconds_text(execution.seconds)
        failure = execution.failure
        if failure is None:
            self.line(f"[green]ok[/]      {name:24} {seconds:>8}")
            return
        reason = escape(failure.reason)
        self.line(f"[red]failed[/]  {name:24} {seconds:>8}  in cell [bold]{failure.cell_id}[/]: {reason}")
        for text in failure.last_lines:
            self.line(f"        [dim]{escape(text)}[/]")

    def line(self, text: str) -> None:
        """Print one line above the bar; Rich markup is understood."""
        self.console.print(text, soft_wrap=True, highlight=False)

    def open_next(self, index: Path, first: str) -> None:
        """Say what to open now."""
        self.line(f"\nRead it:     open [bold]{escape(str(index))}[/] in a browser")
        self.line(f"Work on it:  [bold]memlessons start {first}[/], then [bold]make lab[/]")


@contextmanager
def board(chapters: int, console: Console | None = None) -> Iterator[Board]:
    """A board for that many chapters; without a terminal it prints the lines only."""
    console = console or Console()
    columns = (
        TextColumn("        {task.description:24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cells"),
        TimeElapsedColumn(),
    )
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with progress:
        yield Board(console, progress, chapters)
