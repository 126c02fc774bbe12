"""The sizer's numbers as a table: for a page, in the reader's own colours, and for a shell."""

import html
from collections.abc import Iterable, Sequence

from memlessons.show.sizer_rows import caption, notes, rows
from memlessons.show.sizer_state import SizerState
from memlessons.show.sizer_words import sentence, times_text
from memlessons.sizing import table as sizing_table
from memlessons.sizing.table import aligned
from memlessons.units import bytes_text

_MOST_GROUPS = 6
_CELL = "padding: 2px 8px; text-align:"
_TABLE = "margin: 0 0 8px"  # JupyterLab would centre it
_SMALL = "font-size: 0.85em; line-height: 1.35"


def table_html(state: SizerState, *, captioned: bool = True) -> str:
    """Kinds of layer, the numbers, the changes and the notes; no colour is set, so it follows the theme.

    `captioned=False` leaves out what controls beside it say: the question, and the changes.
    """
    title = f"<p><strong>{html.escape(caption(state))}</strong></p>" if captioned else ""
    parts = [title, _table(_groups(state)), _named(rows(state))]
    if captioned and state.edits:
        parts.append(_table(_changes(state), "<caption>what if</caption>"))
    below = "<br>".join(html.escape(sentence(note)) for note in notes(state))
    return "".join(parts) + f'<p style="{_SMALL}">{below}</p>'


def table_text(state: SizerState) -> str:
    """The same for a shell: what `memlessons size` prints, and the changes below."""
    parts = [sizing_table.table(state.answer())]
    if state.context > state.context_read:
        parts.append(f"Note: {notes(state)[0]}.")
    if state.edits:
        parts.append(f"What if:\n{aligned([tuple(row) for row in _changes(state)])}")
    return "\n\n".join(parts)


def _groups(state: SizerState) -> list[Sequence[str]]:
    """A row for each kind of layer, the largest where there are many."""
    found = state.answer()
    lines: list[Sequence[str]] = [("layers that keep the same", "next token", "one sequence")]
    groups = [group for group in found.groups if group.bytes_per_sequence]
    silent = sum(group.layers for group in found.groups if not group.bytes_per_sequence)
    shown = sorted(groups, key=lambda group: -group.bytes_per_sequence)[:_MOST_GROUPS]
    rest = [group for group in groups if group not in shown]
    for group in (group for group in groups if group in shown):
        lines.append((group.name, _growth(group.bytes_per_token), bytes_text(group.bytes_per_sequence)))
    if rest:
        kept, grows = sum(g.bytes_per_sequence for g in rest), sum(g.bytes_per_token for g in rest)
        lines.append((f"{sum(g.layers for g in rest)} others", _growth(grows), bytes_text(kept)))
    if silent:
        lines.append((f"{silent} that keep nothing of their own", "", ""))
    return lines


def _growth(slope: float) -> str:
    return bytes_text(slope) if slope else "+0"


def _changes(state: SizerState) -> list[Sequence[str]]:
    lines: list[Sequence[str]] = [("change", "one sequence", "times less", "in all")]
    for step in state.waterfall():
        if step.refused:
            lines.append((step.refused, "", "not possible", ""))
        else:
            factor = (times_text(step.factor), times_text(step.running))
            lines.append((step.name, bytes_text(step.bytes), *factor))
    return lines


def _table(lines: Sequence[Sequence[str]], title: str = "") -> str:
    """The first line as column heads, the first column as row heads."""
    head = "".join(_cell("th", text, place, "col") for place, text in enumerate(lines[0]))
    body = "".join(f"<tr>{_row(line)}</tr>" for line in lines[1:])
    return f'<table style="{_TABLE}">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(line: Sequence[str]) -> str:
    return "".join(_cell("td" if place else "th", text, place, "row") for place, text in enumerate(line))


def _cell(tag: str, text: str, place: int, scope: str) -> str:
    scoped = f' scope="{scope}"' if tag == "th" else ""
    return f'<{tag}{scoped} style="{_CELL} {"right" if place else "left"}">{html.escape(text)}</{tag}>'


def _named(pairs: Iterable[tuple[str, str]]) -> str:
    body = "".join(
        f'<tr><th scope="row" style="{_CELL} right">{html.escape(name)}</th>'
        f'<td style="{_CELL} left">{html.escape(value)}</td></tr>'
        for name, value in pairs
    )
    return f'<table style="{_TABLE}"><tbody>{body}</tbody></table>'
