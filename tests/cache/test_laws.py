"""The law: what live memory takes is what the plan said, for any plan of full stores."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cache import CacheFull, CannotLoad, FormNotBuilt, NotHeld, allocate
from memlessons.plan import F16, FP8, INT4, INT8, MemoryPlan, full_attention
from tests.plan.strategies import full_plans


def write(state, counts: list[int], seed: int = 0) -> None:
    stream = torch.Generator().manual_seed(seed)
    for memory in state.memories():
        store, longest = memory.store, max(counts)
        k, v = (
            torch.randn(len(counts), store.kv_heads, longest, width, generator=stream)
            for width in (store.key_width, store.value_width)
        )
        memory.write(k, v, counts)
    state.commit(counts)


@settings(max_examples=300, deadline=None)
@given(full_plans(), st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(9, 20))
def test_allocated_and_held_bytes_are_the_plans(plan: MemoryPlan, lengths: list[int], capacity: int) -> None:
    state = allocate(plan, len(lengths), capacity)
    assert state.allocated_bytes == plan.bytes([capacity] * len(lengths))
    assert state.held_bytes == 0
    write(state, lengths)
    assert state.held_bytes == plan.bytes(lengths)
    kept = state.truncate([n // 2 for n in lengths])
    assert state.held_bytes == plan.bytes(kept) and state.lengths == kept
    assert state.allocated_bytes == plan.bytes([capacity] * len(lengths))


def test_a_dtype_given_overrides_the_plans_formats() -> None:
    state = allocate(full_attention(2, 4, 2, 8, F16), 1, 10, torch.float64)
    assert state.allocated_bytes == 4 * full_attention(2, 4, 2, 8, F16).bytes(10)


@pytest.mark.parametrize(
    "plan", [full_attention(2, 4, 2, 8), full_attention(2, 4, 2, 8).with_format(INT8, F16)]
)
def test_export_and_load_bring_a_row_back_bit_by_bit(plan: MemoryPlan) -> None:
    state, other = allocate(plan, 2, 12), allocate(plan, 3, 12)
    write(state, [5, 9])
    other.load(2, range(0, 4), state.export(1, range(0, 4)))
    other.load(2, range(4, 9), state.export(1, range(4, 9)))
    assert other.lengths == [0, 0, 9]
    for a, b in zip(state.memories(), other.memories(), strict=True):
        for x, y in zip(a.tensors(), b.tensors(), strict=True):
            assert torch.equal(x[1, :, :9], y[2, :, :9])


def test_export_is_a_copy_that_later_writes_do_not_touch() -> None:
    state = allocate(full_attention(1, 2, 2, 4), 1, 8)
    write(state, [4])
    parts = state.export(0, range(0, 4))
    before = {name: t.clone() for name, t in parts.items()}
    state.truncate([0])
    write(state, [4], seed=1)
    assert all(torch.equal(parts[name], before[name]) for name in parts)


@pytest.mark.parametrize("tokens", [range(0, 6), range(-1, 2), range(0, 4, 2)])
def test_tokens_that_are_not_held_cannot_be_exported(tokens: range) -> None:
    state = allocate(full_attention(1, 2, 2, 4), 1, 8)
    write(state, [5])
    with pytest.raises(NotHeld):
        state.export(0, tokens)


def test_parts_that_do_not_fit_change_no_layer() -> None:
    plan = full_attention(3, 2, 2, 4)
    state, other = allocate(plan, 1, 8), allocate(plan, 1, 8)
    write(state, [5])
    good = state.export(0, range(0, 5))
    bad = [
        ({k: t for k, t in good.items() if k != "2.0.v"}, range(0, 5)),
        (good | {"2.0.k": good["2.0.k"].double()}, range(0, 5)),
        (good | {"2.0.k": good["2.0.k"][:, :4]}, range(0, 5)),
        (good, range(1, 6)),
    ]
    for parts, tokens in bad:
        with pytest.raises(CannotLoad):
            other.load(0, tokens, parts)
        assert other.lengths == [0] and [m.host_lengths for m in other.memories()] == [[0]] * 3
    with pytest.raises(CacheFull):
        other.load(0, range(0, 9), good)


def test_a_fork_remembers_the_same_and_goes_its_own_way() -> None:
    state = allocate(full_attention(2, 2, 1, 4), 2, 8)
    write(state, [5, 2])
    state.fork(0, 1)
    assert state.lengths == [5, 5]
    original = state.export(0, range(0, 5))
    assert all(torch.equal(t, original[k]) for k, t in state.export(1, range(0, 5)).items())
    state.truncate([5, 3])
    write(state, [0, 2], seed=3)
    assert all(torch.equal(t, original[k]) for k, t in state.export(0, range(0, 5)).items())
    assert not torch.equal(state.export(1, range(3, 5))["0.0.k"], original["0.0.k"][:, 3:])


def test_clearing_a_row_forgets_that_row_only() -> None:
    state = allocate(full_attention(2, 2, 1, 4), 3, 8)
    write(state, [5, 2, 3])
    state.clear([1])
    assert state.lengths == [5, 0, 3]
    with pytest.raises(NotHeld):
        state.clear([3])


def test_wrong_shapes_are_refused_by_name() -> None:
    memory = allocate(full_attention(1, 2, 2, 4), 2, 8).layers[0][0]
    good = torch.zeros(2, 2, 3, 4, dtype=torch.float16)
    with pytest.raises(ValueError, match="k has shape"):
        memory.write(good[:, :1], good, [3, 3])
    with pytest.raises(ValueError, match="v has shape"):
        memory.write(good, good[..., :2], [3, 3])
    with pytest.raises(ValueError, match="counts"):
        memory.write(good, good, [3])
    with pytest.raises(ValueError, match="counts"):
        memory.write(good, good, [3, 4])


@pytest.mark.parametrize(
    "plan",
    [
        full_attention(1, 2, 2, 4).with_window(None, 4),
        full_attention(2, 2, 2, 4).with_sharing(2),
        full_attention(1, 2, 2, 4).with_latent(8),
        full_attention(1, 2, 2, 4).with_format(INT4),
        full_attention(1, 2, 2, 4).with_format(F16, FP8),
        full_attention(1, 2, 2, 4).with_pages(16),
    ],
)
def test_forms_that_do_not_exist_yet_say_so_by_name(plan: MemoryPlan) -> None:
    with pytest.raises(FormNotBuilt, match="built|live form"):
        allocate(plan, 1, 8)


def test_int8_keeps_codes_and_scales_that_give_back_each_number_to_a_half_step() -> None:
    state = allocate(full_attention(1, 3, 3, 16).with_format(INT8), 2, 9)
    memory = state.layers[0][0]
    x = torch.randn(2, 3, 4, 16, generator=torch.Generator().manual_seed(1)) * 7
    x[1, 2, 3] = 0.0
    view = memory.write(x, -x, [4, 2])
    assert view.k.dtype == torch.int8 and view.k_scale is not None and view.v_scale is not None
    for codes, scale, rows in ((view.k, view.k_scale, x), (view.v, view.v_scale, -x)):
        for row, count in enumerate((4, 2)):
            step = rows[row, :, :count].abs().amax(-1) / 127
            back = codes[row, :, :count].double() * scale[row, :, :count, None]
            assert torch.allclose(scale[row, :, :count].double(), step.double(), rtol=1e-6, atol=1e-12)
            assert ((back - rows[row, :, :count]).abs() <= 0.5001 * step[..., None] + 1e-12).all()
    assert state.held_bytes == 0
    state.commit([4, 2])
    assert state.held_bytes == 6 * 2 * 3 * (16 + 4)
