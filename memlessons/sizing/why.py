"""Why the number is what it is: the rules that fired, and what a sizer or an engine without each would do."""

from memlessons.plan.engines import RULES
from memlessons.plan.engines.ideal import without_windows
from memlessons.plan.errors import InvalidPlan
from memlessons.plan.huggingface import from_huggingface
from memlessons.sizing.answer import Answer
from memlessons.sizing.reserved import EngineAnswer, reserve
from memlessons.sizing.table import Row, aligned
from memlessons.units import bytes_text

REFUSED = "refused, not guessed"
_WINDOWS = ("window: ", "chunk: ")


def why(found: Answer) -> str:
    """The rules that fired, and each engine's parts: what would be said without, and where it comes from."""
    engines = [_engine(found, engine) for engine in found.engines if engine.device_bytes is not None]
    return "\n\n".join([_rules(found), *engines])


def _rules(found: Answer) -> str:
    q = found.question
    if q.model.config is None:
        return f"From {q.model.source}; no configuration was read, so no rule fired."
    rows: list[Row] = [("rule", "without it", "source")]
    rows += [(name, _without(found, name), source) for name, source in q.model.rules]
    return f"{q.plan.explain(q.context)}\n\nFrom {q.model.source}.\n{aligned(rows)}"


def _without(found: Answer, rule: str) -> str:
    q, plan, careless = found.question, found.question.model.plan, ""
    try:
        other = from_huggingface(q.model.config or {}, draft=q.draft, without=frozenset([rule]))
    except InvalidPlan:
        # Our parser refuses layers whose window it cannot find; others count them as if they had none.
        if not rule.startswith(_WINDOWS):
            return REFUSED
        other, careless = without_windows(plan), ", every layer as global"
    ours, theirs = (each.bytes(q.context, encoder_tokens=q.encoder) for each in (plan, other))
    return _factor(theirs, ours, careless)


def _factor(other: int, ours: int, said: str = "") -> str:
    if other == ours:
        return "the same"
    times = f"{other / ours:.2f}" if ours else ""
    if times == "1.00":
        return f"{bytes_text(abs(other - ours))} {'more' if other > ours else 'less'}{said}"
    return f"x {times} ({bytes_text(other)}){said}" if ours else bytes_text(other) + said


def _engine(found: Answer, engine: EngineAnswer) -> str:
    """One engine: what each of its pools has, why, and the rules that made it so."""
    reserved = engine.device_bytes or 0
    times = f", x {reserved / found.kv_per_device:.2f}" if found.kv_per_device else ""
    each = " on a device" if found.question.tp > 1 else ""
    lines = [f"{engine.engine} reserves {bytes_text(reserved)}{each}{times}:"]
    rows: list[Row] = [("pool", "layers", "cells", "needed", "bytes", "needed", "what, and why")]
    rows += [
        (
            one.name,
            f"{one.part.layers:,}",
            f"{one.part.cells:,}" if one.part.cells else "",
            f"{one.kept_cells:,}" if one.kept_cells else "",
            bytes_text(one.part.bytes),
            bytes_text(one.kept_bytes),
            one.why,
        )
        for one in engine.parts
    ]
    lines.append(aligned(rows))
    lines += [f"Note: {note}." for note in engine.notes]
    if engine.assumed:
        lines.append(f"Its defaults, assumed here: {', '.join(engine.assumed)}.")
    rules = list(_rules_of(found, engine.engine))
    if rules:
        lines.append(aligned([("rule", "without it", "source"), *rules]))
    return "\n".join(lines)


def _rules_of(found: Answer, engine: str) -> list[Row]:
    """The engine's rules that make a difference to this question, each with what comes out without it."""
    q = found.question
    ours = reserve(q, engine, q.context, q.batch, q.tp)
    rows: list[Row] = []
    for rule, source in RULES.items():
        if not rule.startswith(f"{engine}: "):
            continue
        try:
            other = reserve(q, engine, q.context, q.batch, q.tp, without=frozenset([rule]))
        except InvalidPlan:
            rows.append((rule, REFUSED, source))
            continue
        if [part.bytes for part in other.parts] != [part.bytes for part in ours.parts]:
            rows.append((rule, _factor(other.total, ours.total), source))
    return rows
