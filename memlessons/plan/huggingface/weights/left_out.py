"""Lists of modules that a quantisation leaves out: which parts of the model they are, and in which layers."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from memlessons.plan.huggingface.errors import BadConfig, UnknownQuantisation
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields

Share = Callable[[str], Fraction]
"""Which share of a part's copies is covered: 1, or less where single layers are left out."""
LayersWith = Callable[[], dict[str, set[int]]]
"""The layers that have a part, of those parts that are in layers; asked for only where layers are named."""

Layers = tuple[int, ...] | None
"""The layers that a name is of; None for a name that is of all."""

_MOST_NAMES = 200_000
# Parts of other senses, of a draft head or of an adapter between models: they are not counted here.
_ELSEWHERE = (
    "vision", "visual", "audio", "image", "speech", "multi_modal", "projector", "projection", "merger",
    "connector", "resampler", "mtp", "eh_proj", "shared_head", "enorm", "hnorm", "nextn",
)  # fmt: skip
_NEVER_QUANTISED = (
    "lm_head", "embed_tokens", "gate", "router", "shared_expert_gate", "norm", "conv1d", "bias", "wte", "wpe",
    "e_score_correction_bias", "embed_out", "a_log", "embed_tokens_per_layer",
)  # fmt: skip
_MLP = ("mlp", "experts", "shared experts")
_STATE = ("state layers", "state gates")
_BLOCKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"experts(\.\*)?", ("experts",)),
    (r"shared_experts?", ("shared experts",)),
    (r"(self_attn|self_attention|attn|attention)", ("attention", "indexer")),
    (r"(linear_attn|mamba|mixer)", _STATE),
    (r"(mlp|feed_forward|block_sparse_moe)", _MLP),
)
# All projections of a block, by the names under which files have them.
_WHOLE: tuple[frozenset[str], ...] = tuple(
    frozenset(text.split())
    for text in (
        "q_proj k_proj v_proj o_proj", "qkv_proj o_proj", "query_key_value dense",
        "gate_proj up_proj down_proj", "gate_up_proj down_proj",
        "q_a_proj q_b_proj kv_a_proj_with_mqa kv_b_proj o_proj", "q_proj kv_a_proj_with_mqa kv_b_proj o_proj",
        "in_proj_qkvz in_proj_ba out_proj",
        "in_proj_qkv in_proj_z in_proj_a in_proj_b out_proj", "in_proj out_proj",
    )
)  # fmt: skip
_GATES = frozenset(("in_proj_a", "in_proj_b", "in_proj_ba"))
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d{1,4})(?:\.(.*))?$")
_BEGINS = re.compile(r"\.(\d{1,4})\*")


@dataclass
class _Seen:
    """What a list names: parts in all layers, in some, and single projections still to be put together."""

    everywhere: set[str] = field(default_factory=set)
    in_layers: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    single: dict[tuple[str, Layers], dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, parts: Iterable[str], layers: Layers) -> None:
        if layers is None:
            self.everywhere.update(parts)
        else:
            for part in parts:
                self.in_layers[part].update(layers)


def all_but(settings: Fields, *names: str, layers_with: LayersWith) -> Share:
    """Which share of a part is covered, given lists of modules that are not; an unknown module is refused."""
    listed: list[object] = []
    for name in names:
        found = settings.raw(name)
        if found is None:
            continue
        if not isinstance(found, list) or len(found) > _MOST_NAMES:
            raise BadConfig(f"quantization_config.{name} must be a list of modules")
        listed += found
    return without(listed, names[0], layers_with)


def without(modules: Iterable[object], name: str, layers_with: LayersWith) -> Share:
    """The same for modules that are already in a list; `name` is the field that messages speak of."""
    seen = _Seen()
    for module in modules:
        _note(seen, name, module)
    for (block, layers), leaves in seen.single.items():
        if not any(whole <= leaves.keys() for whole in _WHOLE):
            raise _unknown(name, next(iter(leaves.values())))
        seen.add(dict(_BLOCKS)[block], layers)
    return _share(seen, layers_with)


def _share(seen: _Seen, layers_with: LayersWith) -> Share:
    places = layers_with() if seen.in_layers else {}

    def share(part: str) -> Fraction:
        if part in seen.everywhere:
            return Fraction(0)
        named, there = seen.in_layers.get(part, set()), places.get(part, set())
        return 1 - Fraction(len(named & there), len(there)) if there else Fraction(1)

    return share


def _note(seen: _Seen, name: str, module: object) -> None:
    if not isinstance(module, str) or len(module) > 500:
        raise BadConfig(f"quantization_config.{name} must be a list of short texts")
    plain = re.sub(r"[^a-z0-9_.]", "", module.lower().removeprefix("re:")).strip(".")
    leaf = plain.rsplit(".", 1)[-1]
    if leaf in _NEVER_QUANTISED or leaf.endswith("norm") or any(word in plain for word in _ELSEWHERE):
        return
    found = _LAYER.search(plain)
    if "[" in module or "{" in module:
        raise _unknown(name, module)
    layers, inside = (_layers(found[1], module), found[2] or "") if found else (None, plain)
    if found and not inside:
        seen.add(("attention", "indexer", *_STATE, *_MLP), layers)
        return
    if leaf in _GATES and "linear_attn" in plain:
        # Files name them layer by layer, and leave out all or none.
        seen.everywhere.add("state gates")
        return
    for pattern, parts in _BLOCKS:
        if re.search(rf"(^|\.){pattern}$", inside):
            seen.add(parts, layers)
            return
        single = re.search(rf"(^|\.){pattern}\.([a-z_]+)$", inside)
        if single:
            # One pattern may stand for all projections: "mlp.(gate|up|gate_up|down)_proj".
            if parts == _MLP and re.search(r"[|*]\w*\)?_proj", module):
                seen.add(("mlp",), layers)
            else:
                seen.single[pattern, layers][single[single.lastindex or 0]] = module
            return
    raise _unknown(name, module)


def _layers(digits: str, module: str) -> Layers:
    """The layer of that number, or all whose numbers begin so: "layers.1*" is of layers 1, 10 and 11."""
    begins = _BEGINS.search(module)
    if begins is None:
        return (int(digits),)
    return tuple(n for n in range(MOST_LAYERS) if str(n).startswith(begins[1]))


def _unknown(name: str, module: str) -> UnknownQuantisation:
    return UnknownQuantisation(
        f"quantization_config.{name} leaves out {module[:60]!r}: no rule knows how much that is; "
        "give the bytes of the weights instead"
    )
