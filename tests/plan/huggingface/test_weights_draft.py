"""The draft head beside the model, against the published sizes of checkpoints that carry one."""

import pytest

from memlessons.plan.huggingface.weights import weights_of

from .test_weights import RECORD
from .test_weights_published import DEEPSEEK_V3


def test_deepseek_v3_with_its_draft_head_is_the_checkpoint() -> None:
    alone, whole = weights_of(DEEPSEEK_V3), weights_of(DEEPSEEK_V3, draft=True)
    assert alone is not None and whole is not None
    # README_WEIGHTS.md: 14 billion in all, of which embedding and head, stored again, are 0.9 each.
    added = whole.parameters - alone.parameters
    assert added / 1e9 == pytest.approx(13.5, abs=0.05)
    assert (added - 2 * 129_280 * 7168) / 1e9 == pytest.approx(11.6, abs=0.05)
    # The page of the checkpoint says 685 billion, its files 688.6 GB.
    assert round(whole.parameters / 1e9) == 684 and whole.stored_bytes / 1e9 == pytest.approx(688.6, abs=0.1)
    assert "with its draft head of 1 layer" in whole.source
    assert whole.lookup_parameters == 2 * alone.lookup_parameters


def test_a_draft_head_that_shares_the_tables_adds_a_layer_a_projection_and_three_norms() -> None:
    config = {**RECORD["qwen3_5_text"]["config"], "mtp_num_hidden_layers": 1}
    alone, whole = weights_of(config), weights_of(config, draft=True)
    assert alone is not None and whole is not None
    wide, width = config["hidden_size"], config["head_dim"]
    heads, keys = config["num_attention_heads"], config["num_key_value_heads"]
    layer = wide * width * (3 * heads + 2 * keys) + 2 * width
    layer += 3 * wide * config["intermediate_size"] + 2 * wide
    assert whole.parameters - alone.parameters == layer + 2 * wide * wide + 3 * wide
    assert whole.lookup_parameters == alone.lookup_parameters


def test_a_draft_head_that_no_rule_knows_is_said_to_be_left_out() -> None:
    config = {**RECORD["llama"]["config"], "num_nextn_predict_layers": 1}
    alone, whole = weights_of(config), weights_of(config, draft=True)
    assert alone is not None and whole is not None
    assert whole.parameters == alone.parameters and "its draft head not counted" in whole.source


def test_a_model_without_a_draft_head_is_the_same_either_way() -> None:
    for name in ("llama", "qwen3_5_text"):
        config = {**RECORD[name]["config"], "mtp_num_hidden_layers": 0}
        assert weights_of(config, draft=True) == weights_of(config)
