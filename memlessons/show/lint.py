"""No measured number in prose: `python -m memlessons.show.lint book/source/*.py`.

Reads chapter sources (jupytext py:percent) and fails on every number with a unit of measurement in a
Markdown cell, because such a number should be printed by a code cell that measured it (`say`, `reveal`,
`claim`), or carry its source.

The rule, exactly. In a cell whose marker line is `# %% [markdown] ...`:

1. Text is cut into paragraphs: at blank lines, and each heading, list item, quote line and table row is
   its own.
2. Ignored: fenced code, code spans, formulas (`$...$`, `$$...$$`), HTML comments, the targets of links and
   images, and links' own `#anchors`. A formula or a code span is the place for arithmetic and definitions.
3. A paragraph passes if it cites: a link to `#src-...` or to an http(s) address, an `<https://...>`, or a
   footnote mark `[^name]`. A link to a chapter or a picture is no citation.
4. Otherwise a number in digits followed by a unit is an offence. Units: % and percent, `x` `×` and times
   (not in a product such as "3 x 64"), ns to ms and seconds to hours, kB to TB and KiB to TiB with or
   without "/s", FLOP with a prefix or a rate, Hz, tokens/s (also "tokens per second", "tokens a second"),
   watts, nats, degrees; and a number given as a perplexity ("perplexity of 11", "11.1 perplexity").
5. Counts are no measurements and pass: "64 million numbers", "two 1,024 matrices", "30 layers", "512
   tokens", "16 bits", "2 bytes"; so do numbers in words, "sixteen times".

Prints `file:line: cell id: the offending words` and exits with 1; 2 if a file cannot be read.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_NUMBER = r"(?<![\w.,])[-+~≈<>≤≥]?\d[\d,.]*(?:[eE][-+]?\d+)?(?:\s?[-–]\s?\d[\d,.]*)?"
_GAP = r"[ \t\u00a0\u202f-]?\n?"
_PREFIX = r"(?:[kKMGTP]i?)"
_UNITS = "|".join(
    [
        r"%",
        r"per\s?cent(?:age points?)?\b",
        r"[x×](?![\w])(?!\s?\d)",
        r"times\b(?!\s*\d)",
        r"(?:n|µ|μ|u|m)s\b",
        r"s(?:ec(?:onds?|s)?)?\b",
        r"(?:milli|micro|nano)seconds?\b",
        r"min(?:utes?|s)?\b",
        r"h(?:ours?|rs?)?\b",
        rf"{_PREFIX}(?:B|bytes?|bits?)(?:/s|ps)?\b",
        r"(?:bytes?|bits?|tokens?|steps?)\s?(?:/\s?s(?:ec(?:ond)?)?\b|per second\b|a second\b)",
        r"B/s\b",
        rf"{_PREFIX}?(?:FLOPS?|flops?)/s(?:econd)?\b",
        rf"{_PREFIX}FLOPS?\b",
        r"[kMG]?Hz\b",
        r"[mk]?W(?:h|atts?)?\b",
        r"watts?\b",
        r"nats?\b",
        r"°\s?[CF]?",
        r"perplexity\b",
    ]
)
_MEASURED = re.compile(rf"{_NUMBER}{_GAP}(?:{_UNITS})")
_PERPLEXITY = re.compile(
    r"\bperplexit(?:y|ies)\b[:,]?\s+(?:(?:a|about|almost|around|at|below|by|climbs|drops|falls|fell|from|goes|is|near|nearly|of|only|rises|rose"
    r"|score|to|value|was|went|=)\s+){0,4}[~≈]?\d[\d,.]*",
    re.IGNORECASE,
)
_DECADE = re.compile(r"^(?:1[89]|20)\d0s$")
_CITED = re.compile(r"\]\(\s*<?(?:#src-|https?://)|<https?://|\[\^[^\]]+\]")
_MARKER = re.compile(r"^# %%(?P<rest>.*)$")
_ID = re.compile(r"""\bid\s*=\s*["']([^"']+)["']""")


class Offence(NamedTuple):
    """A measured number typed by hand: the line it is on, the id of its cell, and the words."""

    line: int
    cell: str
    words: str


def offences(source: str) -> list[Offence]:
    """All offences in the text of one chapter source, by line."""
    found: list[Offence] = []
    for cell, lines in _markdown_cells(source):
        for paragraph in _paragraphs(_blanked(lines)):
            if any(_CITED.search(raw) for raw in (lines[i][1] for i, _ in paragraph)):
                continue
            found += _in_paragraph(cell, [(lines[i][0], text) for i, text in paragraph])
    return sorted(found)


def main(paths: Sequence[str]) -> int:
    """Check files, print their offences; 0 if there are none, 1 if there are, 2 if a file is unreadable."""
    if not paths:
        print("usage: python -m memlessons.show.lint FILE.py ...", file=sys.stderr)
        return 2
    worst = 0
    for path in paths:
        try:
            source = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            print(f"{path}: cannot be read ({type(error).__name__})", file=sys.stderr)
            return 2
        for line, cell, words in offences(source):
            print(f"{path}:{line}: {cell}: {words}")
            worst = 1
    return worst


def _in_paragraph(cell: str, lines: Sequence[tuple[int, str]]) -> Iterator[Offence]:
    # Emphasis may stand between a number and its unit.
    text = "\n".join(text for _, text in lines).replace("*", "")
    taken: list[tuple[int, int]] = []
    for pattern in (_MEASURED, _PERPLEXITY):
        for match in pattern.finditer(text):
            inside = any(a < match.end() and match.start() < b for a, b in taken)
            if inside or _DECADE.match(match.group()):
                continue
            taken.append(match.span())
            line = lines[text.count("\n", 0, match.start())][0]
            yield Offence(line, cell, " ".join(match.group().split()))


def _markdown_cells(source: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The id of each Markdown cell, and its lines as (line number in the file, text)."""
    cell: str | None = None
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(source.splitlines(), start=1):
        marker = _MARKER.match(line)
        if marker:
            if cell is not None:
                yield cell, lines
            rest = marker["rest"]
            named = _ID.search(rest)
            is_text = re.search(r"\[(?:markdown|md)\]", rest) is not None
            cell = (named[1] if named else "cell without id") if is_text else None
            lines = []
        elif cell is not None:
            lines.append((number, re.sub(r'^# ?|^"""|"""$', "", line)))
    if cell is not None:
        yield cell, lines


