"""The plan keeps what the peer keeps: every type that can be built, layer by layer, byte by byte."""

from typing import Any

import pytest

from memlessons.plan.huggingface import UnknownArchitecture, from_huggingface
from tests.plan.huggingface import record
from tests.plan.huggingface.compare import NONE, unequal
from tests.plan.huggingface.differences import DIFFERENCES, REFUSED

RECORD = record.read()
TYPES: dict[str, Any] = RECORD["types"]
EQUAL = sorted(set(TYPES) - set(DIFFERENCES) - set(REFUSED))


@pytest.mark.parametrize("model_type", EQUAL)
def test_a_plan_keeps_what_the_peer_keeps(model_type: str):
    entry = TYPES[model_type]
    assert unequal(entry["config"], entry["runs"], NONE) == []


@pytest.mark.parametrize("model_type", DIFFERENCES)
def test_a_difference_has_exactly_the_effect_that_its_reason_says(model_type: str):
    entry = TYPES[model_type]
    assert unequal(entry["config"], entry["runs"], DIFFERENCES[model_type]) == []
    assert unequal(entry["config"], entry["runs"], NONE), "there is no difference left to explain"


@pytest.mark.parametrize("model_type", REFUSED)
def test_what_no_plan_can_say_is_refused_by_name(model_type: str):
    with pytest.raises(UnknownArchitecture, match=REFUSED[model_type]):
        from_huggingface(TYPES[model_type]["config"])


def test_a_type_and_its_composites_are_many_and_each_is_run_at_two_lengths():
    assert len(TYPES) >= 250
    assert all(len(entry["runs"]) == 2 for entry in TYPES.values())
    assert all(entry["runs"][0][0] < entry["runs"][1][0] for entry in TYPES.values())
    kinds = {layer["kind"] for entry in TYPES.values() for run in entry["runs"] for layer in run[2]}
    assert kinds == {
        "full", "sliding", "indexed", "linear", "both", "both sliding", "none", "cross", "self+cross",
    }  # fmt: skip
    print(f"{len(TYPES)} types compared: {len(EQUAL)} equal, {len(DIFFERENCES)} differ as explained, "
          f"{len(REFUSED)} refused, {len(RECORD['failed'])} that the peer could not run")  # fmt: skip


def test_the_record_is_small():
    assert record.RECORD.stat().st_size < 600_000
