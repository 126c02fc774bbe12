"""The types whose plan is not what the peer keeps: why, and by exactly how much."""

from collections.abc import Mapping
from typing import Any

from memlessons.plan.huggingface import from_huggingface
from tests.plan.huggingface.compare import Difference, Layer, kept_by_peer, ours, planned

_TOO_LONG = Difference(
    "the class's default window is longer than what the model reads, and never binds; the peer has it",
    ours=lambda config, n, m: ours(config, n, m, frozenset({"window off: as long as all that is read"})),
)
_PROMPT_TOKENS = 32


def _with_prompt(config: Mapping[str, Any], tokens: int, encoder_tokens: int) -> list[Layer]:
    assert config["prompt_length"] == _PROMPT_TOKENS
    return ours(config, tokens + _PROMPT_TOKENS, encoder_tokens)


def _attending_in_any_order(config: Mapping[str, Any], tokens: int, encoder_tokens: int) -> list[Layer]:
    return _sorted([layer for layer in ours(config, tokens, encoder_tokens) if layer["kind"] != "none"])


def _sorted(layers: list[Layer]) -> list[Layer]:
    return sorted(layers, key=lambda layer: sorted(layer.items()))


def _all_that_is_there(layers: list[Layer], _: int) -> list[Layer]:
    """Two convolutions of kernel 2, one after the other, need both of the columns that are kept."""
    return [
        {k: v for k, v in layer.items() if k not in ("conv", "state")}
        | {"state": [sum(channels * columns for channels, columns in layer["conv"]) + layer["state"]]}
        for layer in layers
    ]


def _one_list(config: Mapping[str, Any], tokens: int, encoder_tokens: int) -> list[Layer]:
    return [
        {"kind": "full", "self": layer["self"] + layer["cross"]}
        for layer in ours(config, tokens, encoder_tokens)
    ]


def _without_positions(layers: list[Layer], tokens: int) -> list[Layer]:
    """Three positions of 8 bytes a token, in the first layer with an indexer alone."""
    noted = [layer for layer in layers if "indexer_position_ids" in layer]
    assert [layer["indexer_position_ids"] for layer in noted] == [24 * tokens]
    return kept_by_peer([{k: v for k, v in layer.items() if k != "indexer_position_ids"} for layer in layers])


def _compressed(config: Mapping[str, Any], tokens: int, encoder_tokens: int) -> list[Layer]:
    """Ours, values beside the keys of the window, and the buffers of compressors as full as they are."""
    found = []
    width, index = config["head_dim"], config["index_head_dim"]
    plan = from_huggingface(config)
    kinds = config["layer_types"]
    for kind, layer, stores in zip(
        kinds, planned(plan, tokens, encoder_tokens), (layer.stores for layer in plan.layers), strict=True
    ):
        sparse = kind == "compressed_sparse_attention"
        run = config["compress_rates"][kind]
        # Ours is room for two runs of keys and gates in 32 bits; these are what the open run fills of it.
        assert stores[1].state[0][0] == 2 * run * (2 if sparse else 1) * width
        window = 2 * width * min(tokens, config["sliding_window"] - 1)
        expected = {"kind": "sliding", "self": 2 * window, "compressed_kv.compressor": layer["self"] - window}
        for name, wide in (("compressor", width), ("indexer", index))[: 2 if sparse else 1]:
            open_run = 2 * (tokens % run) * wide * (2 if sparse else 1)
            expected |= {f"buffer_kv.{name}": open_run, f"buffer_gate.{name}": open_run}
            if sparse:
                # The last whole run overlaps the open one; its gates are in 32 bits.
                expected |= {f"overlap_kv.{name}": 2 * run * wide, f"overlap_gate.{name}": 4 * run * wide}
        if sparse:
            expected["compressed_kv.indexer"] = layer["index"]
        found.append({name: size for name, size in expected.items() if size})
    return found


_POSITIONS = Difference("the peer keeps positions beside the indexer's keys", peers=_without_positions)

DIFFERENCES: dict[str, Difference] = {
    "cpmant": Difference(
        "the peer puts 32 tokens of a prompt before the text and keeps them too", _with_prompt
    ),
    "deepseek_v4": Difference(
        "the peer keeps values beside equal keys in the window, and buffers of an open run as they fill; "
        "ours are full from the start, and none for the indexer's own compressor",
        _compressed,
    ),
    "dory": Difference(
        "the peer lists no layers without memory, and those of later loops at the end",
        _attending_in_any_order,
        lambda layers, _: _sorted(kept_by_peer(layers)),
    ),
    "exaone4": _TOO_LONG,
    "exaone4_5": _TOO_LONG,
    "exaone_moe": _TOO_LONG,
    "moshi": _TOO_LONG,
    "olmo3": _TOO_LONG,
    "gpt_neo": Difference(
        "the peer masks what is beyond the window of a local layer, and keeps it",
        lambda config, n, m: ours(
            config, n, m, frozenset({"kinds: attention_layers", "kinds: attention_types"})
        ),
    ),
    "musicgen_melody": Difference(
        "the encoder's output is put before the text: one list of keys and values for both", _one_list
    ),
    "qwen4_exp": _POSITIONS,
    "qwen4_exp_text": _POSITIONS,
    "zaya": Difference(
        "two convolutions in a row need every column that the peer keeps; ours are one sum",
        peers=_all_that_is_there,
    ),
}

REFUSED = {
    # All of the prompt, and a window of what was written since: not a function of one length.
    "unlimited_ocr": "reference_sliding_attention",
}
