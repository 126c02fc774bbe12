"""What a picture is made of: pieces that add up for every engine, and curves that are the plan's own sums."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.plan import presets
from memlessons.plan.engines import BadEngineArgument
from memlessons.sizing import Question, answer, resolve
from memlessons.sizing.drawn import BEYOND, SHORTEST, pieces, step_curve
from memlessons.sizing.sums import sums
from tests.sizing.models import A_TOKEN, CARD, LATENT, WINDOWED, model

MIB = 2**20


def test_pieces_are_weights_kinds_of_layer_rounding_and_reserve():
    question = Question(model(WINDOWED), context=4000, batch=2, card=CARD, engine="vllm", reserve_bytes=5)
    found = answer(question)
    parts = pieces(found)
    assert [part.kind for part in parts] == ["weights", "memory", "memory", "rounding", "reserve"]
    assert parts[0].bytes == 100 * MIB and parts[-1].bytes == 5
    assert sorted(p.bytes for p in parts[1:3]) == [2 * 1024 * A_TOKEN // 2, 2 * 4000 * A_TOKEN // 2]
    assert sum(p.bytes for p in parts) == found.needed_per_device
    assert not any(part.kind == "rounding" for part in pieces(answer(question.with_(engine="ideal"))))


def test_many_kinds_of_layer_become_few_pieces_that_still_add_up():
    found = answer(Question(resolve("mimo-v2-flash"), context=100_000, card=CARD))
    whole, two = pieces(found), pieces(found, most=2)
    assert [p.name for p in two if p.kind == "memory"][-1] == "other layers" or len(whole) <= 3
    assert sum(p.bytes for p in two) == sum(p.bytes for p in whole) == found.needed_per_device


def test_an_engine_that_splits_between_layers_is_drawn_in_proportion():
    found = answer(Question(model(LATENT), context=1000, batch=3, tp=4, card=CARD, engine="llama.cpp"))
    assert found.reserved < found.kv_per_device
    (weights, memory) = pieces(found)
    assert memory.bytes == found.reserved and weights.bytes == 25 * MIB


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(presets.names()),
    st.integers(1, 300_000),
    st.integers(1, 500),
    st.integers(1, 9),
    st.sampled_from(["ideal", "vllm", "llama.cpp", "sglang"]),
)
def test_pieces_add_up_for_any_model_and_engine(name, context, batch, tp, engine):
    question = Question(resolve(name), context=context, batch=batch, tp=tp, engine=engine, card=CARD)
    try:
        found = answer(question)
    except BadEngineArgument:
        return  # an engine that does not serve this kind of model
    parts = pieces(found)
    assert sum(part.bytes for part in parts) == found.needed_per_device
    assert min(part.bytes for part in parts) >= 0


def test_without_weights_there_is_no_piece_and_no_line_of_them():
    question = Question(model(weights=None), context=100, card=CARD)
    assert [part.kind for part in pieces(answer(question))] == ["memory"]
    assert step_curve(question).weight_bytes is None


def test_the_curve_is_what_a_step_reads_of_the_whole_batch():
    question = Question(model(WINDOWED), context=4000, batch=3, card=CARD, tp=2)
    curve = step_curve(question)
    assert {1, SHORTEST, 8192, BEYOND * 8192} <= set(curve.contexts) and curve.contexts == tuple(
        sorted(curve.contexts)
    )
    for n, read in zip(curve.contexts, curve.memory_bytes, strict=True):
        assert read == 3 * (min(n, 1024) + n) * A_TOKEN // 2
    assert curve.contexts[curve.known - 1] == 8192
    assert curve.memory_now == 3 * (1024 + 4000) * A_TOKEN // 2
    assert curve.weight_bytes == 100 * MIB


@pytest.mark.parametrize("name", presets.names())
def test_sums_by_kind_of_store_are_the_plans_own(name):
    plan = presets.get(name).plan
    held, read = sums(plan, 77)
    for tokens in (0, 1, 17, 513, 5000, 100_001):
        assert held(tokens) == plan.bytes(tokens, encoder_tokens=77)
        assert read(tokens) == plan.bytes_read(tokens, encoder_tokens=77)
