"""What one check found, and how a list of them is shown."""

import re
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TextIO

Status = Literal["PASS", "WARN", "FAIL"]

_COLOUR = {"PASS": "\033[32m", "WARN": "\033[33m", "FAIL": "\033[31m"}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `memlessons doctor`: `mend` is a command that can be pasted, empty where none is needed."""

    name: str
    status: Status
    detail: str
    mend: str = ""


def pip_install(requirement: str) -> str:
    """The command that installs `requirement` into this Python, with our pins where they lie."""
    from memlessons.places import TREE

    parts = [sys.executable, "-m", "pip", "install"]
    if (TREE / "constraints.txt").is_file():
        parts += ["-c", str(TREE / "constraints.txt")]
    return shlex.join([*parts, requirement])


def setup_again(argument: str, otherwise: str) -> str:
    """`make setup ARGUMENT` in a source tree, `otherwise` where the package was installed without one."""
    from memlessons.places import TREE

    return f"make setup {argument}" if (TREE / "Makefile").is_file() else otherwise


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, "2.13.0+cpu" to (2, 13, 0); empty where it starts with none."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def exit_code(checks: Iterable[Check]) -> int:
    """1 where any check failed, otherwise 0: a warning is no failure."""
    return int(any(check.status == "FAIL" for check in checks))


def summary(checks: list[Check]) -> str:
    """The closing line, "12 checks: 11 pass, 1 warn, 0 fail"."""
    counts = {status: sum(check.status == status for check in checks) for status in _COLOUR}
    return f"{len(checks)} checks: {counts['PASS']} pass, {counts['WARN']} warn, {counts['FAIL']} fail"


def show(check: Check, out: TextIO, *, colour: bool = False) -> None:
    """Print one check, with the command that mends it on a line of its own."""
    word = f"{_COLOUR[check.status]}{check.status}\033[0m" if colour else check.status
    print(f"{word}  {check.name:<20}  {check.detail}", file=out, flush=True)
    if check.mend:
        print(f"      {'':<20}  -> {check.mend}", file=out, flush=True)
