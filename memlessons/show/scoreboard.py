"""The scoreboard: the reader's ledger, drawn; recorded rows stand in where a chapter was skipped."""

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from memlessons.show.axes import set_axis
from memlessons.show.labels import End, label_ends
from memlessons.show.prose import say, table
from memlessons.show.row import Row, UnusableRow
from memlessons.show.rows import Ledger, recorded_rows, with_recorded
from memlessons.show.theme import COLOURS, TEXT, Figure, escaped, figure, pattern, show
from memlessons.show.values import number_text
from memlessons.units import bytes_text, count_text, seconds_text

__all__ = ["Ledger", "Row", "UnusableRow", "ledger", "scoreboard", "scoreboard_figure", "scoreboard_table"]

ledger = Ledger()
"""The reader's own: `ledger.add(name, plan, record, chapter="00")`."""


def scoreboard(recorded: Path | None = None) -> None:
    """Show the ledger: a bar of bytes per token for each design, and all its columns as a table.

    `recorded` is the folder of recorded rows, the book's own if not given.
    """
    rows = with_recorded(ledger.rows(), recorded_rows(recorded))
    if not rows:
        say("The scoreboard is empty: each chapter adds its row at its end.")
        return
    show(scoreboard_figure(rows))
    scoreboard_table(rows)


def scoreboard_figure(rows: Sequence[tuple[Row, bool]]) -> Figure:
    """Bytes stored per token, one bar a row; recorded rows (True) are hatched and faint."""
    spoken = [
        f"{row.name}{_mark(recorded)}: {bytes_text(row.stored_bytes_per_token)}" for row, recorded in rows
    ]
    alt = f"Bars of the memory that one more token takes, by design. {'; '.join(spoken)}."
    fig = figure(
        "What does one more token take?",
        "bytes stored per token",
        "",
        alt,
        id="scoreboard",
        height=110 + 44 * len(rows),
    )
    sizes = [row.stored_bytes_per_token for row, _ in rows]
    fig.add_trace(
        go.Bar(
            orientation="h", x=sizes, y=list(range(len(rows))), width=0.62, name="bytes stored per token",
            marker={
                "color": [TEXT if recorded else COLOURS[0] for _, recorded in rows],
                "opacity": [0.45 if recorded else 1.0 for _, recorded in rows],
                "line": {"width": 0},
                "pattern": {**pattern(""), "shape": ["/" if recorded else "" for _, recorded in rows]},
            },
            customdata=[escaped(text) for text in spoken], hovertemplate="%{customdata}<extra></extra>",
        )
    )  # fmt: skip
    set_axis(fig, "x", "bytes", 0, max([*sizes, 1]) * 1.02)
    # Recorded names are in the same grey as all text; "recorded" is written, not only drawn.
    names = [escaped(f"{row.chapter} {row.name}{_mark(recorded)}".strip()) for row, recorded in rows]
    fig.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=names,
        showgrid=False,
        zeroline=False,
    )
    ends = [
        End(_beside(row), row.stored_bytes_per_token, -place, TEXT) for place, (row, _) in enumerate(rows)
    ]
    label_ends(fig, ends, (0.5 - len(rows), 0.5), pixels=44 * len(rows) + 10)
    for place, note in enumerate(fig.layout.annotations):
        note.update(y=place, yshift=0)
    return fig


def scoreboard_table(rows: Sequence[tuple[Row, bool]]) -> None:
    """The ledger's columns: what is stored, read, computed and sent; speed; quality; who paid; where from."""
    table([_columns(row, recorded) for row, recorded in rows], caption="The ledger")


def _columns(row: Row, recorded: bool) -> dict[str, str | None]:
    quality = None if row.perplexity is None else number_text(row.perplexity)
    if quality is not None and row.perplexity_spread is not None:
        quality += f" ± {number_text(row.perplexity_spread)}"
    first = row.time_to_first_token_seconds
    return {
        "design": f"{row.name}{_mark(recorded)}",
        "chapter": row.chapter or None,
        "at tokens": f"{row.context:,}",
        "stored per token": bytes_text(row.stored_bytes_per_token),
        "read per step": bytes_text(row.bytes_read_per_step),
        "FLOP per token": None if row.flop_per_token is None else count_text(row.flop_per_token),
        "sent per token": bytes_text(row.bytes_sent_per_token),
        "tokens/s": None if row.tokens_per_second is None else number_text(row.tokens_per_second),
        "first token": None if first is None else seconds_text(first),
        "perplexity": quality,
        "paid by": None if row.corner == "none" else row.corner,
        "device": row.device or None,
        "date": row.date[:10] or None,
    }


def _beside(row: Row) -> str:
    speed = "" if row.tokens_per_second is None else f", {number_text(row.tokens_per_second)} tokens/s"
    return f"{bytes_text(row.stored_bytes_per_token)}{speed}"


def _mark(recorded: bool) -> str:
    return " (recorded)" if recorded else ""
