"""A real JupyterLab, driven by a headless Chromium: the part that tests share."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from playwright.sync_api import Browser, Page, Route, sync_playwright

from memlessons.book import browser
from memlessons.book.execute import kernel_environment
from memlessons.book.screens import in_parts

Theme = Literal["light", "dark"]
_THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
_WIDTH, _HEIGHT = 1280, 900  # pixels
# All cells at once, whether in view or not: a test looks at the whole notebook.
_SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


class Lab:
    """A JupyterLab server on a free port of this machine, over one work folder."""

    def __init__(self, root: Path, work: Path) -> None:
        self.work = work
        self._root = root
        self._token = secrets.token_hex(16)
        self._port = _free_port()
        work.mkdir(parents=True, exist_ok=True)
        self.theme("light")

    def theme(self, theme: Theme) -> None:
        """Choose the theme of pages opened from now on."""
        for name, settings in (_SETTINGS | {"apputils-extension/themes": {"theme": _THEMES[theme]}}).items():
            path = self._root / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings), encoding="utf-8")

    @contextlib.contextmanager
    def running(self) -> Iterator["Lab"]:
        """Run the server; its own settings, and nothing of the user's."""
        environment = kernel_environment(self.work) | {
            "JUPYTER_CONFIG_DIR": str(self._root / "config"),
            "JUPYTER_DATA_DIR": str(self._root / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._root / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._root / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._root / "workspaces"),
            "IPYTHONDIR": str(self._root / "ipython"),
            "MEMLESSONS_PACE": os.environ.get("MEMLESSONS_PACE", "quick"),
        }
        # The reader's JupyterLab does not choose plotly's renderer, so the test must not either.
        environment.pop("PLOTLY_RENDERER")
        command = [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
        ]
        command += [f"--ServerApp.port={self._port}", "--ServerApp.port_retries=0"]
        command += [f"--IdentityProvider.token={self._token}", f"--ServerApp.root_dir={self.work}"]
        log = self._root / "lab.log"
        with log.open("w") as file:
            server = subprocess.Popen(command, cwd=self.work, env=environment, stdout=file, stderr=file)
            try:
                self._wait(server, log)
                yield self
            finally:
                server.terminate()
                try:
                    server.wait(timeout=15)
                except subprocess.TimeoutExpired:
                    server.kill()

    def _wait(self, server: subprocess.Popen[bytes], log: Path) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and server.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                urllib.request.urlopen(f"{self._address}/api/status?token={self._token}", timeout=5).close()
                return
            time.sleep(0.3)
        raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")

    @property
    def _address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @contextlib.contextmanager
    def open(self, chromium: Browser, notebook: Path) -> Iterator["OpenNotebook"]:
        """Open a notebook of the work folder in a fresh window, and wait until its kernel is ready."""
        context = chromium.new_context(viewport={"width": _WIDTH, "height": _HEIGHT})
        try:
            page = context.new_page()
            opened = OpenNotebook(page, notebook)
            page.route("**/*", opened.keep_inside)
            path = quote(notebook.relative_to(self.work).as_posix())
            page.goto(f"{self._address}/lab/workspaces/auto-x/tree/{path}?token={self._token}&reset")
            opened.wait_until_ready()
            yield opened
        finally:
            context.close()


