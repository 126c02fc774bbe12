"""Accounts of live memory: the two sums, planted faults found and named, nothing counted twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.measure import Account, CannotCount, Entry, Rounding, audit
from memlessons.plan import F16, F32, INT8, Format, Layer, MemoryPlan, Store, full_attention

DTYPES = {"f16": torch.float16, "f32": torch.float32, "int8": torch.int8}


@dataclass
class FakeMemory:
    """Tensors as a live memory would keep them, made here without the package's cache."""

    store: Store
    lengths: torch.Tensor
    kept: tuple[torch.Tensor, ...]

    def tensors(self) -> tuple[torch.Tensor, ...]:
        return self.kept


def row_tensors(rows: int, heads: int, slots: int, width: int, format: Format) -> list[torch.Tensor]:
    """One format's tensors: codes, and float32 scales where it has any."""
    if not width:
        return []
    codes = torch.empty(rows, heads, slots, width, dtype=DTYPES[format.name])
    return [codes, torch.empty(rows, heads, slots)] if format.scale_bits else [codes]


def fake_memory(store: Store, lengths: Sequence[int], capacity: int) -> FakeMemory:
    rows = len(lengths)
    if store.grows_with == "nothing":
        kept = [torch.empty(rows, n, dtype=DTYPES[f.name]) for n, f in store.state]
    else:
        slots = capacity // store.stride
        if store.window is not None:
            slots = min(slots, store.window + store.sink_tokens + store.slack)
        k = row_tensors(rows, store.kv_heads, slots, store.key_width, store.key_format)
        v = row_tensors(rows, store.kv_heads, slots, store.value_width, store.value_format)
        kept = [*k[:1], *v[:1], *k[1:], *v[1:]]
    return FakeMemory(store, torch.tensor(lengths, dtype=torch.int32), tuple(kept))


def fake_state(plan: MemoryPlan, lengths: Sequence[int], capacity: int) -> SimpleNamespace:
    layers: list[list[FakeMemory]] = []
    for layer in plan.layers:
        layers.append([fake_memory(store, lengths, capacity) for store in layer.stores])
    for i, layer in enumerate(plan.layers):
        if layer.reads_from is not None:
            layers[i] += layers[layer.reads_from]
    return SimpleNamespace(layers=tuple(map(tuple, layers)))


formats = st.sampled_from([F16, F32, INT8])
full = st.builds(
    Store, st.just("self"), st.integers(1, 2), st.integers(1, 5), st.integers(1, 5),
    key_format=formats, value_format=formats, stride=st.integers(1, 3),
)  # fmt: skip
ring = st.builds(
    Store, st.just("self"), st.integers(1, 2), st.integers(1, 5), st.integers(1, 5),
    key_format=formats, window=st.integers(1, 9), sink_tokens=st.integers(0, 3), slack=st.integers(0, 3),
)  # fmt: skip
latent = st.builds(
    lambda rank, rope, form: Store("latent", 1, rank + rope, 0, rope, key_format=form),
    st.integers(1, 6), st.integers(0, 3), formats,
)  # fmt: skip
state = st.builds(
    lambda parts: Store("state", grows_with="nothing", state=tuple(parts)),
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from([F16, F32])), min_size=1, max_size=2),
)


@st.composite
def plans(draw: st.DrawFn) -> MemoryPlan:
    kinds = st.lists(full | ring | latent, min_size=1, max_size=1)
    own = [tuple(draw(kinds) + draw(st.lists(state, max_size=1))) for _ in range(draw(st.integers(1, 4)))]
    layers = [Layer(2, stores) for stores in own]
    sharable = [i for i, stores in enumerate(own) if len(stores) == 1]
    for owner in draw(st.lists(st.sampled_from(sharable), max_size=2)) if sharable else ():
        layers.append(Layer(2, (), reads_from=owner))
    return MemoryPlan(tuple(layers))


ragged = st.lists(st.integers(0, 12), min_size=1, max_size=4)


@given(plans(), ragged, st.integers(0, 6))
@settings(max_examples=150, deadline=None)
def test_nothing_is_wasted_and_both_sums_hold_for_any_plan(
    plan: MemoryPlan, lengths: list[int], more: int
) -> None:
    capacity = max(lengths) + more
    account = audit(fake_state(plan, lengths, capacity))
    comparison = account.against(plan, lengths, capacity)
    assert comparison.waste == 0, str(comparison)
    assert comparison.missing == 0 and comparison.equal
    assert account.held_bytes == plan.bytes(lengths)
    assert account.allocated_bytes == plan.bytes([capacity] * len(lengths))


