"""The sizer in words: its numbers as rows of a table, and as a paragraph."""

import html

from memlessons.show.sizer_numbers import Sizing, size
from memlessons.show.sizer_state import SizerState
from memlessons.show.values import number_text
from memlessons.units import bytes_text, seconds_text

RESERVE_NOTE = "engines keep a part of the card for themselves (activations, graphs): plan for less"


def rows(state: SizerState) -> list[tuple[str, str]]:
    """The numbers of a state with their names, in reading order: what is held, then what a step reads."""
    s = size(state)
    lines = [
        ("one more token of one reader", _growth(s)),
        ("one reader's K and V", f"{bytes_text(s.kv_bytes_per_reader)} at {_tokens(s.context)}"),
        (f"K and V of {_readers(s.readers)}", bytes_text(s.kv_bytes)),
        ("weights", f"{bytes_text(s.weight_bytes)}; K and V: {_ratio(s.kv_bytes / s.weight_bytes)}"),
        ("K and V outweigh them", _reach(s, s.crossing_context or s.crossing_beyond)),
        ("or, at this context", f"from {_readers(s.readers_to_outweigh)} on"),
        (state.card, f"{bytes_text(s.card_bytes)}: {verdict(s)}"),
        ("room at this context", f"for {_readers(s.sequences_that_fit)}"),
        ("one decode step", f"at least {seconds_text(s.step_seconds)}, limited by {s.step_limit}"),
        ("bytes of a step", f"weights {share_text(s.weight_share)}, K and V {share_text(s.kv_share)}"),
    ]
    if s.step_crossing != (s.crossing_context or s.crossing_beyond):
        lines.append(("K and V are the most of a step", _reach(s, s.step_crossing)))
    return [*lines, ("speed", f"at most {_speed(s)}")]


def notes(state: SizerState) -> list[str]:
    """What limits the numbers, one sentence each; at least the one about engines."""
    return [*size(state).notes, RESERVE_NOTE]


def table_html(state: SizerState, *, captioned: bool = True) -> str:
    """The rows as a table and the notes below it; no colour is set, so it follows the reader's theme."""
    body = "".join(
        f'<tr><th scope="row" style="text-align: right">{html.escape(name)}</th>'
        f'<td style="text-align: left">{html.escape(value)}</td></tr>'
        for name, value in rows(state)
    )
    title = f"<caption>{html.escape(caption(state))}</caption>" if captioned else ""
    below = "<br>".join(html.escape(_sentence(note)) for note in notes(state))
    return f"<table>{title}<tbody>{body}</tbody></table><p><small>{below}</small></p>"


def table_text(state: SizerState) -> str:
    """The same for a shell: names and values in two columns, the notes below."""
    pairs = rows(state)
    wide = max(len(name) for name, _ in pairs)
    lines = [f"{name.ljust(wide)}  {value}" for name, value in pairs]
    return "\n".join([caption(state), "-" * len(caption(state)), *lines, *map(_sentence, notes(state))])


def caption(state: SizerState) -> str:
    """What was asked, in one line."""
    formats = state.key_format
    if state.key_format != state.value_format:
        formats = f"K {state.key_format} and V {state.value_format}"
    s = size(state)
    each = " each" if s.readers > 1 else ""
    return f"{state.preset}, {_readers(s.readers)} of {_tokens(s.context)}{each}, {formats}, {state.card}"


def explain(state: SizerState) -> str:
    """The state as a paragraph of plain prose: what it holds, whether that fits, what a step costs."""
    s = size(state)
    sentences = [
        f"{state.preset} with {_readers(s.readers)} at {_tokens(s.context)} keeps {bytes_text(s.kv_bytes)} "
        f"of K and V beside {bytes_text(s.weight_bytes)} of weights.",
        f"One more token of one reader adds {_growth(s)}.",
        f"K and V outweigh the weights {_reach(s, s.crossing_context or s.crossing_beyond)}; at this "
        f"context, from {_readers(s.readers_to_outweigh)} on.",
        f"On {state.card} ({bytes_text(s.card_bytes)}) it {verdict(s)}; room for "
        f"{_readers(s.sequences_that_fit)}.",
        f"One decode step reads {bytes_text(s.step_weight_bytes + s.step_kv_bytes)}, "
        f"{share_text(s.kv_share)} of it K and V, and takes at least {seconds_text(s.step_seconds)}, limited "
        f"by {s.step_limit}: at most {_speed(s)}.",
    ]
    return " ".join([*sentences, *map(_sentence, notes(state))])


def share_text(share: float) -> str:
    """A share in per cent; with one decimal where whole per cents would hide a small part."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    digits = 0 if 0.1 <= share <= 0.9 or share in (0, 1) else 1
    return f"{100 * share:.{digits}f} %"


def _readers(count: int) -> str:
    return f"{count:,} reader{'s' * (count != 1)}"


def _tokens(count: int) -> str:
    return f"{count:,} token{'s' * (count != 1)}"


def _growth(s: Sizing) -> str:
    average = f"{bytes_text(s.average_bytes_per_token)} on average so far"
    if s.kv_bytes_per_token == 0:
        return f"nothing, all windows are full ({average})"
    even = s.kv_bytes_per_token == s.average_bytes_per_token
    return bytes_text(s.kv_bytes_per_token) + ("" if even else f" ({average})")


def _reach(s: Sizing, crossing: int | None) -> str:
    if crossing is None:
        return "never: they stop growing first"
    if crossing <= s.longest_context:
        return f"from {_tokens(crossing)} on"
    return f"at {_tokens(crossing)}, beyond the {s.longest_context:,} it was trained to read"


def verdict(s: Sizing) -> str:
    """Whether it fits, and by how much."""
    spare = s.card_bytes - s.needed_bytes
    return f"fits, {bytes_text(spare)} to spare" if s.fits else f"does not fit, {bytes_text(-spare)} too much"


def _speed(s: Sizing) -> str:
    each = _rate(s.tokens_per_second_each)
    if s.readers == 1:
        return f"{each} tokens a second"
    return f"{_rate(s.tokens_per_second)} tokens a second in all, {each} for each reader"


def _rate(value: float) -> str:
    return number_text(round(value) if value >= 100 else value)


def _ratio(ratio: float) -> str:
    return f"{share_text(ratio)} of that" if ratio < 1 else f"{number_text(ratio)} times that"


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."
