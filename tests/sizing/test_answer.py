"""The numbers of an answer, against sums by hand and against each other."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.cost import Lengths, accelerators, decode_bound, prefill_bound, sequences_that_fit
from memlessons.cost.capacity import varied_sequences_that_fit
from memlessons.plan import Weights
from memlessons.sizing import Question, answer, resolve
from memlessons.sizing.table import table
from memlessons.sizing.times import band
from tests.sizing.models import A_TOKEN, CARD, CONFIG, LATENT, WINDOWED, model

MIB = 2**20
LLAMA = model()


def test_bytes_are_those_of_a_sum_by_hand():
    found = answer(Question(LLAMA, context=1000, batch=3, card=CARD))
    assert found.kv_per_sequence == 1000 * A_TOKEN == 2_048_000
    assert found.kv_bytes == found.kv_per_device == found.reserved == 3 * 2_048_000
    assert found.slope == found.average == A_TOKEN and found.constant_bytes == 0
    assert found.weight_bytes == 100 * MIB and found.card_bytes == 190 * MIB
    assert found.needed_per_device == 100 * MIB + 3 * 2_048_000 and found.fits
    assert found.sequences_fit == 90 * MIB // 2_048_000 == 46
    assert found.crossing == -(-100 * MIB // (3 * A_TOKEN)) and found.sequences_to_outweigh == 52
    assert found.dominates == "weights"


def test_windows_stop_growing_and_the_groups_add_up():
    found = answer(Question(model(WINDOWED), context=4096, batch=2))
    kinds = {group.layers: group for group in found.groups}
    assert len(found.groups) == 2 and set(kinds) == {2}
    sizes = sorted(group.bytes_per_sequence for group in found.groups)
    assert sizes == [1024 * A_TOKEN // 2, 4096 * A_TOKEN // 2]
    assert sum(sizes) == found.kv_per_sequence and found.slope == A_TOKEN // 2
    assert sum(group.bytes_per_token for group in found.groups) == found.slope


def test_every_layer_with_a_window_never_outweighs_heavy_weights():
    config = CONFIG | {"sliding_window": 512}
    assert answer(Question(model(config), context=4096)).crossing is None


def test_heads_are_divided_down_to_one_and_a_latent_not_at_all():
    for tp, share in ((1, 1.0), (2, 0.5), (4, 0.5), (8, 0.5)):
        found = answer(Question(LLAMA, context=1000, card=CARD, tp=tp))
        assert found.kv_per_device == share * 2_048_000 and found.kv_cluster == tp * found.kv_per_device
        assert found.weights_per_device == 100 * MIB / tp
    latent = answer(Question(model(LATENT), context=1000, card=CARD, tp=4))
    assert (
        latent.kv_per_device == latent.kv_bytes == 1000 * 4 * 128 * 2
        and latent.kv_cluster == 4 * latent.kv_bytes
    )
    assert any("latent is not divided" in note for note in latent.notes)
    assert any("repeated" in note for note in answer(Question(LLAMA, tp=4)).notes)


def test_times_on_one_device_are_the_bounds_of_the_cost_model():
    question = Question(LLAMA, context=700, batch=5, card=CARD)
    found = answer(question)
    bound = decode_bound(question.plan, LLAMA.weights, [700] * 5, CARD)
    assert found.step.bound == bound and found.step.weight_bytes + found.step.kv_bytes == bound.bytes_moved
    assert found.first_token == prefill_bound(question.plan, LLAMA.weights, 700, CARD)
    assert found.tokens_per_second == 5 / bound.seconds
    low, high = band(bound.seconds)
    assert low * 0.9 == pytest.approx(bound.seconds) == pytest.approx(high * 0.6)
    # By hand: bytes over bandwidth, for the weights once and five sequences.
    assert bound.limit == "memory" and bound.seconds == (100 * MIB + 5 * 700 * A_TOKEN) / 1e9


def test_two_devices_take_half_the_bytes_and_half_the_arithmetic_each():
    one, two = (answer(Question(LLAMA, context=700, batch=4, card=CARD, tp=tp)) for tp in (1, 2))
    assert two.step.bound.bytes_moved == one.step.bound.bytes_moved / 2
    assert two.step.bound.flops == one.step.bound.flops / 2
    assert two.first_token.flops == one.first_token.flops / 2


def test_the_reserve_and_what_is_visible_are_taken_off_what_fits():
    plain = answer(Question(LLAMA, context=1000, card=CARD))
    kept = answer(Question(LLAMA, context=1000, card=CARD, reserve_bytes=40 * MIB))
    seen = answer(Question(LLAMA, context=1000, card=CARD, visible_bytes=150 * MIB))
    assert kept.sequences_fit == seen.sequences_fit == 50 * MIB // 2_048_000 < plain.sequences_fit
    nothing = answer(Question(LLAMA, context=1000, card=CARD, reserve_bytes=95 * MIB))
    assert nothing.sequences_fit == 0 and not nothing.fits
    assert any("room for all of it" in note for note in nothing.notes)


def test_an_engine_that_rounds_leaves_room_for_fewer():
    ideal = answer(Question(LLAMA, context=100, card=CARD))
    rounded = answer(Question(LLAMA, context=100, card=CARD, engine="llama.cpp"))
    # A slot has 256 cells, 100 of them used.
    assert rounded.reserved == 256 * A_TOKEN
    assert ideal.sequences_fit == 90 * MIB // (100 * A_TOKEN)
    assert rounded.sequences_fit == 90 * MIB // (256 * A_TOKEN)


def test_without_weights_or_a_card_nothing_that_needs_them_is_computed():
    found = answer(Question(model(weights=None), context=100, card=CARD))
    nothing = (
        found.weight_bytes,
        found.fits,
        found.sequences_fit,
        found.step,
        found.first_token,
        found.crossing,
    )
    assert nothing == (None,) * 6
    assert any("not computed" in note for note in found.notes) and "not computed" in table(found)
    assert answer(Question(LLAMA)).fits is None
    blind = answer(Question(LLAMA, card=replace(CARD, matmul_flops=None)))
    assert blind.first_token is None and blind.step.bound.limit == "memory"


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(1, 50))
def test_what_fits_fits_and_one_more_does_not(each, room, step):
    def rounded(count: int) -> int:
        return -(-count // step) * step * each

    most = sequences_that_fit(room, rounded)
    assert (most == 0 or rounded(most) <= room) and rounded(most + 1) > room


def test_lengths_that_do_not_vary_fit_like_one_length_and_a_simulation_agrees_where_they_do():
    import random

    same = Lengths(1000, 1000, 8192)
    assert varied_sequences_that_fit(10**8, lambda n: n * A_TOKEN, same) == 10**8 // (1000 * A_TOKEN)
    varied = Lengths(1000, 6000, 10**6)
    room = 10**9
    most = varied_sequences_that_fit(room, lambda n: n * A_TOKEN, varied)
    draw = random.Random(5)
    width = 1.0893  # ln 6 / the normal's 95th percentile
    room_was_short = [
        sum(int(1000 * draw.lognormvariate(0, width)) * A_TOKEN for _ in range(most)) > room
        for _ in range(2000)
    ]
    assert 0.02 < sum(room_was_short) / 2000 < 0.09
    assert answer(Question(LLAMA, card=CARD, lengths=varied)).varied_fit is not None


@pytest.mark.parametrize("card", accelerators(), ids=lambda card: card.name)
def test_every_card_can_be_asked_about(card):
    found = answer(Question(LLAMA, context=4096, batch=2, card=card, kv_dtype="q8_0/f16"))
    assert found.step.bound.seconds > 0 and found.fits is not None
    assert card.name in table(found)


def test_answers_of_configurations_that_differ_only_in_what_an_engine_asks_are_kept_apart():
    narrow, wide = (LATENT | {"qk_nope_head_dim": n, "v_head_dim": n} for n in (16, 128))
    one, other = (
        answer(Question(model(c), context=1000, engine="naive_mla")).reserved for c in (narrow, wide)
    )
    assert one == 1000 * 4 * 8 * (16 + 32 + 16) * 2 and other == 1000 * 4 * 8 * (128 + 32 + 128) * 2


def test_a_mixture_says_how_much_of_it_a_step_reads():
    mixture = Weights(1000 * MIB, 500 * MIB, 150 * MIB, "toy", expert_share=1 / 8)
    made = replace(model(), weights=mixture)
    found = answer(Question(made, batch=2, card=CARD))
    # 1,000 MiB, 300 of which a token needs: 800 of experts, 200 of the rest; two tokens wake 15 of 64.
    assert found.step.weight_bytes == (200 + 800 * 15 // 64) * MIB + MIB // 2
    assert any("choose evenly" in note and "300 MiB" in note and "400 MiB" in note for note in found.notes)


def test_what_has_an_encoder_but_does_not_listen_has_no_engine_and_draft_heads_are_named():
    assert answer(Question(resolve("t5-base"))).engines == ()
    assert [e.engine for e in answer(Question(resolve("whisper-tiny"), context=448)).engines] == [
        "whisper.cpp"
    ]
    assert any("no draft head" in note for note in answer(Question(LLAMA, draft=True)).notes)
    drafting = resolve("deepseek-v3", draft=True)
    assert any("draft head" in g.name for g in answer(Question(drafting, draft=True)).groups)
