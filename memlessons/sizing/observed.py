"""What an engine said of itself beside what is predicted for it, as a table for a terminal."""

from memlessons.measure.observed.log import read_log
from memlessons.measure.observed.reported import Reported
from memlessons.measure.observed.server import read_server
from memlessons.sizing.differences import Line, held_against
from memlessons.sizing.question import Question
from memlessons.sizing.table import aligned
from memlessons.units import bytes_text

_COUNTS = (
    "context_tokens", "sequences", "cells", "layers", "key_type", "value_type", "tokens", "concurrency",
    "block_tokens", "blocks", "ranks", "usage", "used_tokens", "running",
)  # fmt: skip


def observed(log: str | None, server: str | None, question: Question | None) -> str:
    """A table for a terminal: an engine's log or a server's page against the prediction for `question`.

    Without a question (no model named) it shows what was said. Raises NothingSaid, LogUnreadable,
    ServerUnreachable, BadAddress or NotAMetricsPage.
    """
    from pathlib import Path

    report = read_log(Path(log)) if log is not None else read_server(server or "")
    heading = f"{report.engine} says of itself" + (f" ({report.model})" if report.model else "")
    if question is None:
        said = aligned([("figure", "said", ""), *_plainly(report)])
        return f"{heading}:\n\n{said}\n\nName a model to have it held against a prediction."
    lines = held_against(report, question)
    rows = [("figure", "said", "predicted", "")]
    rows += [(x.name, _shown(x.said, x.unit), _predicted(x), x.verdict) for x in lines]
    equal = sum(line.equal for line in lines)
    notes = "".join(f"\nNote: {note}." for note in report.notes)
    name = question.model.name
    end = f"{equal} of {len(lines)} figures equal, up to what the engine rounds when it prints."
    return f"{heading}; predicted for {name}:\n\n{aligned(rows)}\n\n{end}{notes}"


def _plainly(report: Reported) -> list[tuple[str, str, str]]:
    rows = []
    for name in _COUNTS:
        value = getattr(report, name)
        if value is not None:
            rows.append((name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value), ""))
    for name in ("available_bytes", "weights_bytes"):
        value = getattr(report, name)
        if value is not None:
            rows.append((name.replace("_bytes", ""), bytes_text(value), ""))
    return rows + [(part.name, bytes_text(part.total_bytes), "") for part in report.parts]


def _shown(value: int, unit: str) -> str:
    return bytes_text(value) if unit == "bytes" else f"{value:,}"


def _predicted(line: Line) -> str:
    return "-" if line.predicted is None else _shown(line.predicted, line.unit)
