"""The text that a server's /metrics page holds: one sample a line, a name, labels and a number.

Format: Prometheus text exposition 0.0.4. Pure functions of text.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_SAMPLE = re.compile(
    r"^(?P<name>[A-Za-z_:][\w:]{0,300})(?:\{(?P<labels>.*)\})? +(?P<value>[-+\w.]{1,60})(?: +-?\d{1,20})?$"
)
_LABEL = re.compile(r'([A-Za-z_]\w{0,200})="((?:[^"\\]|\\.)*)"(?:, *|$)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_LONGEST = 32 * 1024


class Sample(NamedTuple):
    """One number of a metrics page; `line` counts from one."""

    name: str
    labels: Mapping[str, str]
    value: float
    line: int
    text: str


def samples(page: str) -> Iterator[Sample]:
    """Every sample of a metrics page that is well formed; comments and other lines are passed over."""
    for number, line in enumerate(page.split("\n"), 1):
        line = line.strip()
        if not line or line.startswith("#") or len(line) > _LONGEST:
            continue
        found = _SAMPLE.match(line)
        labels = found and _labels(found["labels"] or "")
        if found is None or labels is None:
            continue
        try:
            value = float(found["value"])
        except ValueError:
            continue
        if not math.isnan(value):
            yield Sample(found["name"], labels, value, number, line)


def _labels(text: str) -> dict[str, str] | None:
    """The labels of a sample, escapes undone; None where the text between the braces is something else."""
    labels, at = {}, 0
    while at < len(text):
        found = _LABEL.match(text, at)
        if found is None:
            return None
        labels[found[1]] = re.sub(r'\\[\\"n]', lambda escape: _ESCAPES[escape[0]], found[2])
        at = found.end()
    return labels