def _blanked(lines: Sequence[tuple[int, str]]) -> list[str]:
    """The lines with everything that is no prose replaced by spaces, line for line."""
    text = "\n".join(text for _, text in lines)
    for pattern in (
        r"^[ ]{0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ ]{0,3}\1[ \t]*$|\Z)",
        r"<!--.*?-->",
        r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)",
        r"\$\$.+?\$\$",
        r"(?<!\\)\$[^\s$](?:[^$\n]*[^\s$\\])?\$",
        r"(?<=\])\([^)\s]*(?:\s+\"[^\"]*\")?\)",
        r"<https?://[^>\s]*>",
    ):
        text = re.sub(
            pattern, lambda m: re.sub(r"[^\n]", "\0", m.group()), text, flags=re.DOTALL | re.MULTILINE
        )
    return text.split("\n")


def _paragraphs(lines: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Indices and texts of the lines of each paragraph."""
    block: list[tuple[int, str]] = []
    for i, line in enumerate(lines):
        alone = re.match(r"\s*(?:#{1,6} |[-*+] |\d+[.)] |\||>)", line)
        if (alone or not line.strip()) and block:
            yield block
            block = []
        if line.strip():
            block.append((i, line))
            if re.match(r"\s*(?:#{1,6} |\|)", line):
                yield block
                block = []
    if block:
        yield block


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
