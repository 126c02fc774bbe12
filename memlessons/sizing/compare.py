"""Several models side by side under one question."""

from collections.abc import Sequence

from memlessons.sizing.answer import Answer
from memlessons.sizing.table import aligned
from memlessons.units import bytes_text, seconds_text


def compare(answers: Sequence[Answer]) -> str:
    """A row for each model: what a token adds, what a sequence keeps, weights, room, the least step."""
    rows = [
        ("model", "next token", "average", "one sequence", "weights", "room for", "a step", "read: cache")
    ]
    for found in answers:
        step = found.step
        rows.append(
            (
                found.question.model.name,
                bytes_text(found.slope),
                bytes_text(found.average),
                bytes_text(found.kv_per_sequence),
                "-" if found.weight_bytes is None else bytes_text(found.weight_bytes),
                "-" if found.sequences_fit is None else f"{found.sequences_fit:,}",
                "-" if step is None else seconds_text(step.bound.seconds),
                "-" if step is None else f"{100 * step.kv_share:.0f} %",
            )
        )
    q = answers[0].question
    card = "" if q.card is None else f", {q.tp} x {q.card.name}"
    title = f"{q.batch:,} x {q.context:,} tokens, K and V in {q.kv_dtype}{card}"
    return f"{title}\n\n{aligned(rows)}"
