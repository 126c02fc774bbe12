"""Known models, each read from its published configuration, with the source of every number.

The configurations stand in presets.json. It is read when a preset is first asked for, and of it only the
model asked for becomes a plan.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from memlessons.errors import MemlessonsError
from memlessons.plan.errors import InvalidPlan
from memlessons.plan.formats import F16, Format
from memlessons.plan.layer import Layer
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.store import Store
from memlessons.plan.weights import Weights


class UnknownPreset(MemlessonsError, KeyError):
    """No preset of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class Expected(NamedTuple):
    """What was counted by hand from the model's card, in bytes of 16-bit K and V for one sequence.

    `bytes_per_token` is what one more token adds beyond all windows, `at_131072` what 131,072 tokens keep,
    `state` of it included; `truth` the published figure that confirms the shape, or "derived" where there
    is none.
    """

    bytes_per_token: int
    at_131072: int
    truth: str
    state: int = 0
    per_encoder_token: int = 0


class Preset(NamedTuple):
    """A named model: what it remembers, what its weights take, how far it was trained to read.

    `source` says where `config` is from, `weights.source` where the weights' numbers are.
    """

    name: str
    plan: MemoryPlan
    weights: Weights
    longest_context: int
    source: str
    config: Mapping[str, Any]
    expected: Expected
    family: str


def full_attention(
    layers: int, query_heads: int, kv_heads: int, head_width: int, format: Format = F16, rule: str = ""
) -> MemoryPlan:
    """A plan in which each layer keeps K and V of every token, the commonest design."""
    store = Store(
        "self", kv_heads, head_width, head_width, head_width, key_format=format, value_format=format
    )
    return MemoryPlan((Layer(query_heads, (store,), rule=rule),) * layers)


def names() -> list[str]:
    """The presets' names: eight that chapters use, then by how layers remember."""
    return list(_entries())


def get(name: str) -> Preset:
    """The preset of that name (in any case); UnknownPreset names those that are spelled like it.

    The same name gives the same object; its `config` is not to be changed.
    """
    wanted = name.strip().lower() if isinstance(name, str) else str(name)
    if wanted not in _entries():
        raise UnknownPreset(f"no preset {str(name)[:60]!r}: {_hint(wanted[:60])}")
    return _preset(wanted)


def _hint(wanted: str) -> str:
    # Not above: only those pay for it who have mistyped a name.
    from difflib import get_close_matches

    close = get_close_matches(wanted, _entries(), n=3, cutoff=0.5)
    meant = f"did you mean {', '.join(close)}? " if close else ""
    first = ", ".join(list(_entries())[:8])
    return f"{meant}known are {first} and {len(_entries()) - 8} more (`presets.names()`)"


@cache
def _entries() -> dict[str, dict[str, Any]]:
    # Not above: it takes longer to import than all of this package.
    from importlib.resources import files

    text = files("memlessons.plan").joinpath("presets.json").read_text(encoding="utf-8")
    return {entry["name"]: entry for entry in json.loads(text)["presets"]}


def _weights(entry: Mapping[str, Any]) -> Weights:
    """The weights of an entry as it gives them, and what only the rule for its type tells of their parts."""
    # Not above: as for `_preset`.
    from memlessons.plan.huggingface.weights import weights_of

    config, stored_bytes = entry["config"], entry["stored_bytes"]
    given = Weights(stored_bytes, entry["parameters"], entry["active_parameters"], entry["weights_source"])
    found = weights_of(config)
    if found is None:
        return replace(given, expert_share=_share(config))
    # Of weights in mixed formats the rule knows what a token touches, unless the file is another.
    mixed = "quantization_config" in config and found.stored_bytes == stored_bytes
    # Files that the rule does not describe are taken to store their tables like all else.
    like = abs(found.stored_bytes - stored_bytes) < 0.01 * stored_bytes
    tables = found.lookup_bytes if like else stored_bytes * found.lookup_parameters // found.parameters
    return replace(
        given, active_stored_bytes=found.active_stored_bytes if mixed else None,
        expert_share=found.expert_share, lookup_parameters=found.lookup_parameters, lookup_bytes=tables,
        head_parameters=min(found.head_parameters, given.active_parameters - found.lookup_parameters),
    )  # fmt: skip


def _share(config: Mapping[str, Any]) -> float | None:
    """How many of its experts a token takes, by the fields that most files have; None where they are not."""
    chosen, held = (config.get(name) for name in ("num_experts_per_tok", "num_experts"))
    return min(1.0, chosen / held) if isinstance(chosen, int) and isinstance(held, int) and held > 1 else None


@cache
def _preset(name: str) -> Preset:
    # Not above: the rules are needed only where a preset is, and they import from this package.
    from memlessons.plan.huggingface import read_huggingface

    entry = _entries()[name]
    reading = read_huggingface(entry["config"])
    plan = reading.plan
    if entry["config"].get("torch_dtype") == "float16" and not plan.constant_bytes:
        plan = plan.with_format(F16)
    longest = entry.get("longest_context") or reading.longest_context
    if longest is None:
        raise InvalidPlan(f"presets.json says nowhere how far {name} reads: give it a longest_context")
    return Preset(
        name, plan, _weights(entry), longest, entry["config_source"], entry["config"],
        Expected(**entry["expect"]), entry["family"],
    )  # fmt: skip
