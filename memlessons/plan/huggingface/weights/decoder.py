"""Adds up a decoder: embeddings, layers of attention or state and an MLP, norms, the head."""

from dataclasses import replace

from memlessons.plan.huggingface.errors import UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.attention import attention, hidden, indexer
from memlessons.plan.huggingface.weights.layers import layers_of
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.mlp import mlp
from memlessons.plan.huggingface.weights.shape import Flag, Shape
from memlessons.plan.huggingface.weights.states import STATES, short_conv

_WITH_STATE = ("linear", "parallel", "parallel sliding")
_WITHOUT_ATTENTION = ("linear", "conv", "none")


def decoder(fields: Fields, shape: Shape, ledger: Ledger) -> None:
    """Note every tensor of a decoder of this shape."""
    for name in shape.needs:
        if fields.raw(name) is None:
            raise UnknownArchitecture(
                f"{name} is missing: no other rule knows the layers of {fields.model_type!r}"
            )
    embeddings(fields, shape, ledger)
    layers = 0
    for kind, at in layers_of(fields, shape.unsaid_kind):
        layer(at, kind, shape, ledger)
        layers += 1
    if shape.final_norm:
        ledger.vector("norms", hidden(fields) * shape.norm)
    if shape.model_extra is not None:
        shape.model_extra(replace(fields, layers=layers), ledger)


def layer(fields: Fields, kind: str, shape: Shape, ledger: Ledger) -> None:
    """Note one layer: what mixes tokens, the MLP, norms, and what else its class has."""
    if kind not in _WITHOUT_ATTENTION:
        attention(fields, shape, ledger)
    if kind in _WITH_STATE and shape.state:
        STATES[shape.state](fields, ledger)
    if kind == "conv":
        short_conv(fields, ledger)
    if kind == "indexed" and owns_indexer(fields):
        indexer(fields, ledger)
    mlp(fields, shape, ledger)
    ledger.vector("norms", hidden(fields) * shape.norm, times=shape.norms)
    if shape.layer_extra is not None:
        shape.layer_extra(fields, ledger)


def owns_indexer(fields: Fields) -> bool:
    """Whether a layer that picks tokens has an indexer of its own, or reads that of an earlier layer."""
    types = fields.one_a_layer("indexer_types")
    return types is None or fields.layer is None or types[fields.layer] == "full"


def embeddings(fields: Fields, shape: Shape, ledger: Ledger) -> None:
    """Note the table of tokens, that of positions if it is learned, and the head where it is apart."""
    wide = hidden(fields)
    vocabulary = fields.need("vocab_size", why="the embedding has a row for each token")
    tied = ties(fields, shape.tied)
    ledger.table((vocabulary + shape.extra_rows) * wide, tied=tied)
    if shape.positions:
        places = fields.need(*shape.positions, why="positions are learned")
        ledger.table((places + shape.position_offset) * wide)
    ledger.vector("norms", wide * shape.embedding_norm)
    answers = fields.whole("output_vocab_size", "unpadded_vocab_size") or vocabulary
    if not tied:
        ledger.linear("head", answers, wide)
    if shape.head_bias.of(fields):
        ledger.vector("head", answers)


def ties(fields: Fields, unsaid: bool) -> bool:
    """Whether the head is the table of tokens again: what the outermost object that says so says."""
    for level in reversed(fields.levels):
        said = Fields((level,)).flag("tie_word_embeddings")
        if said is not None:
            return said
    return Flag("tie_word_embeddings", unsaid).of(fields)
