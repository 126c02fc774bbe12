"""The fields of a configuration as each of its layers sees them."""

from collections.abc import Iterator
from dataclasses import replace

from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.kinds import KINDS, layer_count, layer_kinds

_ATTENDS = {"indexed": "full", "parallel": "full", "parallel sliding": "sliding", "chunked": "sliding"}


def layers_of(fields: Fields, unsaid: str = "") -> Iterator[tuple[str, Fields]]:
    """The kind of each layer, and the fields as it sees them; the kind of those is of its attention.

    `unsaid` is the kind of all layers where no field says which layers attend.
    """
    fields = replace(fields, layers=layer_count(fields))
    kinds, rule = layer_kinds(fields)
    if unsaid and rule is KINDS[-1]:
        kinds = [unsaid] * len(kinds)
    fields = replace(fields, layers=len(kinds))
    overlays = fields.overlays()
    for i, kind in enumerate(kinds):
        yield kind, fields.at(i, _ATTENDS.get(kind, kind), overlays.get(i))


def plain_layers(fields: Fields) -> int:
    """Layers by number, where they are all alike; BadConfig where the configuration does not say."""
    count = layer_count(fields)
    if count is None:
        raise BadConfig("num_hidden_layers is missing: every sum is over layers")
    return count
