"""Lists of modules that a quantisation leaves out: which parts of the model they are."""

import re
from collections.abc import Callable

from memlessons.plan.huggingface.errors import BadConfig, UnknownQuantisation
from memlessons.plan.huggingface.fields import Fields

_MOST_NAMES = 200_000
_NOT_LANGUAGE = ("vision", "visual", "audio", "image", "multi_modal", "mm_projector", "mtp")
_NEVER_QUANTISED = ("lm_head", "embed_tokens", "gate", "router", "shared_expert_gate", "norm", "conv1d")
# What parts are called: "mlp.gate_proj" is of a dense MLP, an expert's is "mlp.experts.0.gate_proj".
_PARTS = (
    (r"self_attn$", "attention"),
    (r"self_attn$", "indexer"),
    (r"shared_experts?$", "shared experts"),
    (r"(^|\.)mlp\.[a-z_]*_proj$", "mlp"),
    (r"linear_attn\.in_proj_(a|b|ba)$", "state gates"),
)


def all_but(settings: Fields, *names: str) -> Callable[[str], bool]:
    """Which parts are covered, given a list of modules that are not; one that no rule knows is refused."""
    left: set[str] = set()
    for name in names:
        listed = settings.raw(name)
        if listed is None:
            continue
        if not isinstance(listed, list) or len(listed) > _MOST_NAMES:
            raise BadConfig(f"quantization_config.{name} must be a list of modules")
        for module in listed:
            left |= _part_of(name, module)
    return lambda part: part not in left


def _part_of(field: str, module: object) -> set[str]:
    if not isinstance(module, str) or len(module) > 500:
        raise BadConfig(f"quantization_config.{field} must be a list of short texts")
    plain = re.sub(r"[^a-z0-9_.]", "", module.lower()).strip(".")
    leaf = plain.rsplit(".", 1)[-1]
    if leaf in _NEVER_QUANTISED or leaf.endswith("norm") or any(word in plain for word in _NOT_LANGUAGE):
        return set()
    found = {part for pattern, part in _PARTS if re.search(pattern, plain)}
    # Names with numbers are of single layers, and only those of the smallest part are taken for all.
    if found and (found == {"state gates"} or not re.search(r"\d", plain)):
        return found
    raise UnknownQuantisation(
        f"quantization_config.{field} leaves out {module[:60]!r}: no rule knows how much that is; "
        "give the bytes of the weights instead"
    )
