"""One step of the set-up: run a command, show that it lives, and say why it failed."""

import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from diagnose import explain

__all__ = ["SetupFailed", "Step", "check_space", "explain", "say"]


class SetupFailed(Exception):
    """A step that cannot go on: `what` happened, and what may `mend` it."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(what)
        self.what, self.mend = what, mend


def say(text: str) -> None:
    """Print a line at once, also into a pipe."""
    print(text, flush=True)


def check_space(folder: Path, needed_mb: int) -> None:
    """Refuse to start a download that this disk cannot hold."""
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < needed_mb:
        raise SetupFailed(
            f"{folder} has {free_mb / 1000:.1f} GB of free disk, about {needed_mb / 1000:.1f} GB are needed.",
            "Free some space (`pip cache purge` may help), or move this folder to a larger disk.",
        )


class Step:
    """Runs commands one after another; their whole output goes into `log`."""

    def __init__(self, log: Path) -> None:
        self.log = log
        log.write_text("", encoding="utf-8")

    def run(self, title: str, command: list[str]) -> None:
        """Run `command`; raises SetupFailed with a cause and a cure."""
        code, output = self._follow(title, command)
        if code != 0:
            what, mend = explain(output)
            raise SetupFailed(f"{title}: {what}", f"{mend}\nThe whole output is in {self.log}.")

    def try_run(self, title: str, command: list[str]) -> bool:
        """Run `command`; False where it failed, for a reader who has another way."""
        return self._follow(title, command)[0] == 0

    def _follow(self, title: str, command: list[str]) -> tuple[int, str]:
        started = time.monotonic()
        say(f"-> {title}")
        lines: list[str] = []
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

        def collect() -> None:
            assert process.stdout is not None
            with self.log.open("a", encoding="utf-8") as log:
                log.write(f"$ {' '.join(command)}\n")
                for line in process.stdout:
                    lines.append(line)
                    log.write(line)

        reader = threading.Thread(target=collect, daemon=True)
        reader.start()
        try:
            self._show_life(reader, lines, started)
            code = process.wait()
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
        say(f"   {'done' if code == 0 else 'not this way'} after {time.monotonic() - started:.0f} s")
        return code, "".join(lines)

    def _show_life(self, reader: threading.Thread, lines: list[str], started: float) -> None:
        """A line that moves on a terminal; a line every half minute in a log."""
        terminal = sys.stdout.isatty()
        width = max(shutil.get_terminal_size().columns - 1, 20)
        reported = 0
        while reader.is_alive():
            reader.join(0.2)
            seconds = time.monotonic() - started
            now = f"   {seconds:4.0f} s  {_doing(lines)}"
            if terminal:
                print("\r" + now[:width].ljust(width), end="", flush=True)
            elif seconds >= reported + 30:
                reported = int(seconds)
                say(now)
        if terminal:
            print("\r" + " " * width + "\r", end="", flush=True)


def _doing(lines: list[str]) -> str:
    """The last thing the command said it was doing."""
    for line in reversed(lines[-50:]):
        if re.match(
            r"\s*(Collecting|Downloading|Using cached|Processing|Installing|Building|Preparing)", line
        ):
            text = line.strip()
            return text if len(text) < 100 else text[:97] + "..."
    return "starting"