@given(plans(), ragged)
@settings(max_examples=60, deadline=None)
def test_reads_of_a_plan_without_slack_equal_its_prediction(plan: MemoryPlan, lengths: list[int]) -> None:
    if any(s.slack for layer in plan.layers for s in layer.stores):
        plan = MemoryPlan(
            tuple(replace(y, stores=tuple(replace(s, slack=0) for s in y.stores)) for y in plan.layers)
        )
    account = audit(fake_state(plan, lengths, max(lengths)))
    assert account.read_bytes == plan.bytes_read(lengths)


def test_the_audit_never_asks_the_plan_for_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = full_attention(2, 4, 2, 8)
    live = fake_state(plan, [3, 5], 8)

    def refuse(*_: object, **__: object) -> int:
        raise AssertionError("counted by prediction")

    for name in ("bytes", "layer_bytes", "store_bytes", "bytes_read"):
        monkeypatch.setattr(MemoryPlan, name, refuse)
    monkeypatch.setattr(Store, "slot_bytes", property(refuse))
    monkeypatch.setattr(Format, "row_bytes", refuse)
    assert audit(live).held_bytes == 2 * (3 + 5) * 2 * 2 * 8 * 2


PLAN = full_attention(3, 4, 2, 8)
LENGTHS, CAPACITY = [3, 5], 8
SLOT = 2 * 2 * 8 * 2  # K and V, two heads of eight 16-bit numbers


def verdicts(live: SimpleNamespace, plan: MemoryPlan = PLAN, **more: object):
    return audit(live).against(plan, LENGTHS, CAPACITY, **more)  # type: ignore[arg-type]


def planted(**changes: object) -> SimpleNamespace:
    """The sound state with another memory in layer 1."""
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    store = replace(PLAN.layers[0].stores[0], **changes)  # type: ignore[arg-type]
    live.layers = (live.layers[0], (fake_memory(store, LENGTHS, CAPACITY),), live.layers[2])
    return live


def test_room_beyond_the_capacity_is_found_and_named() -> None:
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    live.layers = (live.layers[0], (fake_memory(PLAN.layers[1].stores[0], LENGTHS, 16),), live.layers[2])
    got = verdicts(live)
    assert [row.verdict for row in got.rows] == ["equal", "waste", "equal"]
    assert got.waste == 2 * 8 * SLOT
    assert got.rows[1].reason == "16 slots of room, 8 planned"


def test_heads_expanded_to_all_query_heads_are_found_and_named() -> None:
    got = verdicts(planted(kv_heads=4))
    assert got.waste == got.rows[1].excess == 2 * 8 * SLOT
    assert got.rows[1].held == 2 * got.rows[1].planned_held
    assert got.rows[1].reason == "4 heads kept, 2 planned"


def test_expanded_views_are_no_copies_and_cost_nothing() -> None:
    mqa = full_attention(3, 4, 1, 8)
    live = fake_state(mqa, LENGTHS, CAPACITY)
    for (memory,) in live.layers:
        memory.kept = tuple(t.expand(2, 4, 8, 8) for t in memory.kept)
    assert verdicts(live, mqa).equal


def test_rows_that_are_one_row_seen_twice_are_counted_once() -> None:
    live = fake_state(PLAN, [5], CAPACITY)
    for (memory,) in live.layers:
        memory.kept = tuple(t.expand(2, 2, 8, 8) for t in memory.kept)
        memory.lengths = torch.tensor([5, 3])
    account = audit(live)
    assert (account.held_bytes, account.allocated_bytes) == (3 * 5 * SLOT, 3 * 8 * SLOT)


def test_a_wider_number_format_is_found_and_named() -> None:
    got = verdicts(planted(key_format=F32, value_format=F32))
    assert got.waste == 2 * 8 * SLOT
    assert got.rows[1].reason == "float32 elements, f16 planned"


def test_wider_rows_are_found_and_named() -> None:
    got = verdicts(planted(value_width=16))
    assert got.rows[1].verdict == "waste"
    assert got.rows[1].reason == "rows of 16, 8 planned"


