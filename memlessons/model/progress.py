"""How far a long piece of work is, told to whoever asked."""

import contextlib
from collections.abc import Callable, Iterator

# (what is being done, bytes done, bytes in all or 0 when unknown)
Report = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


@contextlib.contextmanager
def progress_bar() -> Iterator[Report]:
    """A bar on the terminal or in the notebook, one line for each kind of work."""
    # rich takes a quarter of a second to import: only where a bar is shown.
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
    )
    with Progress(*columns) as bar:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total or None)
            # A size stated in advance may be a little off; a bar above 100 % would look like a fault.
            bar.update(tasks[what], completed=min(done, total) if total else done)

        yield report
