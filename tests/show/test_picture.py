"""The picture of memory is to scale: what is drawn adds up to what the plan says, to the byte."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.plan import INT8, InvalidPlan, presets
from memlessons.show.picture import memory_picture

NAMES = presets.names()


@st.composite
def plans(draw):
    plan = presets.get(draw(st.sampled_from(NAMES))).plan
    edits = [
        lambda p: p.with_window(draw(st.integers(2, 8)), draw(st.integers(1, 3000)), draw(st.integers(0, 4))),
        lambda p: p.with_format(INT8),
        lambda p: p.with_sharing(draw(st.integers(2, 4))),
    ]
    for edit in edits:
        if draw(st.booleans()):
            # A model that keeps a state and no keys has nothing to give another format.
            with suppress(InvalidPlan):
                plan = edit(plan)
    return plan.with_pages(draw(st.sampled_from([1, 16, 128])))


def bars(fig):
    return [trace for trace in fig.data if trace.name != "weights"]


@settings(deadline=None, max_examples=25)
@given(plans(), st.one_of(st.integers(0, 200_000), st.lists(st.integers(0, 20_000), min_size=1, max_size=4)))
def test_drawn_lengths_add_up_to_the_plans_bytes_exactly(plan, context):
    fig = memory_picture(plan, context)
    assert sum(sum(trace.x) for trace in bars(fig)) == plan.bytes(context)
    drawn = sorted(row for trace in bars(fig) for row in trace.y)
    assert drawn == list(range(len(plan.layers)))
    for trace, group in zip(bars(fig), plan.groups(), strict=True):
        assert tuple(trace.y) == group.indices


@settings(deadline=None, max_examples=10)
@given(plans(), st.integers(1, 100_000))
def test_area_is_to_scale_too_because_all_bars_are_equally_thick(plan, context):
    weights = presets.get("llama-3.1-8b").weights
    fig = memory_picture(plan, context, weights=weights)
    assert len({trace.width for trace in fig.data}) == 1
    assert None not in {trace.width for trace in fig.data}
    assert fig.layout.xaxis.type == "linear"
    thick = fig.data[0].width
    area = sum(thick * x for trace in bars(fig) for x in trace.x)
    assert area / thick == pytest.approx(plan.bytes(context), rel=1e-12)


def test_weights_are_on_the_same_scale_at_the_other_side():
    preset = presets.get("smollm2-135m")
    fig = memory_picture(preset.plan, 2048, weights=preset.weights)
    (weights,) = [trace for trace in fig.data if trace.name == "weights"]
    assert -sum(weights.x) == pytest.approx(preset.weights.stored_bytes, rel=1e-12)
    assert all(x < 0 for x in weights.x)
    low, high = fig.layout.xaxis.range
    assert low <= min(weights.x) and high >= max(fig.data[0].x)
    assert not any(text.startswith("-") for text in fig.layout.xaxis.ticktext)
    assert "257 MiB" in fig.alt and "45.0 MiB" in fig.alt


def test_each_kind_of_layer_has_its_own_colour_pattern_and_label():
    fig = memory_picture(presets.get("gemma-3-270m").plan, 4096, id="fig-07")
    assert len(fig.data) == 2
    assert len({t.marker.color for t in fig.data}) == len({t.marker.pattern.shape for t in fig.data}) == 2
    labels = [note.text for note in fig.layout.annotations]
    assert any("7.50 MiB (38%)" in text for text in labels)
    assert any("12.0 MiB (62%)" in text for text in labels)
    assert [note.font.color for note in fig.layout.annotations] == [t.marker.color for t in fig.data]
    assert fig.id == "fig-07"


def test_nothing_remembered_is_drawn_as_nothing():
    fig = memory_picture(presets.get("smollm2-135m").plan, 0)
    assert sum(sum(t.x) for t in fig.data) == 0
    assert "0 B" in fig.alt


def test_a_batch_says_how_many_sequences_it_has():
    fig = memory_picture(presets.get("smollm2-135m").plan, [100, 28])
    assert "2 sequences, 128 tokens" in fig.layout.title.text