def test_a_window_that_never_forgets_is_found_and_named() -> None:
    windowed = PLAN.with_window(4, 4)
    got = verdicts(fake_state(PLAN, LENGTHS, CAPACITY), windowed)
    assert {row.verdict for row in got.rows} == {"waste"}
    assert got.rows[0].reason == "8 slots of room, 4 planned"
    assert got.rows[0].held - got.rows[0].planned_held == SLOT  # row 1 holds 5, may hold 4


def test_storage_larger_than_its_tensors_is_found_and_named() -> None:
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    (memory,) = live.layers[2]
    memory.kept = (memory.kept[0], torch.empty(5, 2, 8, 8, dtype=torch.float16)[:2])
    got = verdicts(live)
    assert got.rows[2].verdict == "waste"
    assert got.waste == 3 * 2 * 8 * 8 * 2
    assert "storage nobody uses" in got.rows[2].reason


def test_one_pool_for_all_layers_is_divided_and_its_rest_belongs_to_none() -> None:
    pool = torch.empty(7, 2, 2, 8, 8, dtype=torch.float16)
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    for i, (memory,) in enumerate(live.layers):
        memory.kept = (pool[2 * i], pool[2 * i + 1])
    got = verdicts(live)
    assert [(row.layer, row.verdict) for row in got.rows] == [
        (0, "equal"), (1, "equal"), (2, "equal"), (None, "waste"),
    ]  # fmt: skip
    assert got.waste == 2 * 2 * 8 * 8 * 2
    live_without_rest = torch.empty(6, 2, 2, 8, 8, dtype=torch.float16)
    for i, (memory,) in enumerate(live.layers):
        memory.kept = (live_without_rest[2 * i], live_without_rest[2 * i + 1])
    assert verdicts(live).equal


def test_a_storage_that_two_layers_share_is_counted_once_and_read_twice() -> None:
    shared = PLAN.with_sharing(3)
    live = fake_state(shared, LENGTHS, CAPACITY)
    account = audit(live)
    assert account.against(shared, LENGTHS, CAPACITY).equal
    assert account.held_bytes == 8 * SLOT
    assert account.read_bytes == 3 * 8 * SLOT == shared.bytes_read(LENGTHS)
    assert [e.what for e in account.entries][2] == "self k, shared with layer 0"


def test_a_copy_where_the_plan_shares_is_found_and_named() -> None:
    got = verdicts(fake_state(PLAN, LENGTHS, CAPACITY), PLAN.with_sharing(3))
    assert [row.verdict for row in got.rows] == ["equal", "waste", "waste"]
    assert got.rows[1].reason == "a memory of its own, where the plan reads layer 0's"
    assert got.waste == 2 * 2 * 8 * SLOT


def test_layers_and_stores_that_are_not_there_are_missing() -> None:
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    live.layers = (live.layers[0], ())
    got = verdicts(live)
    assert [row.verdict for row in got.rows] == ["equal", "missing", "missing"]
    assert got.waste == 0 and got.missing == 2 * 2 * 8 * SLOT and not got.equal
    assert got.rows[1].reason == "nothing found"
    (memory,) = live.layers[0]
    memory.kept = memory.kept[:1]
    assert verdicts(live).rows[0].reason == "no values found"


def test_layers_the_plan_does_not_have_are_waste() -> None:
    got = verdicts(fake_state(full_attention(4, 4, 2, 8), LENGTHS, CAPACITY))
    assert got.rows[3].verdict == "waste" and got.rows[3].reason == "the plan has no such layer"
    assert got.waste == 2 * 8 * SLOT


def test_another_number_of_rows_is_found_and_named() -> None:
    got = audit(fake_state(PLAN, [3, 5, 0], CAPACITY)).against(PLAN, LENGTHS, CAPACITY)
    assert got.rows[0].verdict == "waste" and got.rows[0].reason == "3 rows, 2 planned"


def test_lengths_that_are_not_the_states_are_named() -> None:
    got = audit(fake_state(PLAN, LENGTHS, CAPACITY)).against(PLAN, [3, 4], CAPACITY)
    assert got.waste == 3 * SLOT
    assert "are contexts and capacity those of this state?" in got.rows[0].reason


