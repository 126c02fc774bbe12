"""The sizer's answer: bytes by layer and by engine, what fits, how long it takes, and what dominates."""

from dataclasses import dataclass, replace
from functools import lru_cache

from memlessons.cost import (
    Bound,
    first_context,
    sequences_that_fit,
    varied_sequences_that_fit,
    weight_bytes_read,
)
from memlessons.plan import Layer, MemoryPlan
from memlessons.plan.engines.ideal import cluster_bytes, on_device
from memlessons.sizing.notes import notes
from memlessons.sizing.question import Question
from memlessons.sizing.reserved import EngineAnswer, engine_answers, reserved_bytes
from memlessons.sizing.sums import sums
from memlessons.sizing.times import Step, decode_step, first_token


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """Layers that keep the same: their name, bytes of one sequence, and what its next token adds."""

    name: str
    layers: int
    rule: str
    bytes_per_sequence: int
    bytes_per_token: float
    read_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question comes to. Bytes are exact; seconds are bounds: nothing is faster.

    `kv_bytes` is what all sequences keep, once; `kv_per_device` what the fullest device keeps of it, and
    `kv_cluster` what all devices keep together, more where heads or latents are repeated. `reserved` is
    what the asked engine reserves on a device. What needs a card or weights is None without them.
    `crossing` is the first context at which this batch outweighs the weights, whether or not the model
    reads so far; None if none does.
    """

    question: Question
    groups: tuple[GroupAnswer, ...]
    kv_bytes: int
    kv_per_sequence: int
    kv_per_device: int
    kv_cluster: int
    slope: float
    average: float
    constant_bytes: int
    weight_bytes: int | None
    weights_per_device: int | None
    engines: tuple[EngineAnswer, ...]
    reserved: int
    card_bytes: int | None
    sequences_fit: int | None
    varied_fit: int | None
    crossing: int | None
    sequences_to_outweigh: int | None
    step: Step | None
    step_crossing: int | None
    first_token: Bound | None
    notes: tuple[str, ...]

    @property
    def needed_per_device(self) -> int | None:
        """Weights, what the engine reserves, and the reserve, on the fullest device."""
        if self.weights_per_device is None:
            return None
        return self.weights_per_device + self.reserved + self.question.reserve_bytes

    @property
    def fits(self) -> bool | None:
        """Whether all of it fits; None where the card or the weights are not known."""
        if self.needed_per_device is None or self.card_bytes is None:
            return None
        return self.needed_per_device <= self.card_bytes

    @property
    def tokens_per_second(self) -> float | None:
        """All sequences together, at most."""
        return None if self.step is None else self.question.batch / self.step.bound.seconds

    @property
    def dominates(self) -> str:
        """What takes most of the memory: the weights, or the layers of one kind."""
        largest = max(self.groups, key=lambda group: group.bytes_per_sequence)
        if self.weight_bytes is not None and self.weight_bytes >= self.kv_bytes:
            return "weights"
        return largest.name


# A table, a text and a figure of one question all ask for its answer.
@lru_cache(maxsize=128)
def answer(question: Question) -> Answer:
    """All numbers of one question."""
    plan, weights = question.plan, question.weights
    context, batch, tp, encoder = question.context, question.batch, question.tp, question.encoder
    device = on_device(plan, tp)
    each = plan.bytes(context, encoder_tokens=encoder)
    per_device = batch * device.bytes(context, encoder_tokens=encoder)
    stored = None if weights is None else weights.stored_bytes
    shared = None if stored is None else -(-stored // tp)
    room = _room(question, shared)
    card = question.card
    step = first = None
    if card is not None and weights is not None:
        step = decode_step(plan, weights, context, batch, card, tp=tp, encoder_tokens=encoder)
        first = first_token(plan, weights, context, card, tp=tp, encoder_tokens=encoder)
    held_at, _ = sums(plan, encoder)
    held = first_context(lambda n: batch * held_at(n), stored) if stored else None
    read = None
    if weights is not None:
        wanted, (_, read_at) = weight_bytes_read(weights, batch), sums(_at_chunk_ends(plan), encoder)
        read = first_context(lambda n: batch * read_at(n), wanted)
    return Answer(
        question=question,
        groups=_groups(question),
        kv_bytes=batch * each,
        kv_per_sequence=each,
        kv_per_device=per_device,
        kv_cluster=batch * cluster_bytes(plan, tp, context, encoder),
        slope=plan.slope(context),
        average=each / context,
        constant_bytes=plan.constant_bytes,
        weight_bytes=stored,
        weights_per_device=shared,
        engines=engine_answers(question),
        reserved=reserved_bytes(question, context, batch),
        card_bytes=question.card_bytes,
        sequences_fit=None
        if room is None
        else sequences_that_fit(room, lambda count: reserved_bytes(question, context, count)),
        varied_fit=None
        if room is None or question.lengths is None
        else varied_sequences_that_fit(
            room, lambda length: reserved_bytes(question, length, 1), question.lengths
        ),
        crossing=held,
        sequences_to_outweigh=None if stored is None else -(-stored // max(each, 1)),
        step=step,
        step_crossing=read,
        first_token=first,
        notes=notes(question, _fits(question, shared)),
    )


def _fits(question: Question, weights: int | None) -> bool | None:
    """Whether one device holds all of it; None where the card or the weights are not known."""
    room = _room(question, weights)
    return None if room is None else reserved_bytes(question, question.context, question.batch) <= room


def _room(question: Question, weights: int | None) -> int | None:
    """Bytes of one device that are left for memory; None where the card or the weights are not known."""
    if question.card_bytes is None or weights is None:
        return None
    return max(0, question.card_bytes - question.reserve_bytes - weights)


def _groups(question: Question) -> tuple[GroupAnswer, ...]:
    plan, context, encoder = question.plan, question.context, question.encoder
    found = []
    for group in plan.groups():
        first = group.indices[0]
        count = len(group.indices)
        stores = (*group.layer.stores, *plan.shared_stores(group.layer))
        seen = sum(
            s.read_slots(encoder if s.grows_with == "encoder_tokens" else context) * s.slot_bytes
            + s.state_bytes
            for s in stores
        )
        found.append(
            GroupAnswer(
                group.name,
                count,
                group.layer.rule,
                count * plan.layer_bytes(first, context, encoder),
                count * _alone(group.layer).slope(context),
                count * seen,
            )
        )
    return tuple(found)


def _alone(layer: Layer) -> MemoryPlan:
    """A plan of this layer only, for what it keeps itself."""
    return MemoryPlan((replace(layer, reads_from=None),))


def _at_chunk_ends(plan: MemoryPlan) -> MemoryPlan:
    """The plan as it reads at the end of a chunk, the most it does: what is read then never falls."""
    layers = []
    for layer in plan.layers:
        stores = tuple(s if s.block is None else replace(s, block=None, window=s.block) for s in layer.stores)
        layers.append(replace(layer, stores=stores))
    return replace(plan, layers=tuple(layers))
