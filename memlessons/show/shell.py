"""Where the output goes: a notebook that renders, or a shell that prints. Never needs IPython."""

import html
import re
import sys
import textwrap
from collections.abc import Callable
from typing import Any

_Change = Callable[[str], str]
_PRIVATE = 0xF0000  # a plane of characters that no text uses

_PLAIN_SHELLS = {"TerminalInteractiveShell", "TerminalShell"}


def notebook_shell() -> Any | None:
    """The running IPython shell, if it can render; None in plain Python and in a terminal's IPython."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    shell = get() if get is not None else None
    if shell is None or any(kind.__name__ in _PLAIN_SHELLS for kind in type(shell).__mro__):
        return None
    return shell


def publish(bundle: dict[str, Any]) -> None:
    """Show a bundle of forms, by mimetype: the notebook chooses one, a shell prints "text/plain"."""
    shell = notebook_shell()
    if shell is None:
        print(bundle["text/plain"])
    else:
        shell.display_pub.publish(data=bundle, metadata={})


def say(text: str) -> None:
    """Show Markdown as prose; a shell gets it without the marks.

    A `<` is shown as itself, so text from a model cannot become a tag; put text that may hold other
    Markdown marks through `code_span`.
    """
    text = textwrap.dedent(text).strip()
    publish({"text/markdown": safe_markdown(text), "text/plain": plain_text(text)})


_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE_OR_MATH = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)|\$\$.+?\$\$|\$[^\s$](?:[^$\n]*[^\s$])?\$(?!\d)", re.DOTALL
)


def safe_markdown(text: str) -> str:
    """Markdown in which a `<` is a `<`: dynamic text such as "<|im_start|>" never becomes a tag.

    Code and formulas are left alone, the renderer keeps those literal by itself.
    """
    return _outside(text, lambda part: part.replace("<", "&lt;"))


def plain_text(text: str) -> str:
    """Markdown as a shell should show it: emphasis and code marks gone, links as "text (target)"."""

    def strip(part: str) -> str:
        part = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r"\1 (\2)", part)
        part = re.sub(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2", part)
        part = re.sub(r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", r"\1", part)
        part = re.sub(r"^#{1,6} +", "", part, flags=re.MULTILINE)
        return html.unescape(re.sub(r"\\([\\`*_{}\[\]()#+\-.!|<>$])", r"\1", part))

    def bare(code: str) -> str:
        if code.startswith("$"):
            return code
        inner = code.strip("`")
        return inner[1:-1] if inner[:1] == inner[-1:] == " " and inner.strip() else inner

    return _outside(text, strip, bare, lambda block: _FENCE.sub(r"\2", block).rstrip("\n"))


def _outside(
    text: str, change: _Change, code: _Change = lambda part: part, block: _Change = lambda part: part
) -> str:
    """`text` with `change` applied outside, `code` to spans and formulas, `block` to fenced blocks."""
    blocks = [m.span() for m in _FENCE.finditer(text)]
    spans = [(a, b, block) for a, b in blocks]
    for m in _CODE_OR_MATH.finditer(text):
        if not any(a < m.end() and m.start() < b for a, b in blocks):
            spans.append((*m.span(), code))
    # Each span leaves one private character behind, so that marks around it still find each other.
    out: list[str] = []
    kept: list[str] = []
    place = 0
    for start, end, turn in sorted(spans, key=lambda span: span[0]):
        out += [text[place:start], chr(_PRIVATE + len(kept))]
        kept.append(turn(text[start:end]))
        place = end
    changed = change("".join([*out, text[place:]]))
    for number, span in enumerate(kept):
        changed = changed.replace(chr(_PRIVATE + number), span, 1)
    return changed


def code_span(text: str) -> str:
    """Any text as one Markdown code span: nothing in it is read as Markdown, HTML or a formula."""
    line = str(text).replace("\n", "⏎") or " "
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.strip() and (line[0] in "` " or line[-1] in "` ") else ""
    return f"{fence}{pad}{line}{pad}{fence}"
