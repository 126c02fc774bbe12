"""An answer as a table for a terminal: what is kept, what engines reserve, what fits, how fast."""

from collections.abc import Iterable, Sequence

from memlessons.sizing.answer import Answer
from memlessons.sizing.times import BAND, band, limit_text
from memlessons.units import bytes_text, seconds_text

Row = tuple[str, ...]
_A_NUMBER = 24
"""Letters of the longest number with its unit; a column with more holds sentences."""


def table(found: Answer) -> str:
    """The whole answer, in the order in which it is asked: kept, reserved, fits, time, what dominates."""
    parts = [caption(found), _groups(found), _engines(found), *_sentences(found)]
    return "\n\n".join(part for part in parts if part)


def caption(found: Answer) -> str:
    """What was asked, in one line."""
    q = found.question
    where = "" if q.card is None else f", {q.tp} x {q.card.name}" if q.tp > 1 else f", {q.card.name}"
    where = f"{where}, {q.tp} devices" if q.card is None and q.tp > 1 else where
    long = f"{q.context:,} token{'s' * (q.context != 1)}"
    return f"{q.model.name}: {_sequences(q.batch)} of {long}, K and V in {q.kv_dtype}{where}"


def _groups(found: Answer) -> str:
    q = found.question
    many = f"all {q.batch:,}" if q.batch > 1 else ""
    rows: list[Row] = [("layers that keep the same", "the next token", "one sequence", many)]
    for group in found.groups:
        kept, grows = group.bytes_per_sequence, group.bytes_per_token
        rows.append(
            (
                group.name,
                _growth(grows, kept),
                bytes_text(kept) if kept else "",
                bytes_text(kept * q.batch) if kept and many else "",
            )
        )
    if len(found.groups) > 1:
        in_all = bytes_text(found.kv_bytes) if many else ""
        rows.append(("in all", _growth(found.slope, 1), bytes_text(found.kv_per_sequence), in_all))
    return aligned(rows)


def _growth(slope: float, kept: int) -> str:
    return bytes_text(slope) if slope else ("+0" if kept else "")


def _engines(found: Answer) -> str:
    q = found.question
    several = q.tp > 1
    rows: list[Row] = [("", "a device" if several else "bytes", "all devices" if several else "", "")]

    def row(name: str, device: int | None, cluster: int | None, more: str) -> None:
        rows.append((name, _size(device), _size(cluster) if several else "", more))

    source = "" if q.weights is None else q.weights.source
    row("weights", found.weights_per_device, found.weight_bytes, source)
    repeated = "heads or latents are repeated" if found.kv_cluster > found.kv_bytes else ""
    row("kept, ideally", found.kv_per_device, found.kv_cluster, repeated)
    for engine in found.engines:
        if engine.device_bytes is None:
            rows.append((engine.engine, "-", "", engine.reason))
            continue
        more = f"x {engine.device_bytes / max(found.kv_per_device, 1):.2f}; {engine.briefly}"
        row(f"{engine.engine} reserves", engine.device_bytes, engine.cluster_bytes, more)
    return aligned(rows)


def _size(size: int | None) -> str:
    return "not computed" if size is None else bytes_text(size)


def _sentences(found: Answer) -> Iterable[str]:
    yield _fit(found)
    yield _times(found)
    yield _crossing(found)
    yield "\n".join(f"Note: {note}." for note in found.notes)


def _fit(found: Answer) -> str:
    q, card, needed = found.question, found.card_bytes, found.needed_per_device
    if card is None:
        return ""
    name = q.card.name if q.card is not None else "the device"
    if needed is None:
        return f"Whether it fits is not computed without weights; the {name} has {bytes_text(card)}."
    kept_free = f", {bytes_text(q.reserve_bytes)} of it kept free" if q.reserve_bytes else ""
    engine = "" if q.engine == "ideal" else f" with {q.engine}"
    spare = card - needed
    verdict = (
        f"fits, {bytes_text(spare)} to spare"
        if spare >= 0
        else f"does not fit, {bytes_text(-spare)} too much"
    )
    lines = [
        f"{'Each' if q.tp > 1 else 'The'} {name} needs {bytes_text(needed)}{engine}{kept_free}, and has "
        f"{bytes_text(card)}: it {verdict}.",
        f"Room for {_sequences(found.sequences_fit or 0)} of {q.context:,} tokens.",
    ]
    if q.lengths is not None:
        lines.append(
            f"Room for {found.varied_fit:,} of lengths with median {q.lengths.p50:,} and 95th percentile "
            f"{q.lengths.p95:,}, 19 times in 20."
        )
    return "\n".join(lines)


def _times(found: Answer) -> str:
    step, q = found.step, found.question
    if step is None:
        return ""
    low, high = band(step.bound.seconds)
    rate = q.batch / step.bound.seconds
    slow, fast = BAND
    lines = [
        f"Decode: a step takes {least_step(found)} (limited by {limit_text(step.bound)}; "
        f"it reads {bytes_text(step.weight_bytes)} of weights and {bytes_text(step.kv_bytes)} of cache, "
        f"{100 * step.kv_share:.0f} % of it cache).",
        f"At {100 * slow:.0f} to {100 * fast:.0f} % of that roof, as is assumed: {seconds_text(low)} to "
        f"{seconds_text(high)} a step, {_rate(slow * rate)} to {_rate(fast * rate)} tokens a second"
        + (
            "."
            if q.batch == 1
            else f" in all, {_rate(slow * rate / q.batch)} to {_rate(fast * rate / q.batch)} each."
        ),
    ]
    if found.first_token is not None:
        low, high = band(found.first_token.seconds)
        least, limit = seconds_text(found.first_token.seconds), limit_text(found.first_token)
        lines.append(
            f"First token of one prompt of {q.context:,}: at least {least} (limited by {limit}), "
            f"{seconds_text(low)} to {seconds_text(high)} expected."
        )
    return "\n".join(lines)


def least_step(found: Answer) -> str:
    """The least time of a step, "at least 30.9 ms"; empty where it is not computed."""
    if found.step is None:
        return ""
    # Which experts tokens choose is a matter of chance, and so is then the least time.
    q = found.question
    even = q.weights is not None and q.weights.expert_share is not None and q.batch > 1
    return f"{'about' if even else 'at least'} {seconds_text(found.step.bound.seconds)}"


def _sequences(count: int) -> str:
    return f"{count:,} sequence{'s' * (count != 1)}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}"


def _crossing(found: Answer) -> str:
    if found.weight_bytes is None:
        return ""
    q, longest = found.question, found.question.model.longest_context
    whose = "the cache of this batch" if q.batch > 1 else "the cache"
    if found.crossing is None:
        when = f"{whose} never outweighs the weights: it stops growing first"
    elif longest is not None and found.crossing > longest:
        when = f"{whose} outweighs the weights at {found.crossing:,} tokens, beyond the {longest:,} it reads"
    else:
        when = f"{whose} outweighs the weights from {found.crossing:,} tokens on"
    from_batch = (
        f"; at this length, from {_sequences(found.sequences_to_outweigh or 0)} on" if found.kv_bytes else ""
    )
    return f"{when[0].upper()}{when[1:]}{from_batch}.\nMost of the memory: {found.dominates}."


def aligned(rows: Sequence[Row]) -> str:
    """Rows as columns: the first to the left, numbers to the right, a last one of sentences to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = {0} | ({len(widths) - 1} if widths[-1] > _A_NUMBER else set())
    lines = []
    for row in rows:
        cells = zip(row, widths, strict=True)
        texts = [c.ljust(width) if i in left else c.rjust(width) for i, (c, width) in enumerate(cells)]
        lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)
