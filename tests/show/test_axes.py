"""Ticks and labels in the units of the book."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.show.axes import padded, set_axis, tick_text, ticks
from memlessons.show.labels import End, label_ends, plot_pixels, spread
from memlessons.show.theme import figure
from memlessons.show.values import number_text, tokens_text, value_text

KINDS = ("bytes", "tokens", "seconds", "bytes/s", "FLOP/s", "number")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (0, "0"),
        (512, "512"),
        (1024, "1k"),
        (1536, "1.5k"),
        (8192, "8k"),
        (131072, "128k"),
        (1000, "1,000"),
        (5000, "5,000"),
        (2**20, "1M"),
        (12.5, "12.5"),
    ],
)
def test_token_lengths_read_as_people_say_them(tokens, text):
    assert tokens_text(tokens) == text


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (2**20, "bytes", "1 MiB"),
        (1536, "bytes", "1.5 KiB"),
        (0, "bytes", "0"),
        (100, "bytes", "100 B"),
        (0.01, "seconds", "10 ms"),
        (2.5, "seconds", "2.5 s"),
        (20e9, "bytes/s", "20 GB/s"),
        (73e9, "FLOP/s", "73 GFLOP/s"),
        (0.1, "number", "0.1"),
        (-0.5, "number", "-0.5"),
        (8192, "tokens", "8k"),
    ],
)
def test_ticks_are_as_short_as_their_unit_allows(value, kind, text):
    assert tick_text(value, kind) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (11.063, "perplexity", "perplexity 11.1"),
        (16, "times", "16 times"),
        (8.0, "layers", "8 layers"),
        (3.14159, "", "3.14"),
        (2**20, "bytes", "1.00 MiB"),
        (5, "tokens", "5 tokens"),
        (12_345.6, "number", "12,346"),
        (float("nan"), "", "not a number"),
        (float("inf"), "", "∞"),
        (-0.24, "", "-0.24"),
        (269e6, "FLOP", "269 MFLOP"),
        (12, "FLOP", "12.0 FLOP"),
        (0.0001234, "", "0.000123"),
    ],
)
def test_values_carry_their_unit(value, unit, text):
    assert value_text(value, unit) == text


def test_whole_numbers_stay_whole():
    assert number_text(1024) == "1,024"
    assert number_text(-3.0) == "-3"


@given(
    st.sampled_from(KINDS),
    st.booleans(),
    st.floats(1e-3, 1e12),
    st.floats(1.05, 1e6),
)
def test_ticks_lie_inside_the_axis_in_order_and_are_few(kind, log, low, ratio):
    high = low * ratio
    start = low if log else 0.0
    at = ticks(start, high, kind, log=log)
    assert 1 <= len(at) <= 10
    assert at == sorted(set(at))
    assert all(start * 0.998 <= t <= high * 1.002 for t in at)


@given(st.integers(10, 40), st.integers(1, 20))
def test_byte_ticks_are_powers_of_two_on_a_log_axis(first, octaves):
    low, high = 2.0**first, 2.0 ** (first + octaves)
    assert all(math.log2(t).is_integer() for t in ticks(low, high, "bytes", log=True))


def test_linear_byte_ticks_are_round_in_binary():
    assert [tick_text(t, "bytes") for t in ticks(0, 1.6 * 2**20, "bytes")] == [
        "0",
        "512 KiB",
        "1 MiB",
        "1.5 MiB",
    ]


def test_an_axis_gets_its_range_in_its_own_coordinates():
    fig = figure("t", "x", "y", "words")
    span = set_axis(fig, "x", "bytes", 1024, 2**20, log=True)
    assert span == pytest.approx((math.log10(1024), math.log10(2**20)))
    assert tuple(fig.layout.xaxis.range) == span
    assert fig.layout.xaxis.type == "log"
    assert fig.layout.xaxis.ticktext[0] == "1 KiB"


def test_ranges_have_a_margin_and_may_start_at_nothing():
    assert padded([0, 10]) == (-0.5, 10.5)
    assert padded([2, 10], zero=True)[0] == 0
    low, high = padded([1, 100], log=True)
    assert low < 1 and high > 100
    low, high = padded([5.0])
    assert low < 5 < high


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(5, 40)), min_size=1, max_size=8))
def test_labels_never_overlap_and_stay_on_the_page_if_they_fit(labels):
    wanted, heights = [w for w, _ in labels], [h for _, h in labels]
    placed = spread(wanted, heights, 0, 300)
    order = sorted(range(len(labels)), key=lambda i: placed[i])
    for a, b in pairwise(order):
        assert placed[b] - placed[a] >= (heights[a] + heights[b]) / 2 - 1e-6
    if sum(heights) <= 300:
        assert all(h / 2 - 1e-6 <= p <= 300 - h / 2 + 1e-6 for p, h in zip(placed, heights, strict=True))


def test_labels_that_do_not_collide_stay_where_they_are():
    assert spread([20, 150, 260], [15, 15, 15], 0, 300) == [20, 150, 260]


def test_labels_keep_the_order_of_their_lines():
    placed = spread([100, 101, 99], [20, 20, 20], 0, 300)
    assert placed[2] < placed[0] < placed[1]


def test_end_labels_are_written_in_the_colour_of_their_line_and_make_room():
    fig = figure("t", "x", "y", "words")
    label_ends(fig, [End("a <b> line", 1.0, 0.5, "#123456"), End("other", 1.0, 0.5, "#654321")], (0, 1))
    first, second = fig.layout.annotations
    assert first.text == "a &lt;b&gt; line"
    assert first.font.color == "#123456"
    assert abs(first.yshift - second.yshift) >= 15
    assert fig.layout.margin.r > 60
    assert plot_pixels(fig) == fig.layout.height - 52 - 48