def test_rounding_to_pages_is_excused_by_its_named_rule_only() -> None:
    live = fake_state(PLAN, LENGTHS, 16)  # a page of 16 where 8 were asked for
    assert verdicts(live).waste == 3 * 2 * 8 * SLOT
    got = verdicts(live, roundings=[Rounding.pages(4), Rounding.pages(16)])
    assert {(row.verdict, row.reason) for row in got.rows} == {("rounding", "pages of 16 slots")}
    assert got.waste == 0 and not got.equal
    assert verdicts(live, PLAN.with_pages(16)).rows[0].planned_room == 2 * 16 * SLOT


def test_rounding_to_blocks_of_bytes_is_excused_up_to_less_than_a_block_a_tensor() -> None:
    def entries(extra: int) -> Account:
        room = 2 * 8 * SLOT // 2
        parts = [Entry(i, what, 8 * SLOT // 2, 8 * SLOT // 2, None, "made up", room + extra)
                 for i in range(3) for what in ("self k", "self v")]  # fmt: skip
        return Account(tuple(parts))

    rules = [Rounding.blocks(512)]
    assert entries(0).against(PLAN, LENGTHS, CAPACITY, roundings=rules).equal
    assert {r.verdict for r in entries(511).against(PLAN, LENGTHS, CAPACITY, roundings=rules).rows} == {
        "rounding"
    }
    assert entries(512).against(PLAN, LENGTHS, CAPACITY, roundings=rules).waste == 3 * 2 * 512


def test_content_beyond_a_rounding_is_waste_even_where_the_room_fits() -> None:
    live = fake_state(PLAN, [3, 16], 16)
    got = audit(live).against(PLAN, [3, 5], 8, roundings=[Rounding.pages(16)])
    assert {row.verdict for row in got.rows} == {"rounding"}
    got = audit(live).against(PLAN, [3, 5], 16, roundings=[Rounding.pages(4)])
    assert {row.verdict for row in got.rows} == {"waste"}


def test_views_that_overlap_never_take_more_room_than_their_storage() -> None:
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    (memory,) = live.layers[0]
    pool = torch.empty(3, 2, 8, 8, dtype=torch.float16)
    memory.kept = (pool[:2], pool[1:])
    account = audit(live)
    assert account.allocated_bytes == 2 * 2 * 8 * SLOT + pool.untyped_storage().nbytes()
    assert all(entry.room_bytes > 0 for entry in account.entries)
    assert verdicts(live).rows[0].verdict == "missing"


def test_unknown_layouts_are_refused_instead_of_guessed() -> None:
    store = PLAN.layers[0].stores[0]
    pool = FakeMemory(store, torch.tensor([3, 5]), (torch.empty(9, 2, 4, 8), torch.empty(9, 2, 4, 8)))
    with pytest.raises(CannotCount, match=r"\(9, 2, 4, 8\)"):
        audit(SimpleNamespace(layers=((pool,),)))
    flat = FakeMemory(store, torch.tensor([3, 5]), (torch.empty(2, 64),))
    with pytest.raises(CannotCount, match=r"\[rows, heads, slots, width\]"):
        audit(SimpleNamespace(layers=((flat,),)))


def test_lengths_and_their_host_copy_must_agree() -> None:
    live = fake_state(PLAN, LENGTHS, CAPACITY)
    live.layers[0][0].host_lengths = [3, 4]
    with pytest.raises(CannotCount, match="host copy"):
        audit(live)


def test_the_table_groups_equal_neighbours_and_says_what_is_wrong() -> None:
    text = str(verdicts(planted(kv_heads=4)))
    lines = text.splitlines()
    assert len(lines) == 5
    assert "4 heads kept, 2 planned" in lines[2] and "1,024 B" in lines[2]
    assert lines[1].startswith("0 ") and lines[3].startswith("2 ")
    assert lines[-1].endswith("1,024 B wasted, 0 B missing")
    sound = str(verdicts(fake_state(PLAN, LENGTHS, CAPACITY))).splitlines()
    assert len(sound) == 3 and sound[1].startswith("0-2") and sound[1].endswith("equal")


def test_contexts_and_capacity_must_be_of_the_same_sequences() -> None:
    with pytest.raises(ValueError, match="capacity has 3 entries, contexts 2"):
        audit(fake_state(PLAN, LENGTHS, CAPACITY)).against(PLAN, LENGTHS, [8, 8, 8])
