"""A result as a table for a terminal: every number with its middle half, and what has to be known of it."""

from collections.abc import Iterator, Sequence
from typing import Any

from memlessons.device.result import CACHED, OURS, Point, Result
from memlessons.device.rows import ROWS
from memlessons.measure import Value
from memlessons.show.values import number_text
from memlessons.sizing.table import aligned
from memlessons.units import bytes_text, flops_text, rate_text, seconds_text

_STEADY = 1.5
"""The middle half of the reading rate within this factor is an ordinary day."""
_PARTS = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}


def table(result: Result) -> str:
    """Device, roofs, a block for each row, and the notes under them."""
    parts = [_device(result), _roofs(result), _points(result), *_notes(result)]
    return "\n\n".join(part for part in parts if part)


def _device(result: Result) -> str:
    facts = result.facts
    threads = f", {facts['threads']} threads" if facts.get("threads") else ""
    memory = f", {bytes_text(facts['memory_bytes'])} of memory" if facts.get("memory_bytes") else ""
    caches = caches_text(facts.get("caches", ()))
    return f"{result.device}{threads}{memory}" + (f"\ncaches: {caches}" if caches else "")


def caches_text(caches: Sequence[Any]) -> str:
    """Sizes of the caches, as "L2 512 KiB x 2, L3 32.0 MiB"; empty where they are not known."""
    return ", ".join(
        f"{name} {bytes_text(size)}" + (f" x {count}" if count > 1 else "") for name, size, count in caches
    )


def _roofs(result: Result) -> str:
    def middle(value: Value, text: Any) -> tuple[str, str]:
        return text(value.median), f"({text(value.low)} to {text(value.high)})"

    dtype = result.facts.get("dtype", "")
    rows = [
        ("reads", *middle(result.read, rate_text)),
        ("copies, read and written", *middle(result.copy, rate_text)),
        (f"multiplies matrices, {dtype}", *middle(result.multiply, flops_text)),
        ("ridge, FLOP per byte", *middle(result.ridge, number_text)),
    ]
    rounds = result.read.repetitions
    return f"roofs: median of {rounds} rounds (half of them within)\n" + aligned(rows)


def _points(result: Result) -> str:
    facts = result.facts
    tokens, many = facts.get("tokens", 0), facts.get("sequences", {})
    wide = facts.get("product_width", 0)
    beside = f";\nand one token times a {wide:,} x {wide:,} matrix" if wide else ""
    told = f"attention of one new token over {tokens:,}, {facts.get('dtype', '')}"
    blocks = [f"{told}: memlessons.kernels.decode beside torch{beside}"]
    lines = [
        ("  " + (f"{p.who}, {p.note}" if p.note else p.who), time_text(p.seconds),
         percent_text(p.of_read) + ("*" if p.cached else " "), percent_text(p.of_multiply),
         "" if p.against is None else f"{number_text(p.against.median)} ({_range(p.against)})")
        for p in result.points
    ]  # fmt: skip
    body = aligned([("", "time", "of reading ", "of multiplying", f"time / that of {OURS}"), *lines]).split(
        "\n"
    )
    found, before = [body[0]], ""
    for line, p in zip(body[1:], result.points, strict=True):
        if p.row != before:
            found.append(_head(result, p, many.get(p.row, 1)))
            before = p.row
        found.append(line)
    return "\n".join([*blocks, "", *found])


def _head(result: Result, p: Point, sequences: int) -> str:
    limit = {"memory": "memory limits", "compute": "arithmetic limits"}.get(result.limit(p), "at the ridge")
    several = f", {sequences} sequences" if sequences > 1 else ""
    moved = f"{bytes_text(p.bytes_moved)}, {number_text(p.intensity)} FLOP per byte: {limit}"
    return f"{p.row}{several}: moves {moved}"


def time_text(value: Value) -> str:
    """A time with its middle half in one unit, "18.1 (17.5 to 19.5) ms"."""
    unit = seconds_text(value.median).rpartition(" ")[2]
    times = _PARTS[unit]
    low, median, high = (number_text(x * times) for x in (value.low, value.median, value.high))
    return f"{median} ({low} to {high}) {unit}"


def percent_text(value: Value) -> str:
    """A share with its middle half, "85% (80 to 90)"."""
    digits = 1 if value.median < 0.095 else 0
    low, median, high = (f"{100 * x:.{digits}f}" for x in (value.low, value.median, value.high))
    return f"{median}% ({low} to {high})"


def _range(value: Value) -> str:
    return f"{number_text(value.low)} to {number_text(value.high)}"


def _notes(result: Result) -> Iterator[str]:
    shown = {p.row for p in result.points}
    yield "\n".join(f"{row.name}: {row.what}" for row in ROWS if row.name in shown)
    yield (
        "Bytes and FLOP are those that cannot be avoided: all that is seen, once, with scales, query and\n"
        "answer. Shares and ratios are of the same round. torch is asked as usual, with enable_gqa; folded:\n"
        "query heads that share a memory are given as rows of one head, which is the same sum."
    )
    if result.read.high > _STEADY * result.read.low:
        yield (
            f"The memory was read at {rate_text(result.read.low)} in one round and at "
            f"{rate_text(result.read.high)} in another: something else\n"
            "was running, or the clock changed. Ratios suffer less; measure again on a quiet machine."
        )
    cached = [p.name for p in result.points if p.cached]
    if cached:
        known = caches_text(result.facts.get("caches", ()))
        yield (
            f"* above {CACHED:.0%} of the reading rate: from a cache, at least in part "
            f"({known or 'its size is not known'}); not a speed of the memory."
        )
    if result.facts.get("quick"):
        yield "--quick: few rounds of a short context, mostly from caches: a rehearsal, not a measurement."
    yield from _missing(result)


def _missing(result: Result) -> Iterator[str]:
    """What was not measured and why, names with the same reason together."""
    why: dict[str, list[str]] = {}
    for name, reason in result.left_out.items():
        why.setdefault(reason, []).append(name)
    if not any(p.who == OURS for p in result.points):
        ours = next((reason for name, reason in result.left_out.items() if name.endswith(OURS)), "")
        yield (
            f"None of the kernels of {OURS} ran here: {ours}.\n"
            "Only torch and the roofs were measured; `memlessons doctor` says how to install what is missing."
        )
        why = {reason: kept for reason, names in why.items() if (kept := _others(names))}
    if why:
        yield "left out\n" + "\n".join(f"  {'; '.join(names)}: {reason}" for reason, names in why.items())


def _others(names: Sequence[str]) -> list[str]:
    return [name for name in names if not name.endswith(OURS)]
