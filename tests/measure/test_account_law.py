"""The law of the project on the package's own live memory: nothing wasted, and both sums."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cache import allocate
from memlessons.measure import audit
from memlessons.plan import BF16, F16, F32, Layer, MemoryPlan, Store

formats = st.sampled_from([F16, BF16, F32])
stores = st.builds(
    Store, st.just("self"), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9),
    key_format=formats, value_format=formats,
)  # fmt: skip
plans = st.builds(
    lambda kept: MemoryPlan(tuple(Layer(2 * s.kv_heads, (s,)) for s in kept)),
    st.lists(stores, min_size=1, max_size=5),
)


@given(plans, st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 6))
@settings(max_examples=300, deadline=None)
def test_our_full_memory_wastes_nothing_and_both_sums_hold(
    plan: MemoryPlan, lengths: list[int], more: int
) -> None:
    capacity = max(lengths) + more
    state = allocate(plan, len(lengths), capacity)
    state.commit(lengths)
    account = audit(state)
    comparison = account.against(plan, state.lengths, state.capacity)
    assert comparison.waste == 0 and comparison.equal, str(comparison)
    assert plan.bytes(lengths) == state.held_bytes == account.held_bytes
    assert plan.bytes([capacity] * len(lengths)) == state.allocated_bytes == account.allocated_bytes
    assert plan.bytes_read(lengths) == account.read_bytes


def test_a_wider_live_form_than_planned_is_waste() -> None:
    plan = MemoryPlan((Layer(4, (Store("self", 2, 8, 8),)),))
    state = allocate(plan, 1, 16, dtype=torch.float64)
    state.commit([4])
    comparison = audit(state).against(plan, [4], 16)
    assert comparison.waste == 3 * plan.bytes(16)
    assert comparison.rows[0].reason == "float64 elements, f16 planned"
