"""Bytes of a plan against counts made token by token, and its published figures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.plan import (
    F16,
    F32,
    FORMATS,
    INT8,
    InvalidPlan,
    Layer,
    MemoryPlan,
    Store,
    full_attention,
    presets,
)
from tests.plan.strategies import any_plans, any_stores

lengths = st.lists(st.integers(0, 80), min_size=1, max_size=4)


def positions_held(store: Store, tokens: int) -> set[int]:
    """Which entries a rolling store has, by appending one at a time and throwing out the oldest."""
    held: list[int] = []
    for entry in range(tokens // store.stride):
        held.append(entry)
        if store.window is not None:
            room = store.window + store.slack
            sinks = [p for p in held if p < store.sink_tokens]
            held = sinks + [p for p in held if p >= store.sink_tokens][-room:]
        elif store.block is not None:
            held = held[-store.block :]
    return set(held)


def row_bits(format, width: int) -> int:
    if width == 0:
        return 0
    codes = math.ceil(width * format.bits / 8) * 8
    groups = 1 if format.group is None else math.ceil(width / format.group)
    return codes + math.ceil(groups * format.scale_bits / 8) * 8


@given(any_plans(), lengths, st.integers(0, 40))
def test_bytes_equal_a_count_of_entries_one_by_one(
    plan: MemoryPlan, contexts: list[int], encoder: int
) -> None:
    total = 0
    for tokens in contexts:
        for layer in plan.layers:
            for s in layer.stores:
                total += sum(row_bits(f, n) for n, f in s.state)
                if s.grows_with == "nothing":
                    continue
                entries = encoder if s.grows_with == "encoder_tokens" else len(positions_held(s, tokens))
                if s.grows_with == "tokens":
                    entries = math.ceil(entries / plan.page_tokens) * plan.page_tokens
                rows = row_bits(s.key_format, s.key_width) + row_bits(s.value_format, s.value_width)
                total += entries * s.kv_heads * rows
    assert plan.bytes(contexts, encoder_tokens=encoder) * 8 == total


@given(any_plans(), lengths)
def test_a_ragged_batch_is_the_sum_of_its_sequences(plan: MemoryPlan, contexts: list[int]) -> None:
    assert plan.bytes(contexts) == sum(plan.bytes(n) for n in contexts)
    assert plan.bytes_read(contexts) == sum(plan.bytes_read(n) for n in contexts)


def positions_seen(store: Store, tokens: int) -> int:
    """How many entries the query at the last position may look at, asked one entry at a time."""
    entries = range(tokens // store.stride)
    query = len(entries) - 1
    if store.window is not None:
        seen = [e for e in entries if query - e < store.window or e < store.sink_tokens]
    elif store.block is not None:
        seen = [e for e in entries if e // store.block == query // store.block]
    else:
        seen = list(entries)
    return len(seen) if store.read_tokens is None else min(len(seen), store.read_tokens)


@given(any_plans(), lengths, st.integers(0, 40))
def test_bytes_read_equal_a_look_at_every_entry(plan: MemoryPlan, contexts: list[int], encoder: int) -> None:
    total = 0
    for tokens in contexts:
        for layer in plan.layers:
            owner = None if layer.reads_from is None else plan.layers[layer.reads_from]
            borrowed = [s for s in owner.stores if s.role in ("self", "latent", "index")] if owner else []
            for s in [*layer.stores, *borrowed]:
                total += sum(row_bits(f, n) for n, f in s.state)
                if s.grows_with != "nothing":
                    seen = positions_seen(s, encoder if s.grows_with == "encoder_tokens" else tokens)
                    rows = row_bits(s.key_format, s.key_width) + row_bits(s.value_format, s.value_width)
                    total += seen * s.kv_heads * rows
    assert plan.bytes_read(contexts, encoder_tokens=encoder) * 8 == total


@given(any_plans(), st.integers(0, 200))
def test_bytes_never_shrink_with_length(plan: MemoryPlan, tokens: int) -> None:
    assert plan.bytes(tokens + 1) >= plan.bytes(tokens) >= plan.constant_bytes


@given(any_stores(), st.integers(0, 200))
def test_what_is_needed_to_resume_is_held_and_is_what_the_next_step_sees(store: Store, tokens: int) -> None:
    needed = store.needed(tokens)
    if store.state:
        assert needed is None
    elif store.stride == 1 and store.grows_with == "tokens":
        wanted = {p for r in needed for p in r}
        assert wanted <= positions_held(store, tokens)
        if store.read_tokens is None:
            # A step at `tokens + 1` sees what was needed, and itself.
            assert len(wanted) + 1 == positions_seen(store, tokens + 1)


def test_a_window_reads_its_sinks_and_its_window_but_not_its_slack() -> None:
    store = Store("self", 1, 4, 4, window=8, sink_tokens=2, slack=3)
    assert [store.slots(n) for n in (0, 1, 9, 10, 12, 13, 14, 99)] == [0, 1, 9, 10, 12, 13, 13, 13]
    assert [store.read_slots(n) for n in (0, 1, 9, 10, 11, 99)] == [0, 1, 9, 10, 10, 10]
    assert store.needed(20) == (range(0, 2), range(13, 20))


def test_block_formats_have_the_bytes_that_ggml_writes() -> None:
    per_32 = {"q8_0": 34, "q5_0": 22, "q5_1": 24, "q4_0": 18, "q4_1": 20, "iq4_nl": 18, "nvfp4": 18}
    assert {name: FORMATS[name].row_bytes(32) for name in per_32} == per_32
    assert INT8.row_bytes(128) == 132
    assert F16.row_bytes(0) == INT8.row_bytes(0) == 0


# Figures of logs, model cards and papers; each is a sum nobody here chose.
@pytest.mark.parametrize(
    ("preset", "tokens", "expected"),
    [
        ("llama-3.1-70b", 4096, 1280 * 2**20),  # llama.cpp log: 1280.00 MiB for 4096 cells
        ("llama-3.1-8b", 1, 131_072),
        ("deepseek-r1", 163_840, 10_980 * 2**20),  # llama.cpp log: c^KV (f16) 10980.00 MiB
        ("mistral-7b-v0.1", 10**6, 512 * 2**20),
        ("smollm2-135m", 1, 23_040),
        ("gemma-3-270m", 1, 18_432),
    ],
)
def test_presets_reproduce_published_bytes(preset: str, tokens: int, expected: int) -> None:
    assert presets.get(preset).plan.bytes(tokens) == expected


def test_gemma_27b_averages_83_kib_a_token_at_128k() -> None:
    assert presets.get("gemma-3-27b").plan.bytes(131_072) == 83.25 * 1024 * 131_072


def test_slope_is_what_the_next_token_adds_and_the_constant_what_none_costs() -> None:
    state = Store("state", grows_with="nothing", state=((100, F32),), divides="state")
    near = Store("self", 1, 8, 8, window=16)
    plan = MemoryPlan((Layer(2, (state, near)), Layer(2, (Store("self", 1, 8, 8),))))
    assert plan.constant_bytes == 400
    assert (plan.slope(3), plan.slope(16)) == (64, 32)
    assert plan.with_pages(64).slope(64) == 32


def test_tensor_parallelism_keeps_heads_whole_and_latents_everywhere() -> None:
    plan = full_attention(1, 32, 8, 128)
    assert [plan.bytes_per_device(1, n) // 512 for n in (1, 2, 3, 8, 16)] == [8, 4, 3, 1, 1]
    latent = plan.with_latent(512, 64)
    assert latent.bytes_per_device(10, 8) == latent.bytes(10)


@pytest.mark.parametrize(
    "build",
    [
        lambda: MemoryPlan(()),
        lambda: Store("self", 0, 8, 8),
        lambda: Store("self", -1, 8, 8),
        lambda: Store("self", True, 8, 8),
        lambda: Store("self", 1, 8, 8, window=0),
        lambda: Store("self", 1, 8, 8, sink_tokens=4),
        lambda: Store("self", 1, 8, 8, window=4, block=4),
        lambda: Store("self", 1, 8, 8, stride=0),
        lambda: Store("self", 1, 8, 8, rope_width=9),
        lambda: Store("memory", 1, 8, 8),  # type: ignore[arg-type]
        lambda: Store("state", grows_with="nothing"),
        lambda: Layer(9, (Store("self", 2, 8, 8),)),
        lambda: MemoryPlan((Layer(1, (), reads_from=0),)),
        lambda: MemoryPlan((Layer(1, (Store("self", 1, 8, 8),)), Layer(1, (), reads_from=2))),
        lambda: full_attention(1, 1, 1, 8).bytes(-1),
        lambda: full_attention(1, 1, 1, 8).with_pages(0),
    ],
)
def test_what_cannot_exist_is_refused_by_name(build) -> None:
    with pytest.raises(InvalidPlan, match=r"\w"):
        build()


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(presets.UnknownPreset, match="llama-2-7b"):
        presets.get("llama-9")
