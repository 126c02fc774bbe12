"""Curves and panels: data as given, names at the ends, colour never alone."""

import math

import pytest

from memlessons.show.curves import Curve, NothingToDraw, lines, panels

LENGTHS = [128, 512, 2048]


def drawn(**changed):
    usual = {
        "without a cache": (LENGTHS, [0.05, 0.2, 0.8]),
        "with <a> cache": Curve(LENGTHS, [0.04, 0.04, 0.05], [0.03, 0.03, 0.04], [0.05, 0.05, 0.06]),
    }
    return lines(usual, "Time for a token?", "tokens", "time", "Two lines.", id="fig-01", **changed)


def test_lines_are_drawn_as_given_named_at_their_ends_and_start_at_nothing():
    fig = drawn()
    named = {t.name: t for t in fig.data if t.name}
    assert list(named["without a cache"].y) == [0.05, 0.2, 0.8]
    assert named["without a cache"].line.dash != named["with &lt;a&gt; cache"].line.dash
    assert named["without a cache"].marker.symbol != named["with &lt;a&gt; cache"].marker.symbol
    labels = {note.text: note for note in fig.layout.annotations}
    assert labels["without a cache"].x == 2048
    assert labels["with &lt;a&gt; cache"].font.color == named["with &lt;a&gt; cache"].line.color
    assert fig.layout.yaxis.range[0] == 0
    assert not fig.layout.showlegend
    assert "800 ms at 2,048 tokens" in named["without a cache"].customdata[2]


def test_a_spread_is_a_band_under_its_line():
    fig = drawn()
    (band,) = [t for t in fig.data if t.fill == "toself"]
    assert list(band.y) == [0.03, 0.03, 0.04, 0.06, 0.05, 0.05]


def test_labels_on_a_log_axis_are_in_its_coordinates():
    fig = drawn(log_x=True, log_y=True)
    note = next(n for n in fig.layout.annotations if n.text == "without a cache")
    assert (note.x, note.y) == (math.log10(2048), math.log10(0.8))


def test_a_recorded_line_is_faint():
    fig = lines({"GPU, recorded": Curve([1, 2], [1, 2], faint=True)}, "t", "x", "y", "One line.")
    assert fig.data[0].opacity < 1


@pytest.mark.parametrize(
    "curves", [{}, {"a": ([1, 2], [1])}, {"a": ([], [])}, {"a": Curve([1], [1], [1, 2], [1, 2])}]
)
def test_nothing_or_unequal_lengths_are_refused_by_name(curves):
    with pytest.raises(NothingToDraw):
        lines(curves, "t", "x", "y", "words")


def four_panels():
    path = [0.0, 0.4, 0.7]
    return {
        "sense": {"fruit": [path, [0.0, 0.2, 0.5]], "company": [[0.0, -0.4, -0.8]]},
        "part of speech": {"noun": path, "verb": [0.0, -0.1, -0.3]},
        "entity": {"person": path, "place": [0.0, -0.2, -0.4]},
        "role": {"agent": path, "patient": [0.0, 0.1, -0.1]},
    }


def test_panels_share_one_scale_and_start_at_the_embedding():
    fig = panels(four_panels(), "When do they part?", "Four panels.", id="fig-01")
    axes = [fig.layout[f"yaxis{n}"] for n in ("", "2", "3", "4")]
    assert all(tuple(axis.range) == (-1, 1) for axis in axes)
    assert all(t.x[0] == 0 and t.y[0] == 0 for t in fig.data)
    bold = [t for t in fig.data if t.line.width > 1]
    assert len(bold) == 8
    # The two classes of one panel differ in colour and in line.
    for first, second in zip(bold[::2], bold[1::2], strict=True):
        assert first.line.color != second.line.color
        assert first.line.dash != second.line.dash
    texts = [note.text for note in fig.layout.annotations]
    assert texts[:4] == ["sense", "part of speech", "entity", "role"]
    assert {"fruit", "company", "noun", "verb", "person", "place", "agent", "patient"} <= set(texts)


def test_several_sentences_are_thin_lines_under_their_mean():
    fig = panels(four_panels(), "t", "Four panels.")
    thin = [t for t in fig.data if t.line.width == 1]
    assert [list(t.y) for t in thin] == [[0.0, 0.4, 0.7], [0.0, 0.2, 0.5]]
    assert list(fig.data[2].y) == pytest.approx([0.0, 0.3, 0.6])


def test_one_panel_alone_is_drawn_too():
    fig = panels({"sense": {"fruit": [0.0, 0.5]}}, "t", "One panel.")
    assert [t.name for t in fig.data] == ["fruit"]


@pytest.mark.parametrize("contents", [{}, {"sense": {}}, {"sense": {"fruit": [[0.0, 1.0], [0.0]]}}])
def test_empty_or_ragged_panels_are_refused_by_name(contents):
    with pytest.raises(NothingToDraw):
        panels(contents, "t", "words")
