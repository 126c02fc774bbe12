"""The least times of a step and of a prompt on devices that share the work, and the band to expect."""

from dataclasses import dataclass

from memlessons.cost import Accelerator, Bound, attention_flops, prefill_bound, time_bound, weight_bytes_read
from memlessons.plan import MemoryPlan, Weights
from memlessons.plan.engines.ideal import on_device

BAND = (0.6, 0.9)
"""Good engines reach 60 to 90 % of a roof: launches, synchronisation and small pieces take the rest."""


@dataclass(frozen=True, slots=True)
class Step:
    """One decode step of all sequences, on the fullest device: what it reads, and the least it takes."""

    weight_bytes: int
    kv_bytes: int
    bound: Bound

    @property
    def kv_share(self) -> float:
        """Of the bytes read, the share that is memory of the sequences."""
        return self.kv_bytes / (self.weight_bytes + self.kv_bytes)


def decode_step(
    plan: MemoryPlan,
    weights: Weights,
    context: int,
    batch: int,
    card: Accelerator,
    *,
    tp: int = 1,
    encoder_tokens: int = 0,
) -> Step:
    """A step of `batch` sequences of `context` tokens, their new one included.

    Weights and arithmetic divide evenly, heads as whole heads, latents not at all; what devices send each
    other is not counted. Where a card's arithmetic is not known, the bound is of its memory alone.
    """
    one = on_device(plan, tp)
    read = -(-weight_bytes_read(weights, batch) // tp)
    kept = batch * one.bytes_read(context, encoder_tokens=encoder_tokens)
    flops = batch * (
        2 * weights.multiplied_parameters + attention_flops(plan, context, encoder_tokens=encoder_tokens)
    )
    return Step(read, kept, time_bound(0 if card.matmul_flops is None else flops / tp, read + kept, card))


def first_token(
    plan: MemoryPlan,
    weights: Weights,
    prompt: int,
    card: Accelerator,
    *,
    tp: int = 1,
    encoder_tokens: int = 0,
) -> Bound | None:
    """The least time from a prompt to its first token; None where the card's arithmetic is not known."""
    if card.matmul_flops is None:
        return None
    whole = prefill_bound(plan, weights, prompt, card, encoder_tokens=encoder_tokens)
    return time_bound(whole.flops / tp, whole.bytes_moved / tp, card)


def band(seconds: float) -> tuple[float, float]:
    """What to expect where `seconds` is the least: the times at 90 % and at 60 % of the roof."""
    return seconds / BAND[1], seconds / BAND[0]
