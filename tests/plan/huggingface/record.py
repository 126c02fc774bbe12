"""The record of what the peer kept, so that a quick test needs no minute of model building."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.plan.huggingface.compare import Layer, Run

RECORD = Path(__file__).with_name("peer_caches.json")
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

# What a configuration says about pictures and sound, training and generation.
_APART = (
    "vision_config", "audio_config", "vq_config", "image_config", "vit_config", "speech_config",
    "codec_config", "id2label", "label2id", "chunk_size_feed_forward", "output_hidden_states",
    "output_attentions", "return_dict", "problem_type", "transformers_version", "architectures", "dtype",
    "_name_or_path", "rope_parameters", "use_cache", "initializer_range", "rms_norm_eps", "hidden_act",
    "mlp_layer_types",
)  # fmt: skip


def trimmed(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration without what says nothing about memory."""
    return {
        name: trimmed(value) if isinstance(value, Mapping) else value
        for name, value in config.items()
        if name not in _APART
        and not name.endswith(("_token_id", "_token_index", "_dropout", "dropout", "_coef"))
    }


def folded(run: Run) -> list[Any]:
    """A run with each different layer once, and a letter a layer that says which it is."""
    tokens, encoder_tokens, layers = run
    different: list[Layer] = []
    letters = ""
    for layer in layers:
        if layer not in different:
            different.append(layer)
        letters += _LETTERS[different.index(layer)]
    return [tokens, encoder_tokens, different, letters]


def unfolded(run: list[Any]) -> Run:
    """The run that was folded."""
    tokens, encoder_tokens, different, letters = run
    return tokens, encoder_tokens, [different[_LETTERS.index(letter)] for letter in letters]


def read() -> dict[str, Any]:
    """The whole record: the peer's version, and for each type its configuration and runs."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    for entry in found["types"].values():
        entry["runs"] = [unfolded(run) for run in entry["runs"]]
    return found


def write(version: str, types: Mapping[str, Any], failed: Mapping[str, str]) -> None:
    """Write the record, a line a type."""
    head = {"peer": f"transformers {version}", "failed": dict(sorted(failed.items()))}
    lines = [json.dumps(head)[:-1] + ', "types": {']
    for name, entry in sorted(types.items()):
        out = {"config": entry["config"], "runs": [folded(run) for run in entry["runs"]]}
        lines.append(f"{json.dumps(name)}: {json.dumps(out, separators=(',', ':'))},")
    lines[-1] = lines[-1][:-1]
    RECORD.write_text("\n".join([*lines, "}}"]) + "\n", encoding="utf-8")
