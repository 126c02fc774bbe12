"""Run one chapter in a fresh kernel of this very Python."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import zmq
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from memlessons.places import TREE

CELL_SECONDS = 1800
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Failure:
    """The cell that stopped a chapter, why, and the last lines of its traceback, without colours."""

    cell_id: str
    reason: str
    last_lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """A chapter that ran: the notebook with its outputs, wall-clock seconds, the failure if any."""

    notebook: NotebookNode
    seconds: float
    failure: Failure | None


class _ThisPython(KernelSpecManager):
    """Kernels of the running interpreter, whatever kernels the reader has installed elsewhere."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The same kernel for every name."""
        return KernelSpec(**get_kernel_dict())


class _Client(NotebookClient):
    """A client in which Ctrl-C ends the run; nbclient's own handler makes it look like a dead kernel."""

    interrupted = False

    async def async_start_new_kernel(self, **kwargs: Any) -> None:
        """Start the kernel; from here on Ctrl-C is ours."""
        task = asyncio.current_task()

        def interrupt() -> None:
            self.interrupted = True
            self.shutdown_kernel = "immediate"
            if task is not None:
                task.cancel()

        # Not there: Windows, or a thread that is not the main one; there Ctrl-C needs no handler.
        with suppress(RuntimeError):
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, interrupt)
        await super().async_start_new_kernel(**kwargs)


def execute(
    notebook: NotebookNode,
    work: Path,
    *,
    cell_seconds: int = CELL_SECONDS,
    on_cell: Callable[[int], None] = lambda index: None,
) -> Execution:
    """Run all cells of a notebook in order, in place, up to the first that fails.

    The kernel runs in `work`, which also becomes its MEMLESSONS_WORK. `on_cell(index)` is called
    before each code cell. A failing cell keeps its error output; a cell marked with the tag
    `raises-exception` may fail. Raises KeyboardInterrupt on Ctrl-C, after the kernel is gone.
    """
    work.mkdir(parents=True, exist_ok=True)
    current: list[NotebookNode] = []

    def started(cell: NotebookNode, cell_index: int) -> None:
        current[:] = [cell]
        on_cell(cell_index)

    manager = _kernel_manager()
    client = _Client(
        notebook,
        km=manager,
        timeout=cell_seconds,
        startup_timeout=120,
        record_timing=False,
        store_widget_state=False,
        on_cell_start=started,
    )
    begin = time.perf_counter()
    failure = None
    # A kernel's own messages are not for the reader's terminal; they matter only when it dies.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            streams = {"stdout": log, "stderr": log}
            asyncio.run(_run(client, manager, cwd=str(work), env=kernel_environment(work), **streams))
        except CellExecutionError as error:
            failure = _failure(current[0], f"{error.ename}: {error.evalue}", error.traceback)
        except CellTimeoutError:
            failure = _stop(current[0], "CellTimeout", f"the cell ran longer than {cell_seconds} s")
        except (RuntimeError, asyncio.CancelledError) as error:
            if client.interrupted:
                raise KeyboardInterrupt from None
            log.seek(0)
            if not current:
                failure = _stop(notebook.cells[0], "KernelDied", "the kernel did not start", log.read())
            elif isinstance(error, DeadKernelError):
                text = "the kernel died; most often the machine ran out of memory"
                failure = _stop(current[0], "KernelDied", text, log.read())
            else:
                raise
    return Execution(notebook, time.perf_counter() - begin, failure)


def _kernel_manager() -> AsyncKernelManager:
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=_ThisPython())
    # Newer kernels warn in the reader's terminal about plain connections; older managers know no others.
    if manager.has_trait("transport_encryption") and zmq.has("curve"):
        manager.transport_encryption = "auto"
    return manager


async def _run(client: NotebookClient, manager: AsyncKernelManager, **kwargs: Any) -> None:
    try:
        await client.async_execute(cleanup_kc=True, **kwargs)
    finally:
        # nbclient leaves a kernel alone that was interrupted while it started.
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)


def kernel_environment(work: Path) -> dict[str, str]:
    """The environment of a chapter's kernel: small plotly outputs, `work`, and this memlessons."""
    environment = dict(os.environ)
    environment["PLOTLY_RENDERER"] = "plotly_mimetype"
    environment["MEMLESSONS_WORK"] = str(work.absolute())
    # The debugger's warning about frozen modules would land in the reader's terminal.
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    if not _found_from_anywhere():
        paths = [str(TREE), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


@cache
def _found_from_anywhere() -> bool:
    """Whether a new interpreter, started in another folder, imports this same memlessons."""
    look = "import importlib.util as u; s = u.find_spec('memlessons'); print(s.origin if s else '')"
    ran = subprocess.run([sys.executable, "-c", look], cwd=Path.home().anchor, capture_output=True, text=True)
    origin = ran.stdout.strip()
    return bool(origin) and Path(origin).resolve().parent.parent == TREE


def _failure(cell: NotebookNode, reason: str, traceback: str) -> Failure:
    lines = [line for line in _ANSI.sub("", traceback).splitlines() if line.strip()]
    return Failure(cell.id, _ANSI.sub("", reason).split("\n")[0], tuple(lines[-8:]))


def _stop(cell: NotebookNode, name: str, text: str, log: str = "") -> Failure:
    """A failure without a traceback of its own; the notebook gets one, so that a reader sees it."""
    if cell.cell_type == "code":
        error = nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])
        cell.outputs.append(error)
    return _failure(cell, text, log)