class OpenNotebook:
    """A notebook in JupyterLab's window."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self._file = file
        self.outside: list[str] = []

    def keep_inside(self, route: Route) -> None:
        """Refuse what would leave this machine, and note it down."""
        if urlsplit(route.request.url).hostname in ("127.0.0.1", None):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()

    def wait_until_ready(self, seconds: float = 120) -> None:
        """Wait until the kernel is connected and idle."""
        self.page.wait_for_selector(".jp-NotebookPanel:visible .jp-Cell", timeout=seconds * 1000)
        # "No Kernel | Initializing" at first; running cells then would open a dialog.
        idle = self.page.locator("#jp-main-statusbar").get_by_text("| Idle")
        idle.wait_for(timeout=seconds * 1000)

    def run_all(self, seconds: float = 300) -> None:
        """Run > Run All Cells, as a reader does, and wait until no cell is waiting or running."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        # Done: each code cell that says something has its number. An error stops the cells after it,
        # which then have none; whether that happened is for `errors` to say.
        self.page.wait_for_function(_ALL_DONE, timeout=seconds * 1000, polling=500)

    def errors(self) -> list[str]:
        """Every error in the notebook's outputs, "NameError: ...", as JupyterLab saves them.

        On the page an error looks like anything printed to stderr.
        """
        return [
            f"{output['ename']}: {output['evalue']}"
            for cell in self._saved()["cells"]
            for output in cell.get("outputs", [])
            if output["output_type"] == "error"
        ]

    def _saved(self) -> dict[str, Any]:
        before = self._file.stat().st_mtime_ns
        self.page.locator(".jp-NotebookPanel:visible .jp-Notebook").focus()
        self.page.keyboard.press("Control+s")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self.page.wait_for_timeout(200)
            # The server writes in place: what is read may be half of it.
            with contextlib.suppress(ValueError):
                saved: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
                if self._file.stat().st_mtime_ns != before:
                    return saved
        raise AssertionError("JupyterLab did not save the notebook")

    def unfinished(self) -> list[str]:
        """The beginnings of code cells with text that have not run."""
        found: list[str] = self.page.evaluate(_UNFINISHED)
        return found

    def figures(self) -> list[int]:
        """For each plotly figure: how many visible shapes its traces consist of."""
        figures = self.page.locator(".js-plotly-plot")
        for index in range(figures.count()):
            figures.nth(index).scroll_into_view_if_needed()
        self.page.wait_for_timeout(500)
        shapes: list[int] = self.page.evaluate(TRACE_SHAPES)
        return shapes

    def assert_ran(self, *, least_figures: int = 1) -> None:
        """All cells ran, none shows an error, and at least that many figures are drawn with data in them."""
        assert self.errors() == []
        assert self.unfinished() == []
        figures = self.figures()
        assert len(figures) >= least_figures and all(figures), f"shapes in each figure: {figures}"

    def screenshots(self, to: Path) -> list[Path]:
        """Pictures of the whole notebook, TO.1.png and so on, without the file browser beside it."""
        if self.page.locator("#jp-left-stack").is_visible():
            self.page.keyboard.press("Control+b")
        # A window as high as the notebook: JupyterLab scrolls inside the page, not the page.
        self.page.evaluate(_TO_TOP)
        height = min(int(self.page.evaluate(_BOTTOM)) + 60, 16_000)
        self.page.set_viewport_size({"width": _WIDTH, "height": height})
        self.page.evaluate(_TO_TOP)
        self.page.wait_for_timeout(1000)
        pictures = list(in_parts(self.page, height, to))
        self.page.set_viewport_size({"width": _WIDTH, "height": _HEIGHT})
        return pictures


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium. Raises NoBrowser where there is none."""
    path = browser.find()
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=str(path), args=list(browser.FLAGS))
        try:
            yield started
        finally:
            started.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_NOTEBOOK = "[...document.querySelectorAll('.jp-NotebookPanel')].find(panel => panel.offsetParent)"
_PROMPTS = f"""
const prompts = [...({_NOTEBOOK}).querySelectorAll('.jp-CodeCell')]
    .map(cell => [cell.querySelector('.jp-InputPrompt').textContent.trim(),
                  cell.querySelector('.cm-content').textContent.trim()])
    .filter(([prompt, text]) => text !== '');
"""
_ALL_DONE = f"""() => {{
    {_PROMPTS}
    const busy = !({_NOTEBOOK}).querySelector('.jp-Notebook-ExecutionIndicator[data-status="idle"]');
    const started = prompts.some(([prompt]) => /\\d/.test(prompt));
    return started && !busy && prompts.every(([prompt]) => !prompt.includes('*'));
}}"""
_UNFINISHED = f"""() => {{
    {_PROMPTS}
    return prompts.filter(([prompt]) => !/\\d/.test(prompt)).map(([, text]) => text.slice(0, 60));
}}"""
TRACE_SHAPES = """() => [...document.querySelectorAll('.js-plotly-plot')].map(plot =>
    [...plot.querySelectorAll('svg.main-svg .trace path, svg.main-svg .trace image')]
        .filter(shape => shape.tagName === 'image' || (shape.getAttribute('d') || '').length > 4).length
    + plot.querySelectorAll('svg.main-svg .hm image, svg.main-svg .layer-above path').length)"""
_TO_TOP = f"""() => ({_NOTEBOOK}).querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')
    .forEach(part => part.scrollTop = 0)"""
_BOTTOM = f"() => [...({_NOTEBOOK}).querySelectorAll('.jp-Cell')].pop().getBoundingClientRect().bottom"
