"""The figure holds every point where it was measured, and recorded devices fainter beside it."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from memlessons.device.figure import roofline_of
from memlessons.device.page import write_page
from memlessons.device.recorded import Recorded
from tests.device.made import a_result

SMALL = Recorded("Another CPU", "2026-01-01", 5e9, 50e9, {"MHA": (0.5, 2e9), "GQA 32/4": (4.0, 9e9)})
LARGE = Recorded("A GPU", "2026-02-01", 4e12, None, {"MQA": (16.0, 2e13)})


def spots(fig) -> dict[str, tuple[float, float]]:
    return {t.name: (t.x[0], t.y[0]) for t in fig.data if t.mode == "markers"}


def test_each_point_stands_where_it_was_measured() -> None:
    result = a_result()
    found = spots(roofline_of(result))
    assert found == {p.name: (p.intensity, p.rate) for p in result.points}


def test_recorded_points_and_roofs_are_there_and_fainter() -> None:
    result = a_result()
    fig = roofline_of(result, [SMALL, LARGE])
    found = spots(fig)
    assert found["MHA, Another CPU, 2026-01-01 (recorded)"] == (0.5, 2e9)
    assert found["GQA 32/4, Another CPU, 2026-01-01 (recorded)"] == (4.0, 9e9)
    assert found["MQA, A GPU, 2026-02-01 (recorded)"] == (16.0, 2e13)
    for trace in fig.data:
        assert ("(recorded)" in trace.name) == (trace.opacity is not None and trace.opacity < 0.6)
    roofs = {t.name: t for t in fig.data if t.mode == "lines"}
    small, large = roofs["Another CPU, 2026-01-01 (recorded)"], roofs["A GPU, 2026-02-01 (recorded)"]
    assert small.x[1] == 10 and small.y[1] == small.y[2] == 50e9
    assert len(large.x) == 2 and large.y[1] / large.x[1] == pytest.approx(4e12)
    texts = [note.text for note in fig.layout.annotations]
    assert {"Another CPU, 2026-01-01 (recorded)", "A GPU, 2026-02-01 (recorded)", "GQA 32/4"} <= set(texts)
    assert "Another CPU" in fig.alt and "4.00 TB/s" in fig.alt


@pytest.mark.parametrize("beside", [[], [SMALL], [SMALL, LARGE]])
def test_axes_hold_every_point_and_every_known_ridge(beside: list[Recorded]) -> None:
    fig = roofline_of(a_result(), beside)
    x, y = fig.layout.xaxis.range, fig.layout.yaxis.range
    for at in spots(fig).values():
        assert x[0] < math.log10(at[0]) < x[1] and y[0] < math.log10(at[1]) < y[1]
    assert x[0] < 1 < x[1] and y[0] < 11 < y[1]


def test_the_roofs_meet_at_the_ridge_of_the_same_run() -> None:
    lines = [t for t in roofline_of(a_result()).data if t.mode == "lines"]
    memory, compute = lines
    assert memory.x[-1] == compute.x[0] == pytest.approx(10)
    assert memory.y[-1] == compute.y[-1] == pytest.approx(100e9)


def test_a_row_has_one_colour_filled_for_us_hollow_for_torch_and_its_name_once() -> None:
    fig = roofline_of(a_result(), [SMALL])
    marks = {t.name: t.marker for t in fig.data if t.mode == "markers"}
    ours, theirs = marks["MHA, memlessons"], marks["MHA, torch"]
    assert ours.color == theirs.color and theirs.symbol == f"{ours.symbol}-open"
    assert marks["MHA, Another CPU, 2026-01-01 (recorded)"].symbol == ours.symbol
    texts = [note.text for note in fig.layout.annotations]
    assert texts.count("MHA") == texts.count("MQA") == 1


def test_a_row_that_only_torch_runs_is_named_at_torchs_point() -> None:
    result = a_result()
    fig = roofline_of(replace(result, points=tuple(p for p in result.points if p.who == "torch")))
    placed = {n.text: n.x for n in fig.layout.annotations}
    assert placed["MHA"] == pytest.approx(math.log10(0.5))


def test_nothing_measured_still_draws_the_roofs() -> None:
    fig = roofline_of(replace(a_result(), points=()))
    assert [t.mode for t in fig.data] == ["lines", "lines"]


def test_the_page_needs_nothing_beside_it_and_says_everything(tmp_path: Path) -> None:
    fig = roofline_of(a_result(), [SMALL])
    path = write_page(tmp_path / "new" / "measure.html", "A <CPU>", fig, "a table < b", "notes & more")
    text = path.read_text(encoding="utf-8")
    assert "<title>A &lt;CPU&gt;</title>" in text and "a table &lt; b" in text and "notes &amp; more" in text
    assert "Plotly.newPlot" in text and "<script src" not in text and "<link" not in text
    assert "Roofline of A &lt;CPU&gt;" in text
    assert len(text) > 1_000_000  # the script is inside
