"""Memory against weights for several models, and bytes as bars to scale."""

import math
from itertools import pairwise

import pytest

from memlessons.plan.presets import UnknownPreset
from memlessons.show.bars import bars_to_scale, segment_labels
from memlessons.show.curves import NothingToDraw
from memlessons.show.tax import tax_figure

FIVE = ["smollm2-135m", "llama-2-7b", "llama-3.1-8b", "deepseek-r1", "mistral-7b-v0.1"]


def crossings(fig):
    return sorted(t.x[0] for t in fig.data if t.name == "crossing")


def test_all_five_share_one_line_and_cross_it_where_their_memory_is_as_heavy_as_they():
    fig = tax_figure(FIVE)
    # A token's weights take 39.5e9 bytes, 129,280 x 7,168 x 2 of them a table from which it takes a row; the
    # memory 2 bytes for each of 576 numbers in 61 layers.
    experts = math.ceil((39_521_773_920 - 129_280 * 7168 * 2) / (61 * 576 * 2))
    assert crossings(fig) == [11_677, 25_706, 122_533, experts, 9_579_215]
    (balance,) = [t for t in fig.data if t.name == "weights"]
    assert list(balance.y) == [1, 1] and balance.line.dash == "dash"
    texts = [note.text for note in fig.layout.annotations]
    assert {"<b>11,677</b>", "<b>25,706</b>", "<b>122,533</b>", "<b>9,579,215</b>"} <= set(texts)
    assert {*FIVE, "the weights"} <= set(texts)
    assert fig.id == "fig-02"
    assert (
        "mistral-7b-v0.1 never" in fig.alt
        and "llama-2-7b at 25,706 tokens (trained to read 4,096)" in fig.alt
    )


def test_a_line_is_a_multiple_of_the_weights_and_faint_beyond_what_was_trained():
    fig = tax_figure(["llama-3.1-8b"])
    solid, faint = [t for t in fig.data if t.name == "llama-3.1-8b"]
    at = dict(zip(solid.x, solid.y, strict=True))
    assert at[4096] == pytest.approx(4096 * 131_072 / 16_060_522_496)
    assert solid.x[-1] == faint.x[0] == 131_072 and faint.x[-1] == 10_000_000
    assert solid.opacity == 1 and faint.opacity < 0.5
    (bar,) = [t for t in fig.data if t.name == "trained to read"]
    assert bar.x[0] == 131_072 and bar.y[0] == pytest.approx(131_072 * 131_072 / 16_060_522_496)


def test_windows_stop_the_rise():
    solid, _ = [t for t in tax_figure(["mistral-7b-v0.1"]).data if t.name == "mistral-7b-v0.1"]
    assert max(solid.y) == solid.y[-1] == pytest.approx(4096 * 131_072 / (7_241_732_096 * 2))
    assert crossings(tax_figure(["mistral-7b-v0.1"])) == []


def test_a_batch_multiplies_the_memory_and_wakes_more_experts():
    fig = tax_figure(FIVE, batch=64)
    least = {math.ceil(c / 64) for c in (11_677, 25_706, 122_533, 9_579_215)}
    found = crossings(fig)
    assert len(found) == 6  # Mistral's windows too, for so many readers
    assert all(any(abs(c - want) <= 1 for c in found) for want in least)
    # 64 readers wake 1 - (31/32)^64 of the experts, 87 % of them: the dotted line nears the whole one.
    woken, whole = found[-2:]
    assert 0.85 < woken / whole < 0.9
    assert not any("experts" in (n.text or "") for n in tax_figure(FIVE, batch=3000).layout.annotations)
    assert fig.layout.xaxis.range[0] <= math.log10(min(found))


def test_crossings_look_different_without_their_colour():
    marks = [t.marker.symbol for t in tax_figure(FIVE[:3]).data if t.name == "crossing"]
    assert len(set(marks)) == 3


def test_crossings_beyond_the_edge_are_not_drawn_and_still_said():
    fig = tax_figure(["llama-3.1-8b"], longest=65_536)
    assert crossings(fig) == [] and "122,533" in fig.alt
    assert max(max(t.x) for t in fig.data) == 65_536


@pytest.mark.parametrize(("presets", "more"), [([], {}), (FIVE, {"batch": 0}), (FIVE, {"longest": 100})])
def test_nothing_to_draw_is_refused_by_name(presets, more):
    with pytest.raises(NothingToDraw, match="longest"):
        tax_figure(presets, **more)
    with pytest.raises(UnknownPreset):
        tax_figure(["gpt-9"])


MIB = 1024**2
PARTS = {
    "own K and V": [("read", 64 * MIB)],
    "shared": [("read", 2 * MIB)],
    "shared but <expanded>": [("read 1", 2 * MIB), ("write 32", 64 * MIB), ("read 32", 64 * MIB)],
}


def test_bars_are_to_scale_and_stand_end_to_end():
    fig = bars_to_scale(PARTS, "How many bytes move?", "Three ways.", id="fig-03")
    assert [t.x[0] for t in fig.data] == [64 * MIB, 2 * MIB, 2 * MIB, 64 * MIB, 64 * MIB]
    assert [t.base[0] for t in fig.data] == [0, 0, 0, 2 * MIB, 66 * MIB]
    assert [t.y[0] for t in fig.data] == [0, 1, 2, 2, 2]
    assert len({t.width for t in fig.data}) == 1
    texts = [note.text for note in fig.layout.annotations]
    assert {"read: 64.0 MiB", "read 1: 2.00 MiB", "write 32: 64.0 MiB"} <= set(texts)
    assert [t for t in texts if t.startswith("<b>")] == [
        "<b>64.0 MiB</b>",
        "<b>2.00 MiB</b>",
        "<b>130 MiB</b>",
    ]
    assert list(fig.layout.yaxis.ticktext)[2] == "shared but<br>&lt;expanded&gt;"
    assert fig.alt.startswith("Three ways. own K and V: read 64.0 MiB") and fig.id == "fig-03"


def test_one_label_looks_alike_in_all_rows_and_others_differ_without_colour():
    fig = bars_to_scale(PARTS, "t", "Three ways.")
    looks = [(t.marker.color, t.marker.pattern.shape) for t in fig.data]
    assert looks[0] == looks[1] and len(set(looks)) == 4
    assert len({shape for _, shape in looks}) == 4


def test_labels_of_a_row_keep_apart():
    row = [("read 1", 1.0), ("write 32", 1.0), ("read 32", 98.0)]
    placed = segment_labels(row, 100.0, pixels=400)
    spans = sorted(
        (centre * 4 + shift - len(text) * 3.5, centre * 4 + shift + len(text) * 3.5)
        for centre, shift, text in placed
    )
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert [centre for centre, _, _ in placed] == [0.5, 1.5, 51.0]


@pytest.mark.parametrize("parts", [{}, {"a": []}, {"a": [("b", -1.0)]}, {"a": [("b", math.nan)]}])
def test_bars_of_nothing_are_refused_by_name(parts):
    with pytest.raises(NothingToDraw, match="bars_to_scale"):
        bars_to_scale(parts, "t", "words")


def test_bars_of_no_bytes_are_drawn_all_the_same():
    assert bars_to_scale({"a": [("read", 0)]}, "t", "words").data[0].x[0] == 0
