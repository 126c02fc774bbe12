"""Sentences that engines print, as a table: a word that gives a line away, and the figures in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from memlessons.measure.observed.figures import Size, number, size, whole
from memlessons.measure.observed.reported import Said

_TEXT_SHOWN = 240
_WORDS_SHOWN = 300


class Sentence(NamedTuple):
    """A telling `word` and patterns to look for in lines that hold it.

    Named groups are quantities; their endings say how to read them: `_n` a whole number, `_s` a size
    whose unit is the group `_u` of the same name, `_x` a factor, `_t` words.
    """

    word: str
    patterns: tuple[re.Pattern[str], ...]


def sentence(word: str, *patterns: str) -> Sentence:
    """A sentence with its patterns compiled; ` *` and ` +` stand for at most 40 blanks.

    Without that bound, a line of nothing but blanks would take quadratic time.
    """
    bounded = (p.replace(" *", " {0,40}").replace(" +", " {1,40}") for p in patterns)
    return Sentence(word, tuple(re.compile(pattern) for pattern in bounded))


def listen(sentences: Sequence[Sentence], line: str, line_number: int) -> Iterator[Said]:
    """Every figure of these sentences in one line."""
    shown = line if len(line) <= _TEXT_SHOWN else line[:_TEXT_SHOWN] + " ..."
    for word, patterns in sentences:
        if word not in line:
            continue
        for pattern in patterns:
            found = pattern.search(line)
            if found is None:
                continue
            for name, text in found.groupdict().items():
                if text is None or name.endswith("_u"):
                    continue
                try:
                    value, unit, decimals = _read(name, text, found)
                except ValueError:
                    continue  # digits that are no figure
                yield Said(name[:-2].replace("_", " "), value, unit, line_number, shown, decimals)


def by_line(lines: Sequence[Said]) -> Iterator[dict[str, Said]]:
    """What each line said, quantity by quantity; several pieces of one line make several."""
    for _, same in groupby(lines, lambda said: (said.line_number, said.text)):
        yield {said.quantity: said for said in same}


def last(lines: Sequence[Said], *quantities: str) -> Any:
    """The value that was said last of the first of these quantities that was said at all, or None."""
    for quantity in quantities:
        for said in reversed(lines):
            if said.quantity == quantity:
                return said.value
    return None


def bytes_said(said: Said | None, units: Mapping[str, int]) -> Size | None:
    """The size that was said, in bytes, where `units` are what the engine means by its units."""
    if said is None or said.unit not in units or isinstance(said.value, str):
        return None
    return size(said.value, said.decimals, units[said.unit])


def _read(name: str, text: str, found: re.Match[str]) -> tuple[int | float | str, str, int]:
    match name[-2:]:
        case "_n":
            return whole(text), "", 0
        case "_s":
            value, decimals = number(text)
            return value, found.group(f"{name[:-2]}_u"), decimals
        case "_x":
            value, decimals = number(text)
            return value, "x", decimals
    return text.strip()[:_WORDS_SHOWN], "", 0
