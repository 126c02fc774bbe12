"""The sizer's numbers, and nothing of how they are shown."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memlessons.cost import Accelerator, Bound, attention_flops, time_bound, weight_bytes_read
from memlessons.plan import MemoryPlan, Weights
from memlessons.show.sizer_state import SizerState

# No context is longer; a memory that is lighter even there has stopped growing, or as good as.
_ENDLESS = 2**40

_UNSURE = {
    "recalled": "the figures of this card are from memory: check them before you buy",
    "partly cited": "some figures of this card are from memory: check them before you buy",
}


@dataclass(frozen=True, slots=True)
class Sizing:
    """What a state costs. Bytes are exact; seconds and rates are bounds: no card does better.

    A reader is one sequence. `kv_bytes` are all readers' K and V (or what a design keeps in their place);
    `kv_bytes_per_token` what the next token of one reader adds at this context (0 once all windows are
    full), `average_bytes_per_token` the mean over its tokens so far. `readers_to_outweigh` readers at this
    context hold more than the weights. `crossing_context` is the first context at which this batch does,
    None if none does up to `longest_context`; `crossing_beyond` is the crossing past that, None if there
    is none. The `step_...` fields are of one decode step, `step_crossing` the first context, trained for or
    not, at which its K and V are no less than the weights it reads (a mixture of experts reads a part).
    """

    readers: int
    context: int
    longest_context: int
    kv_bytes: int
    kv_bytes_per_reader: int
    kv_bytes_per_token: float
    average_bytes_per_token: float
    weight_bytes: int
    card_bytes: int
    sequences_that_fit: int
    readers_to_outweigh: int
    crossing_context: int | None
    crossing_beyond: int | None
    step_weight_bytes: int
    step_kv_bytes: int
    step_crossing: int | None
    step_seconds: float
    step_limit: Literal["compute", "memory"]
    notes: tuple[str, ...]

    @property
    def needed_bytes(self) -> int:
        """Weights, and all readers' K and V."""
        return self.weight_bytes + self.kv_bytes

    @property
    def fits(self) -> bool:
        """Whether the card holds both, before an engine takes anything for itself."""
        return self.needed_bytes <= self.card_bytes

    @property
    def kv_share(self) -> float:
        """Of the bytes that a decode step reads, the share of K and V."""
        return self.step_kv_bytes / (self.step_weight_bytes + self.step_kv_bytes)

    @property
    def weight_share(self) -> float:
        """Of the bytes that a decode step reads, the share of the weights."""
        return 1 - self.kv_share

    @property
    def tokens_per_second(self) -> float:
        """All readers together, at most."""
        return self.readers / self.step_seconds

    @property
    def tokens_per_second_each(self) -> float:
        """What one reader sees, at most."""
        return 1 / self.step_seconds


# Table, text and figure of one state all ask for its numbers.
@lru_cache(maxsize=64)
def size(state: SizerState) -> Sizing:
    """All numbers of one state."""
    plan, weights, card = state.plan(), state.model.weights, state.accelerator
    context, batch, longest = state.context_read, state.batch, state.model.longest_context
    each = plan.bytes(context)
    crossing = first_context(lambda n: batch * plan.bytes(n), weights.stored_bytes)
    read = weight_bytes_read(weights, batch)
    fits = weights.stored_bytes + batch * each <= card.usable_bytes
    bound = step_bound(plan, weights, context, batch, card)
    return Sizing(
        readers=batch,
        context=context,
        longest_context=longest,
        kv_bytes=batch * each,
        kv_bytes_per_reader=each,
        kv_bytes_per_token=plan.slope(context),
        average_bytes_per_token=each / context,
        weight_bytes=weights.stored_bytes,
        card_bytes=card.usable_bytes,
        sequences_that_fit=max(0, card.usable_bytes - weights.stored_bytes) // each,
        readers_to_outweigh=-(-weights.stored_bytes // each),
        crossing_context=crossing if crossing is not None and crossing <= longest else None,
        crossing_beyond=crossing if crossing is not None and crossing > longest else None,
        step_weight_bytes=read,
        step_kv_bytes=batch * plan.bytes_read(context),
        step_crossing=first_context(lambda n: batch * plan.bytes_read(n), read),
        step_seconds=bound.seconds,
        step_limit=bound.limit,
        notes=tuple(_notes(state, plan, fits)),
    )


def step_bound(plan: MemoryPlan, weights: Weights, context: int, batch: int, card: Accelerator) -> Bound:
    """`cost.decode_bound` for `batch` sequences of one length, in the time that one of them takes.

    Where a card's arithmetic is not known, the bound is of its memory alone.
    """
    flops = batch * (2 * weights.active_parameters + attention_flops(plan, context))
    moved = weight_bytes_read(weights, batch) + batch * plan.bytes_read(context)
    return time_bound(0 if card.matmul_flops is None else flops, moved, card)


def first_context(bytes_at: Callable[[int], int], wanted: int) -> int | None:
    """The first context at which `bytes_at` is no less than `wanted`; None if it never is.

    `bytes_at` must never fall. What is held never does, nor what is read, except in chunked local
    attention (`Store.block`), where a step reads little again after each chunk.
    """
    found = 1 + bisect_left(range(1, _ENDLESS + 1), wanted, key=bytes_at)
    return found if found <= _ENDLESS else None


def _notes(state: SizerState, plan: MemoryPlan, fits: bool) -> list[str]:
    model, card = state.model, state.accelerator
    notes = []
    if state.context > state.context_read:
        notes.append(
            f"you asked for {state.context:,} tokens; {model.name} was trained to read "
            f"{model.longest_context:,}: the numbers are for these"
        )
    if not fits:
        notes.append("the times are those of a card of this speed with room for all of it")
    stores = [store for layer in plan.layers for store in layer.stores]
    if all(store.role == "latent" for store in stores) and state.key_format != state.value_format:
        notes.append("this model keeps one latent for K and V: its format is that of K, V's changes nothing")
    if model.weights.active_parameters < model.weights.parameters:
        notes.append(
            "a mixture of experts: a step reads the experts that its tokens choose; counted is the most "
            "they can choose"
        )
    if card.matmul_flops is None:
        notes.append("the arithmetic of this card is not known: the times are those of its memory alone")
    if card.confidence in _UNSURE:
        notes.append(_UNSURE[card.confidence])
    return notes
