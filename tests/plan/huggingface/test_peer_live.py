"""The record is what the installed peer says today, and plans hold away from its classes' defaults too."""

from typing import Any

import pytest

from memlessons import places
from tests.plan.huggingface import record
from tests.plan.huggingface.compare import NONE, ours, unequal
from tests.plan.huggingface.differences import DIFFERENCES, REFUSED

transformers = pytest.importorskip("transformers")
from tests.plan.huggingface.peer_types import PERTURBED  # noqa: E402
from tests.plan.huggingface.peer_write import asked  # noqa: E402

RECORD = record.read()
QUICK = (
    "falcon_h1", "gemma3n", "gpt2", "lara_mini", "lfm3", "longcat_flash", "mimo_v2_flash", "minimax",
    "mistral", "recurrent_gemma", "t5", "whisper",
)  # fmt: skip
# All of them take ten minutes: at the quick pace every sixth.
OTHERS = sorted(set(RECORD["types"]) - set(QUICK))[:: 6 if places.pace() == "quick" else 1]


def holds(model_type: str) -> None:
    """Build and run the type; it keeps what is on record, and what the plan of its configuration says."""
    config, runs = asked(model_type)
    if model_type not in REFUSED:
        assert unequal(config, runs, DIFFERENCES.get(model_type, NONE)) == []
    if RECORD["peer"] == f"transformers {transformers.__version__}":
        entry = RECORD["types"][model_type]
        assert runs == entry["runs"]
        assert config == entry["config"]


@pytest.mark.parametrize("model_type", QUICK)
def test_the_record_of_a_few_types_is_what_the_peer_keeps(model_type: str):
    holds(model_type)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", OTHERS)
def test_the_record_is_what_the_peer_keeps(model_type: str):
    holds(model_type)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_type", "changes"), PERTURBED, ids=lambda v: v if isinstance(v, str) else "+".join(v)
)
def test_a_plan_keeps_what_the_peer_keeps_with_other_sizes(model_type: str, changes: dict[str, Any]):
    config, runs = asked(model_type, changes)
    assert unequal(config, runs, DIFFERENCES.get(model_type, NONE)) == []
    assert runs != RECORD["types"][model_type]["runs"], "the change changes nothing"


def test_the_peer_repeats_the_heads_of_a_new_falcon_and_no_engine_has_to():
    changes = {
        "num_hidden_layers": 2, "new_decoder_architecture": True, "num_kv_heads": 8,
        "num_attention_heads": 16, "hidden_size": 512,
    }  # fmt: skip
    config, runs = asked("falcon", changes)
    for tokens, encoder_tokens, layers in runs:
        mine = ours(config, tokens, encoder_tokens)
        assert [2 * layer["self"] for layer in mine] == [layer["self"] for layer in layers]
