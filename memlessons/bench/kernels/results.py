"""From times to what a record keeps: seconds, fractions of the ceiling, ratios of the same round."""

from collections.abc import Mapping, Sequence
from typing import Any

from memlessons.bench.kernels.race import Contender, Times
from memlessons.measure import Value
from memlessons.units import rate_text, seconds_text

MOST_OF_CEILING = 1.02
"""Above it a figure is a mistake: bytes counted wrongly, or found in a cache."""


def kept(
    row: str,
    times: Mapping[str, Times],
    field: Sequence[Contender],
    base: str,
    ceiling: float | None,
    pairs: Sequence[tuple[str, str]] = (),
) -> tuple[dict[str, Value], dict[str, Any], dict[str, str]]:
    """(values, facts of each contender, why some were refused) of one race.

    Values: "ROW NAME" in seconds, "ROW NAME of ceiling" where the contender moves bytes and the ceiling
    (bytes/s) is known, and "ROW NAME / BASE", the ratio of the same round, and so for each of `pairs`. A
    contender above the ceiling is refused, with all its values.
    """
    values: dict[str, Value] = {}
    refused: dict[str, str] = {}
    for c in field:
        label, t = f"{row} {c.name}", times[c.name]
        if c.bytes_moved and ceiling:
            share = Value.of([c.bytes_moved / s / ceiling for s in t.samples], "fraction of the ceiling")
            if share.median > MOST_OF_CEILING:
                refused[label] = f"{share.median:.2f} of the ceiling: a mistake, not a speed"
                continue
            values[f"{label} of ceiling"] = share
        values[label] = Value.of(t.samples)
    for name, under in [*((c.name, base) for c in field if c.name != base), *pairs]:
        if {f"{row} {name}", f"{row} {under}"} <= set(values):
            ratios = [a / b for a, b in zip(times[name].rounds, times[under].rounds, strict=True)]
            values[f"{row} {name} / {under}"] = Value.of(ratios, "ratio of the same round")
    facts = {c.name: c.facts | {"graph": times[c.name].graph, "bytes_moved": c.bytes_moved} for c in field}
    return values, facts, refused


def lines(values: Mapping[str, Value]) -> list[str]:
    """What to print of one row's values: a line for each contender that has a time or a rate."""
    found = []
    for name, value in values.items():
        if value.unit not in ("seconds", "bytes/s"):
            continue
        text = seconds_text(value.median) if value.unit == "seconds" else rate_text(value.median)
        parts = [f"  {name:36}", f"{text:>10}"]
        if f"{name} of ceiling" in values:
            parts.append(f"{values[f'{name} of ceiling'].median:6.1%} of the ceiling")
        for ratio in (n for n in values if n.startswith(f"{name} / ")):
            parts.append(f"{values[ratio].median:6.2f} x {ratio.rpartition(' / ')[2]}")
        found.append("  ".join(parts))
    return found
