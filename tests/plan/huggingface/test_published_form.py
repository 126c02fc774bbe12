"""A published file leaves out of a nested object what equals its class's default: the plan is the same."""

import json
from dataclasses import replace
from typing import Any

import pytest

from memlessons.plan import InvalidPlan
from memlessons.plan.huggingface import from_huggingface
from memlessons.plan.layer import Layer
from tests.plan.huggingface import record
from tests.plan.huggingface.legacy import LEGACY

_INNER = ("text_config", "language_config", "llm_config", "thinker_config", "decoder_config", "decoder")
COMPOSITES = sorted(
    name
    for name, entry in record.read()["types"].items()
    if any(inner in entry["config"] for inner in _INNER)
)


def kept(config: dict[str, Any]) -> tuple[Layer, ...] | str:
    """The layers without the names of their rules: one rule may say what another said of the full form."""
    try:
        return tuple(replace(layer, rule="") for layer in from_huggingface(config).layers)
    except InvalidPlan as error:
        return str(error)


@pytest.mark.parametrize("model_type", COMPOSITES)
def test_the_short_form_of_a_file_gives_the_plan_of_the_full_one(model_type: str):
    peer = pytest.importorskip("tests.plan.huggingface.peer")
    from tests.plan.huggingface.peer_types import CHANGES

    config = peer.configuration(model_type, CHANGES.get(model_type))
    short = json.loads(config.to_json_string(use_diff=True))
    full = json.loads(json.dumps(config.to_dict(), default=str))
    assert kept(short) == kept(full)
    assert len(json.dumps(short)) < len(json.dumps(full))


@pytest.mark.parametrize(
    ("model_type", "fields"), LEGACY, ids=lambda v: v if isinstance(v, str) else "+".join(v)[-60:]
)
def test_what_files_wrote_before_means_what_the_class_of_today_makes_of_it(
    model_type: str, fields: dict[str, Any]
):
    peer = pytest.importorskip("tests.plan.huggingface.peer")
    today = json.loads(json.dumps(peer.configuration(model_type, fields).to_dict(), default=str))
    assert kept({"model_type": model_type} | fields) == kept(today)
    assert not isinstance(kept(today), str)


# gemma-3-4b-it's file, as published, has no more of its language model than this.
GEMMA_3_4B = {
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
    },
}  # fmt: skip


def test_a_published_file_with_almost_nothing_in_it_is_read():
    plan = from_huggingface(GEMMA_3_4B)
    assert [layer.stores[0].window for layer in plan.layers] == [
        None if i % 6 == 5 else 1024 for i in range(34)
    ]
    assert {(s.kv_heads, s.key_width) for layer in plan.layers for s in layer.stores} == {(4, 256)}


def test_sizes_around_a_language_model_are_not_its_own():
    around = {"hidden_size": 999, "head_dim": 1280, "num_attention_heads": 3, "max_position_embeddings": 5}
    assert from_huggingface(GEMMA_3_4B | around) == from_huggingface(GEMMA_3_4B)
