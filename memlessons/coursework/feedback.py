"""What a check says: the diagnosis first, at most twelve lines, as text and as HTML."""

from __future__ import annotations

import html
import re
import textwrap
from dataclasses import dataclass
from typing import Literal

LINES = 12
_WIDTH = 100

Verdict = Literal[
    "passed", "not done", "mistake", "wrong", "raises", "type", "shape", "signature", "constant", "echo",
    "only the example", "changed inputs", "too slow", "write it yourself",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Feedback:
    """The result of one check.

    `said` is the diagnosis in one sentence, `hint` what to think about, `case` lines of the smallest input
    that shows it, `closing` how often and how to see it again. `mistake` is the named mistake recognised,
    `printed` what the answer printed, `trace` where it raised (shown only if asked for).
    """

    id: str
    title: str
    verdict: Verdict
    said: str
    hint: str = ""
    case: tuple[str, ...] = ()
    closing: str = ""
    mistake: str = ""
    printed: tuple[str, ...] = ()
    trace: str = ""

    @property
    def passed(self) -> bool:
        """Whether the answer is right."""
        return self.verdict == "passed"

    @property
    def headline(self) -> str:
        """Which exercise, and the diagnosis."""
        return f"{self.id} {self.title}: {self.said}"

    def text(self) -> str:
        """The feedback for a shell: at most LINES lines, and the traceback if there is one."""
        before = [*_wrapped(self.headline, 3), *_wrapped(self.hint, 3)]
        after = [*_indented(self.printed), *_wrapped(self.closing, 2)]
        room = LINES - len(before) - len(after)
        lines = [*before, *_indented(self.case)[:room], *after]
        return "\n".join([*lines, *([self.trace] if self.trace else [])])

    def html(self) -> str:
        """The same for a notebook; no colour of its own, so it reads in both themes."""
        parts = [f"<strong>{_marked(self.headline)}</strong>"]
        if self.hint:
            parts.append(f"<br>{_marked(self.hint)}")
        for block in ("\n".join(self.case), "\n".join(self.printed), self.trace):
            if block:
                parts.append(f"<pre>{html.escape(block)}</pre>")
        if self.closing:
            space = "" if parts[-1].endswith("</pre>") else "<br>"
            parts.append(f"{space}<small>{_marked(self.closing)}</small>")
        return f"<div>{''.join(parts)}</div>"


def repeated_with(id: str, seed: int) -> str:
    """The decorator that repeats a check."""
    return f'@exercise("{id}", seed={seed})'


def _wrapped(text: str, most: int) -> list[str]:
    lines = textwrap.wrap(text, _WIDTH, max_lines=most, placeholder=" …", break_on_hyphens=False)
    return lines if text else []


def _indented(lines: tuple[str, ...]) -> list[str]:
    return [f"  {line}" for line in lines]


def _marked(text: str) -> str:
    """Escaped, with `code` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
