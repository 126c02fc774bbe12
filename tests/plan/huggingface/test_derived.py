"""Published configurations whose bytes nobody measured: the same numbers by hand, from their descriptions.

A row of derived.jsonl has a configuration, where it is from, and what it keeps at `tokens`: `bytes` of keys,
values, latents and index keys, elements of `conv` and `state`, and `slope`, bytes a further token adds.
"""

from typing import Any

import pytest

from memlessons.plan.huggingface import from_huggingface
from tests.plan.huggingface.witnesses import derived

ROWS = derived()


@pytest.mark.parametrize("name", ROWS)
def test_a_published_configuration_keeps_what_its_description_says(name: str):
    row: dict[str, Any] = ROWS[name]
    plan = from_huggingface(row["config"])
    stores = [store for layer in plan.layers for store in layer.stores]
    states = sum(store.state_bytes for store in stores)
    kept = plan.bytes(row["tokens"], encoder_tokens=row["encoder_tokens"]) - states
    assert kept == row["bytes"]
    elements = sum(count for store in stores for count, _ in store.state)
    assert elements == row["conv"] + row["state"]
    assert plan.slope(row["tokens"]) == row["slope"]


@pytest.mark.parametrize("name", ROWS)
def test_convolutions_are_kept_in_16_bits_and_states_in_32(name: str):
    row = ROWS[name]
    plan = from_huggingface(row["config"])
    assert (
        sum(s.state_bytes for layer in plan.layers for s in layer.stores)
        == 2 * row["conv"] + 4 * row["state"]
    )


def test_each_row_has_a_name_of_its_own_and_a_source():
    assert len(ROWS) >= 45
    assert all(row["source"] for row in ROWS.values())
