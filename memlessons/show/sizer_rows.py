"""The sizer's numbers by name, what limits them, and both as a paragraph. All are an `Answer`'s."""

from memlessons.show.sizer_state import SizerState
from memlessons.show.sizer_words import (
    ROOF,
    growth,
    ratio,
    reach,
    sentence,
    sequences,
    share_text,
    span,
    speed,
    times_text,
    tokens,
    verdict,
)
from memlessons.sizing import Answer
from memlessons.sizing import table as sizing_table
from memlessons.sizing.reserved import EngineAnswer
from memlessons.sizing.times import band, limit_text
from memlessons.units import bytes_text, seconds_text

EDITS_NOTE = "changes to a model change what it can do: later chapters measure how much"


def rows(state: SizerState) -> list[tuple[str, str]]:
    """The numbers of a state with their names: what is kept, what fits, what a step takes."""
    found = state.answer()
    return [*_kept(found), *_fits(found), *_times(found)]


def _kept(found: Answer) -> list[tuple[str, str]]:
    q = found.question
    lines = [
        ("one sequence", f"{bytes_text(found.kv_per_sequence)} at {tokens(q.context)}"),
        ("its next token", growth(found)),
    ]
    if q.batch > 1:
        lines.append((f"all {q.batch:,} sequences", bytes_text(found.kv_bytes)))
    if q.tp > 1:
        repeated = ": some of it is repeated" if found.kv_cluster > found.kv_bytes else ""
        lines.append(
            (
                "one card's part",
                f"{bytes_text(found.kv_per_device)}, all {q.tp}: {bytes_text(found.kv_cluster)}{repeated}",
            )
        )
    if found.weight_bytes is None:
        return [*lines, ("weights", "not computed")]
    share = ratio(found.kv_bytes / found.weight_bytes)
    return [
        *lines,
        ("weights", f"{bytes_text(found.weight_bytes)}; cache: {share}"),
        ("cache outweighs weights stored", reach(found, found.crossing)),
        ("or, at this length", f"from {sequences(found.sequences_to_outweigh or 0)} on"),
    ]


def _fits(found: Answer) -> list[tuple[str, str]]:
    q = found.question
    lines = [(f"{engine.engine} reserves", _reserves(found, engine)) for engine in found.engines]
    if q.card is not None:
        many = f"{q.tp} x {q.card.name}" if q.tp > 1 else q.card.name
        lines.append((many, verdict(found)))
    if found.sequences_fit is not None:
        lines.append(("room", f"for {sequences(found.sequences_fit)} of this length"))
    return lines


def _reserves(found: Answer, engine: EngineAnswer) -> str:
    if engine.device_bytes is None:
        return f"nothing: {engine.reason}"
    each = " a card" if found.question.tp > 1 else ""
    more = engine.device_bytes / max(found.kv_per_device, 1)
    return f"{bytes_text(engine.device_bytes)}{each} (x {more:.2f})"


def _times(found: Answer) -> list[tuple[str, str]]:
    q, step = found.question, found.step
    if step is None:
        return [("one decode step", "not computed without weights")]
    least, cache = step.bound.seconds, step.kv_share
    lines = [
        (
            "one decode step",
            f"{sizing_table.least_step(found)}; {span(*band(least), seconds_text)} expected ({ROOF}), "
            f"limited by {limit_text(step.bound)}",
        ),
        ("bytes of a step", f"weights {share_text(1 - cache)}, cache {share_text(cache)}"),
    ]
    if found.step_crossing != found.crossing:
        lines.append(("cache outweighs weights read", reach(found, found.step_crossing)))
    lines.append(("tokens a second", speed(q.batch, least)))
    if found.first_token is not None:
        least = found.first_token.seconds
        first = f"at least {seconds_text(least)}; {span(*band(least), seconds_text)} expected"
        lines.append(("first token of a prompt", f"{first}, limited by {limit_text(found.first_token)}"))
    return lines


def notes(state: SizerState) -> list[str]:
    """What limits the numbers, one sentence each, without capital and full stop."""
    found = []
    if state.context > state.context_read:
        found.append(
            f"you asked for {tokens(state.context)}; {state.model.name} was made to read "
            f"{state.context_read:,}: the numbers are for these"
        )
    if state.edits:
        found.append(EDITS_NOTE)
    for engine in state.answer().engines:
        if engine.engine == state.engine and engine.why:
            found.append(f"what {engine.engine} reserves: {engine.why}")
            if engine.assumed:
                found.append(f"its defaults are assumed: {', '.join(engine.assumed)}")
    # What could be given on the command line cannot be given here.
    return found + [note.partition("; give --")[0] for note in state.answer().notes]


def caption(state: SizerState) -> str:
    """What was asked, in one line."""
    asked = sizing_table.caption(state.answer())
    name = state.model.name
    done = sum(not step.refused for step in state.waterfall()[1:])
    changed = f"{name}, changed" if done else name
    engine = "" if state.engine == "ideal" else f", {state.engine}"
    return changed + asked.removeprefix(name) + engine


def explain(state: SizerState) -> str:
    """The state as a paragraph of plain prose: what it holds, whether that fits, what a step costs."""
    found = state.answer()
    q, step, name = found.question, found.step, caption(state).partition(":")[0]
    beside = "" if found.weight_bytes is None else f" beside {bytes_text(found.weight_bytes)} of weights"
    said = [
        f"{name} with {sequences(q.batch)} of {tokens(q.context)} keeps {bytes_text(found.kv_bytes)} of "
        f"cache{beside}.",
        f"The next token of one sequence adds {growth(found)}.",
    ]
    if found.weight_bytes is not None:
        said.append(
            f"The cache outweighs the weights stored {reach(found, found.crossing)}; at this length, from "
            f"{sequences(found.sequences_to_outweigh or 0)} on."
        )
    if q.card is not None and found.sequences_fit is not None:
        said.append(f"{q.card.name}: {verdict(found)}; room for {sequences(found.sequences_fit)}.")
    if step is not None:
        said.append(
            f"One decode step reads {bytes_text(step.weight_bytes + step.kv_bytes)} on a card, "
            f"{share_text(step.kv_share)} of it cache, and takes {sizing_table.least_step(found)}, "
            f"{span(*band(step.bound.seconds), seconds_text)} expected ({ROOF}), limited by "
            f"{limit_text(step.bound)}: {speed(q.batch, step.bound.seconds, ' tokens a second')}."
        )
    steps = state.waterfall()[1:]
    if steps:
        each = (f"{s.name}: {'not possible' if s.refused else times_text(s.factor)}" for s in steps)
        said.append(f"Changed, step by step: {'; '.join(each)}; in all {times_text(steps[-1].running)}.")
    return " ".join([*said, *map(sentence, notes(state))])
