"""Edits change what they say, return a new plan, and agree with independent rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.plan import F32, INT8, InvalidPlan, MemoryPlan, PlanMismatch, full_attention, presets
from tests.plan.strategies import any_plans

BASE = full_attention(12, 8, 8, 64)


def test_an_edit_leaves_the_plan_it_came_from_as_it_was() -> None:
    before = BASE.to_json()
    BASE.with_kv_heads(2).with_window(6, 16).with_format(INT8).with_pages(16).with_sharing(2)
    assert BASE.to_json() == before


@given(st.integers(1, 12), st.integers(1, 40), st.integers(0, 4), st.integers(0, 99))
def test_windows_by_period_equal_a_sum_over_layers(
    period: int, window: int, sinks: int, context: int
) -> None:
    plan = BASE.with_window(period, window, sinks)
    per_token = BASE.slope(0) / 12
    local = [(i + 1) % period != 0 for i in range(12)]
    assert plan.bytes(context) == sum(
        per_token * (min(context, window + sinks) if w else context) for w in local
    )


def test_windows_by_a_list_and_for_all_layers() -> None:
    listed = BASE.with_window([True] + [False] * 11, 4)
    assert listed.bytes(100) == BASE.slope(0) / 12 * (100 + 11 * 4)
    assert BASE.with_window(None, 4).bytes(100) == BASE.slope(0) * 4
    with pytest.raises(InvalidPlan, match="12 layers"):
        BASE.with_window([True], 4)


def owners(kinds, scheme, n):
    """Who owns the memory of each layer, written as a course would."""
    if scheme == "last":
        own = len(kinds) - n
        return [i if i < own else max(j for j in range(own) if kinds[j] == k) for i, k in enumerate(kinds)]
    nth, first, out = {}, {}, []
    for i, k in enumerate(kinds):
        if nth.setdefault(k, 0) % n == 0:
            first[k] = i
        nth[k] += 1
        out.append(first[k])
    return out


@given(st.integers(1, 5), st.integers(1, 6))
def test_neighbours_share_with_the_first_of_their_run_and_kind(factor: int, period: int) -> None:
    kinds = [(i + 1) % period == 0 for i in range(12)]
    plan = BASE.with_window(period, 8).with_sharing(factor)
    got = [i if layer.reads_from is None else layer.reads_from for i, layer in enumerate(plan.layers)]
    assert got == owners(kinds, "neighbours", factor)


@given(st.integers(0, 6))
def test_the_last_layers_read_the_last_owner_of_their_kind(readers: int) -> None:
    kinds = [(i + 1) % 3 == 0 for i in range(12)]
    plan = BASE.with_window(3, 8).with_sharing(readers, "last")
    got = [i if layer.reads_from is None else layer.reads_from for i, layer in enumerate(plan.layers)]
    assert got == owners(kinds, "last", readers)


def test_sharing_saves_bytes_held_but_not_bytes_read() -> None:
    shared = BASE.with_sharing(2)
    assert shared.bytes(100) * 2 == BASE.bytes(100)
    assert shared.bytes_read(100) == BASE.bytes_read(100)


def test_sharing_without_an_owner_of_the_kind_is_refused() -> None:
    with pytest.raises(InvalidPlan, match="of its kind"):
        BASE.with_sharing(12, "last")
    with pytest.raises(InvalidPlan, match="scheme"):
        BASE.with_sharing(2, "first")


def test_a_latent_keeps_one_copy_for_all_heads() -> None:
    latent = full_attention(61, 128, 128, 192).with_latent(512, 64)
    assert latent.bytes(1) == 61 * (512 + 64) * 2


def test_a_format_counts_its_scales() -> None:
    assert BASE.with_format(INT8).bytes(1) == 12 * 8 * 2 * (64 + 4)
    assert BASE.with_format(F32, INT8).bytes(1) == 12 * 8 * (256 + 68)


def test_fewer_kv_heads_must_divide_the_query_heads() -> None:
    assert BASE.with_kv_heads(2).bytes(9) * 4 == BASE.bytes(9)
    with pytest.raises(InvalidPlan, match="multiple"):
        BASE.with_kv_heads(3)


def test_a_plan_that_does_not_fit_a_checkpoint_is_refused() -> None:
    class Shape:
        layers, query_heads, kv_heads, head_width = 12, 8, 8, 64

    BASE.check(Shape())
    with pytest.raises(PlanMismatch, match="kv_heads"):
        BASE.with_kv_heads(2).check(Shape())
    with pytest.raises(PlanMismatch, match="12"):
        full_attention(11, 8, 8, 64).check(Shape())


@given(any_plans())
def test_json_brings_back_an_equal_plan(plan: MemoryPlan) -> None:
    assert MemoryPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"form": 1}', "[" * 100_000,
     '{"form": "memlessons.plan/1", "layers": [{"query_heads": 1}]}',
     '{"form": "memlessons.plan/1", "layers": [{"query_heads": "8", "stores": []}]}',
     '{"form": "memlessons.plan/1", "layers": [{"query_heads": 1, "stores": [], "reads_from": "x"}]}',
     '{"form": "memlessons.plan/1", "layers": [{"query_heads": 1, "stores": [{"role": "self", "hue": 1}]}]}',
     '{"form": "memlessons.plan/1", "layers": [{"query_heads": 1, "stores": [{"role": ["self"]}]}]}',
     '{"form": "memlessons.plan/1", "layers": [{"query_heads": 1, "stores": [{"role": "self", "kv_heads": 1, '
     '"key_width": 1, "key_format": "f99"}]}]}',
     '{"form": "memlessons.plan/1", "page_tokens": null, "layers": [{"query_heads": 1, "stores": []}]}'],
)  # fmt: skip
def test_text_that_is_no_plan_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidPlan):
        MemoryPlan.from_json(text)


def test_explain_groups_layers_as_a_model_card_would() -> None:
    said = presets.get("gemma-3-27b").plan.explain(4096)
    assert said.splitlines()[0].startswith(
        "52 layers (0-4, 6-10, 12-16, ..., 60-61): attention, 32 query heads on 16"
    )
    assert "the last 1,024 tokens" in said and "10 layers" in said and "736 MiB held" in said
    shared = BASE.with_sharing(12).explain()
    assert "11 layers (1-11): reads the memory of layer 0" in shared
    assert "latent of 512 + 64 for RoPE" in presets.get("deepseek-r1").plan.explain()


@given(any_plans())
def test_every_layer_is_in_one_group_and_can_be_explained(plan: MemoryPlan) -> None:
    numbers = sorted(i for group in plan.groups() for i in group.indices)
    assert numbers == list(range(len(plan.layers)))
    assert len(plan.explain(7).splitlines()) >= len(plan.groups())
