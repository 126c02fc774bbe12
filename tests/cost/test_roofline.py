"""Roofline bounds against an independent count, and their direction: more work is never cheaper."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cost import (
    Accelerator,
    ImpossibleWork,
    WeightsRead,
    attention_flops,
    decode_bound,
    get,
    prefill_bound,
    ridge,
    time_bound,
    weight_bytes_read,
    weights_read,
)
from memlessons.plan import F16, F32, Layer, MemoryPlan, Store, Weights, full_attention

# A device with round numbers: 10 FLOP per byte at the ridge.
TOY = Accelerator("toy", "toy", 10**9, None, 100.0, 1000.0, None, None, None, "made up", "assumed")


def attend(heads: int, kv_heads: int, width: int, **more: object) -> Layer:
    store = Store("self", kv_heads, width, width, **more)  # type: ignore[arg-type]
    return Layer(heads, (store,))


def slow_attention_flops(plan: MemoryPlan, length: int) -> int:
    """Count multiply-adds one by one, from the meaning of the fields and not from the package's rules."""
    count = 0
    for layer in plan.layers:
        own = list(layer.stores)
        if layer.reads_from is not None:
            own += [s for s in plan.layers[layer.reads_from].stores if s.role in ("self", "latent")]
        for store in own:
            entries = [p for p in range(length) if (p + 1) % store.stride == 0]
            if store.window is not None:
                last = entries[max(0, len(entries) - store.window) :]
                first = [e for e in entries[: store.sink_tokens] if e not in last]
                entries = first + last
            if store.block is not None and length:
                entries = [p for p in range(length) if p // store.block == (length - 1) // store.block]
            if store.read_tokens is not None:
                entries = entries[: store.read_tokens]
            for _ in entries:
                for _ in range(layer.query_heads):
                    count += store.key_width  # a score
                    count += store.value_width or store.key_width - store.rope_width  # a weighted sum
    return 2 * count


stores = st.builds(
    Store,
    st.just("self"),
    st.just(1),
    st.integers(1, 4),
    st.integers(1, 4),
    key_format=st.sampled_from([F16, F32]),
    window=st.none() | st.integers(1, 6),
    stride=st.just(1),
) | st.builds(
    lambda rank, rope, read: Store("latent", 1, rank + rope, 0, rope, read_tokens=read),
    st.integers(1, 5),
    st.integers(0, 3),
    st.none() | st.integers(1, 5),
)
strided = st.builds(
    lambda stride, width: Store("self", 1, width, width, stride=stride), st.integers(2, 4), st.just(2)
)
sunk = st.builds(
    lambda window, sinks: Store("self", 1, 2, 3, window=window, sink_tokens=sinks),
    st.integers(1, 4),
    st.integers(0, 3),
)
layers = st.builds(lambda heads, store: Layer(heads, (store,)), st.integers(1, 3), stores | strided | sunk)


@st.composite
def plans(draw: st.DrawFn) -> MemoryPlan:
    own = draw(st.lists(layers, min_size=1, max_size=4))
    shared = draw(st.lists(st.integers(0, len(own) - 1), max_size=2))
    return MemoryPlan(tuple(own) + tuple(Layer(2, (), reads_from=owner) for owner in shared))


weights_drawn = st.builds(
    lambda size, parameters, share, head: Weights(
        size, parameters, max(1, parameters // share), "drawn", head_parameters=parameters // share // head
    ),
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.integers(1, 20),
    st.integers(1, 5),
)


@given(st.integers(0, 10**18), st.integers(0, 10**18), st.floats(1, 1e15), st.floats(1, 1e15))
@settings(deadline=None)
def test_the_slower_of_two_overlapping_jobs_decides(
    flops: int, moved: int, rate: float, speed: float
) -> None:
    device = replace(TOY, matmul_flops=rate, bandwidth=speed)
    bound = time_bound(flops, moved, device)
    # What can be done by then, computed the other way round: all of it, and one side is never idle.
    assert bound.seconds * rate >= flops * (1 - 1e-12)
    assert bound.seconds * speed >= moved * (1 - 1e-12)
    busy = flops / rate if bound.limit == "compute" else moved / speed
    assert bound.seconds == busy


@pytest.mark.parametrize(
    ("flops", "moved", "seconds", "limit"),
    [
        (0, 500, 5.0, "memory"),
        (3000, 0, 3.0, "compute"),
        (1000, 300, 3.0, "memory"),
        (4000, 300, 4.0, "compute"),
        (1000, 100, 1.0, "compute"),
        (0, 0, 0.0, "compute"),
    ],
)
def test_both_corners_and_the_ridge(flops: float, moved: float, seconds: float, limit: str) -> None:
    bound = time_bound(flops, moved, TOY)
    assert (bound.seconds, bound.limit) == (seconds, limit)
    assert (bound.flops, bound.bytes_moved) == (flops, moved)


def test_the_ridge_is_flop_per_byte() -> None:
    assert ridge(TOY) == 10.0
    assert round(ridge(get("H100 SXM 80GB"))) == 295
    assert time_bound(10.0, 1.0, TOY).intensity == 10.0


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_impossible_work_is_refused_by_name(bad: float) -> None:
    with pytest.raises(ImpossibleWork, match="flops"):
        time_bound(bad, 1.0, TOY)
    with pytest.raises(ImpossibleWork, match="bytes_moved"):
        time_bound(1.0, bad, TOY)
    with pytest.raises(ImpossibleWork, match="bandwidth"):
        time_bound(1.0, 1.0, replace(TOY, bandwidth=bad))


def test_a_decode_step_counted_by_hand() -> None:
    # 2 layers, 4 query heads on 2 KV heads of width 3, f16: a slot is 2 * (3 + 3) * 2 = 24 bytes a layer.
    plan = MemoryPlan((attend(4, 2, 3),) * 2)
    weights = Weights(stored_bytes=2000, parameters=1000, active_parameters=1000, source="toy")
    bound = decode_bound(plan, weights, [5, 7], TOY)
    assert bound.bytes_moved == 2000 + 2 * 24 * (5 + 7)
    assert bound.flops == 2 * 1000 * 2 + 2 * (2 * 4 * (3 + 3)) * (5 + 7)
    assert bound.limit == "memory"
    assert bound.seconds == bound.bytes_moved / 100.0


def test_a_latent_is_counted_absorbed() -> None:
    # Scores over rank + rope = 6 numbers, values are the first 4 of them.
    plan = MemoryPlan((Layer(8, (Store("latent", 1, 6, 0, 2),)),))
    assert attention_flops(plan, 10) == 2 * 8 * (6 + 4) * 10


def test_cross_attention_counts_encoder_tokens() -> None:
    store = Store("cross", 2, 3, 3, rope="none", grows_with="encoder_tokens")
    plan = MemoryPlan((Layer(2, (store,)),))
    assert attention_flops(plan, [1, 9], encoder_tokens=5) == 2 * (2 * 2 * 6 * 5)
    assert attention_flops(plan, [1, 9]) == 0


def test_state_costs_the_same_at_every_length() -> None:
    plan = MemoryPlan((Layer(0, (Store("state", grows_with="nothing", state=((10, F32), (4, F16))),)),))
    assert attention_flops(plan, 1) == attention_flops(plan, 10_000) == 5 * 14


@given(plans(), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_attention_flops_equal_a_count_of_single_multiply_adds(plan: MemoryPlan, length: int) -> None:
    assert attention_flops(plan, length) == slow_attention_flops(plan, length)


@given(plans(), weights_drawn, st.integers(0, 6), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_prefill_is_the_sum_of_its_tokens_over_what_each_may_see(
    plan: MemoryPlan, weights: Weights, past: int, tokens: int
) -> None:
    bound = prefill_bound(plan, weights, tokens, TOY, past)
    causal = sum(slow_attention_flops(plan, n) for n in range(past + 1, past + tokens + 1))
    asked_once = weights.head_parameters
    assert bound.flops == 2 * ((weights.active_parameters - asked_once) * tokens + asked_once) + causal
    scoring = prefill_bound(plan, weights, tokens, TOY, past, scored="all")
    assert scoring.flops == 2 * weights.active_parameters * tokens + causal


def test_causal_prefill_is_half_of_the_square() -> None:
    plan, weights = full_attention(1, 1, 1, 1), Weights(1, 1, 1, "toy")
    n = 2000
    attention = prefill_bound(plan, weights, n, TOY).flops - 2 * n
    assert attention == 2 * 2 * n * (n + 1) / 2


@given(st.integers(5000, 200_000), st.integers(1, 50_000), st.integers(0, 3000))
@settings(max_examples=25, deadline=None)
def test_long_prefills_are_added_up_closely(tokens: int, window: int, past: int) -> None:
    weights = Weights(1, 1, 1, "toy")
    plan = MemoryPlan((attend(1, 1, 1), attend(1, 1, 1, window=window)))
    got = prefill_bound(plan, weights, tokens, TOY, past).flops - 2 * tokens
    end = past + tokens
    full = (end * (end + 1) - past * (past + 1)) // 2
    knee = min(max(window, past), end)
    windowed = (knee * (knee + 1) - past * (past + 1)) // 2 + (end - knee) * window
    assert got == pytest.approx(4 * (full + windowed), rel=1e-4)


def test_prefill_moves_weights_once_reads_the_past_and_writes_the_new() -> None:
    plan, weights = full_attention(2, 4, 2, 3), Weights(2000, 1000, 1000, "toy")
    slot = 2 * 24
    assert prefill_bound(plan, weights, 7, TOY).bytes_moved == 2000 + 7 * slot
    assert prefill_bound(plan, weights, 7, TOY, past=5).bytes_moved == 2000 + (5 + 7) * slot
    assert prefill_bound(plan.with_pages(16), weights, 7, TOY).bytes_moved == 2000 + 7 * slot
    windowed = plan.with_window(3, 4)
    assert prefill_bound(windowed, weights, 7, TOY).bytes_moved == 2000 + 4 * slot


def test_a_mixture_reads_between_its_active_share_and_everything() -> None:
    dense, mixture = Weights(1000, 500, 500, "toy"), Weights(1000, 500, 50, "toy")
    assert [weight_bytes_read(dense, n) for n in (0, 1, 9)] == [0, 1000, 1000]
    assert [weight_bytes_read(mixture, n) for n in (0, 1, 3, 10, 99)] == [0, 100, 300, 1000, 1000]


def test_experts_are_woken_once_however_many_choose_them() -> None:
    """100 bytes that all tokens need and 8 experts of 100, of which each token takes 2."""
    mixture = Weights(900, 900, 300, "toy", expert_share=2 / 8)
    assert weights_read(mixture, 1) == WeightsRead(300, 300, 300)
    two = weights_read(mixture, 2)
    # By hand: a pair of pairs wakes 8 x (1 - (6/8)^2) = 3.5 experts on average, at most 4.
    assert two == WeightsRead(300, 100 + 350, 100 + 400)
    assert weights_read(mixture, 4).most == weights_read(mixture, 100).most == 900
    draw = random.Random(3)
    woken = [len({e for _ in range(5) for e in draw.sample(range(8), 2)}) for _ in range(20_000)]
    assert weights_read(mixture, 5).even == pytest.approx(100 + 100 * sum(woken) / len(woken), rel=0.01)


def test_a_table_that_is_looked_up_is_neither_read_nor_multiplied() -> None:
    plan = full_attention(1, 1, 1, 1)
    whole = Weights(1000, 500, 500, "toy")
    table = Weights(1000, 500, 500, "toy", lookup_parameters=100, lookup_bytes=200)
    a, b = (decode_bound(plan, weights, 1, TOY) for weights in (whole, table))
    assert a.bytes_moved - b.bytes_moved == 200 and a.flops - b.flops == 2 * 100


@given(plans(), weights_drawn, st.lists(st.integers(0, 30), min_size=1, max_size=4), st.data())
@settings(max_examples=80, deadline=None)
def test_more_context_and_more_batch_never_cost_less(
    plan: MemoryPlan, weights: Weights, contexts: list[int], data: st.DataObject
) -> None:
    bound = decode_bound(plan, weights, contexts, TOY)
    row = data.draw(st.integers(0, len(contexts) - 1))
    longer = [n + (7 if i == row else 0) for i, n in enumerate(contexts)]
    for more in (longer, [*contexts, data.draw(st.integers(0, 30))]):
        other = decode_bound(plan, weights, more, TOY)
        assert other.seconds >= bound.seconds
        assert other.flops >= bound.flops
        assert other.bytes_moved >= bound.bytes_moved


@given(plans(), weights_drawn, st.integers(1, 30), st.integers(0, 30))
@settings(max_examples=80, deadline=None)
def test_longer_prompts_and_longer_pasts_never_cost_less(
    plan: MemoryPlan, weights: Weights, tokens: int, past: int
) -> None:
    bound = prefill_bound(plan, weights, tokens, TOY, past)
    assert prefill_bound(plan, weights, tokens + 1, TOY, past).seconds >= bound.seconds
    assert prefill_bound(plan, weights, tokens, TOY, past + 1).seconds >= bound.seconds


@given(plans(), weights_drawn, st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_a_faster_device_is_never_slower(plan: MemoryPlan, weights: Weights, context: int) -> None:
    slow = decode_bound(plan, weights, context, TOY).seconds
    for better in (replace(TOY, bandwidth=200.0), replace(TOY, matmul_flops=2000.0)):
        assert slow / 2 <= decode_bound(plan, weights, context, better).seconds <= slow


def test_an_8b_decode_step_waits_for_memory_and_its_prefill_computes() -> None:
    plan = full_attention(32, 32, 8, 128)
    weights = Weights(16_060_522_496, 8_030_261_248, 8_030_261_248, "Llama 3.1 8B, 16-bit")
    card = get("H200 SXM")
    step = decode_bound(plan, weights, 4096, card)
    prompt = prefill_bound(plan, weights, 4096, card)
    assert (step.limit, prompt.limit) == ("memory", "compute")
    assert step.seconds == pytest.approx((16_060_522_496 + 4096 * 131_072) / 4.8e12)
    pairs = 4096 * 4097 / 2
    expected = 2 * 8_030_261_248 * 4096 + 32 * 2 * 32 * 256 * pairs
    assert prompt.seconds == pytest.approx(expected / 989e12)
