"""Writes what transformers builds of one type into peer_parameters.json: the oracle of the rules for weights.

    python -m tests.plan.huggingface.write_parameters TYPE [FIELD=JSON ...]

builds the type's class on the meta device with its defaults (and the fields given), then with few layers and
each field changed in turn, and keeps what the rule reads of each configuration. A count that the rule does
not reach is printed and not written.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.plan.huggingface.weights import parts_of

RECORD = Path(__file__).with_name("peer_parameters.json")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers")


class Seen(dict[str, Any]):
    """An object that remembers which of its fields were read."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__({k: Seen(v) if isinstance(v, Mapping) else v for k, v in fields.items()})
        self.read: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def slim(self) -> dict[str, Any]:
        """The fields that were read, and nothing else."""
        kept = {name: value for name, value in super().items() if name in self.read}
        return {name: value.slim() if isinstance(value, Seen) else value for name, value in kept.items()}


def build(name: str, changed: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The configuration as written to a file, and the parameters of the model that the peer makes of it."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    config = CONFIG_MAPPING[name](**json.loads(json.dumps(changed)))
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    written: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return written, sum(parameter.numel() for parameter in model.parameters())


def by_rule(config: Mapping[str, Any]) -> tuple[int | None, dict[str, Any]]:
    """What the rule counts, and the fields that it read."""
    seen = Seen(config)
    try:
        parts = parts_of(seen)
    except MemlessonsError:
        parts = None
    return (None if parts is None else sum(parts.values())), seen.slim()


def changes(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each field with another value that a model might have."""
    for name, value in config.items():
        if isinstance(value, bool):
            yield name, not value
        elif isinstance(value, int) and "token" not in name and name not in (*LAYERS, "vocab_size"):
            yield name, value + 64 if value >= 64 and "heads" not in name else 2 * value
            if "heads" in name and value > 1:
                yield name, value // 2


def entry(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The record of one type."""
    config, parameters = build(name, fields)
    counted, read = by_rule(config)
    if counted != parameters:
        raise SystemExit(f"{name}: the peer has {parameters:,} parameters, the rule {counted}")
    found: dict[str, Any] = {"config": read, "parameters": parameters, "flipped": []}
    few = {layer: 7 for layer in LAYERS if layer in config and "layer_types" not in fields}
    seen = {parameters}
    for changed in ({}, *({field: value} for field, value in changes(config))):
        try:
            other, expected = build(name, {**fields, **few, **changed})
        except Exception:  # the peer refuses what cannot be in as many ways as it has classes
            continue
        counted, read = by_rule(other)
        if counted != expected:
            print(f"{name}, {changed}: the peer has {expected:,} parameters, the rule {counted}")
        elif expected not in seen:
            seen.add(expected)
            differing = {k: v for k, v in read.items() if found["config"].get(k, "absent") != v}
            found["flipped"].append([differing, expected])
    return found


def main(name: str, *given: str) -> None:
    """Build one type and write it into the record."""
    fields = {field: json.loads(value) for field, _, value in (item.partition("=") for item in given)}
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    record[name] = entry(name, fields)
    lines = [f" {json.dumps(k)}: {json.dumps(record[k], separators=(',', ':'))}" for k in sorted(record)]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{name}: {record[name]['parameters']:,} parameters, {len(record[name]['flipped'])} changes")


if __name__ == "__main__":
    main(*sys.argv[1:])
