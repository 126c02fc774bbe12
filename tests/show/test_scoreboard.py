"""The scoreboard draws what the ledger holds, to scale, with all its columns."""

from memlessons.show import scoreboard as board
from memlessons.show.row import Row
from memlessons.show.rows import Ledger

ROWS = [
    (
        Row(
            "full <b>",
            "00",
            2048,
            23_040.0,
            47_185_920,
            3.1e8,
            0.0,
            12.5,
            0.8,
            11.06,
            0.31,
            "none",
            "2 cores",
            "2026-02-03T04:05:06",
        ),
        False,
    ),
    (Row("GQA", "04", 2048, 7_680.0, 15_728_640, corner="compute", device="H200", date="2026-01-01"), True),
]


def test_bars_are_as_long_as_the_bytes_and_recorded_ones_are_faint_and_hatched():
    fig = board.scoreboard_figure(ROWS)
    (bars,) = fig.data
    assert list(bars.x) == [23_040.0, 7_680.0]
    assert list(bars.marker.opacity) == [1.0, 0.45]
    assert list(bars.marker.pattern.shape) == ["", "/"]
    assert list(fig.layout.yaxis.ticktext) == ["00 full &lt;b&gt;", "04 GQA (recorded)"]
    assert [note.text for note in fig.layout.annotations] == ["22.5 KiB, 12.5 tokens/s", "7.50 KiB"]
    assert [note.y for note in fig.layout.annotations] == [0, 1]
    assert "GQA (recorded): 7.50 KiB" in fig.alt


def test_the_table_has_every_column_and_a_dash_for_what_was_not_measured(capsys):
    board.scoreboard_table(ROWS)
    head, _, first, second = capsys.readouterr().out.splitlines()[1:]
    assert head.split("  ")[0] == "design"
    for column in (
        "stored per token",
        "read per step",
        "FLOP per token",
        "sent per token",
        "tokens/s",
        "first token",
        "perplexity",
        "paid by",
        "device",
        "date",
    ):
        assert column in head
    for text in (
        "full <b>",
        "22.5 KiB",
        "45.0 MiB",
        "310 M",
        "800 ms",
        "11.1 ± 0.31",
        "2 cores",
        "2026-02-03",
    ):
        assert text in first
    assert "T04" not in first
    assert "compute" in second and "–" in second


def test_an_empty_scoreboard_says_so(capsys, tmp_path):
    board.scoreboard(tmp_path)
    assert "The scoreboard is empty" in capsys.readouterr().out


def test_the_readers_rows_and_recorded_ones_are_shown_together(capsys, tmp_path):
    for row, recorded in ROWS:
        (Ledger(tmp_path / "gpu.json") if recorded else board.ledger).put(row)
    board.scoreboard(tmp_path)
    out = capsys.readouterr().out
    assert out.startswith("[figure] scoreboard: Bars of the memory")
    assert "GQA (recorded)" in out and "The ledger" in out
