"""Why the number is what it is: the rules that fired, and what a sizer without each would say."""

from memlessons.plan.errors import InvalidPlan
from memlessons.plan.huggingface import from_huggingface
from memlessons.sizing.answer import Answer
from memlessons.sizing.table import aligned
from memlessons.units import bytes_text


def why(found: Answer) -> str:
    """Each rule that fired, its source, and the factor by which the memory is wrong without it."""
    q = found.question
    if q.model.config is None:
        return f"From {q.model.source}; no configuration was read, so no rule fired."
    rows = [("rule", "without it", "source")]
    rows += [(name, _without(found, name), source) for name, source in q.model.rules]
    return f"{q.plan.explain(q.context)}\n\nFrom {q.model.source}.\n{aligned(rows)}"


def _without(found: Answer, rule: str) -> str:
    q = found.question
    try:
        plan = from_huggingface(q.model.config or {}, draft=q.draft, without=frozenset([rule]))
        other = plan.bytes(q.context, encoder_tokens=q.encoder)
    except InvalidPlan:
        return "refused"
    ours = q.model.plan.bytes(q.context, encoder_tokens=q.encoder)
    if other == ours:
        return "the same"
    return f"x {other / ours:.2f} ({bytes_text(other)})" if ours else bytes_text(other)
