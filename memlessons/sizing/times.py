"""The least times of a step and of a prompt on devices that share the work, and the band to expect."""

from dataclasses import dataclass

from memlessons.cost import Accelerator, Bound, attention_flops, prefill_bound, time_bound, weight_bytes_read
from memlessons.plan import MemoryPlan, Weights
from memlessons.plan.engines.ideal import on_device

BAND = (0.6, 0.9)
"""Shares of a roof at which a step is expected: an assumption of this project, and no source is known for it.

What is known is one side. A bound is the least time at peaks of a data sheet, and leaves out launches,
synchronisation, activations and what devices send each other (`memlessons.cost.roofline`), so a step takes
longer. By how much depends on engine, card and batch: small models and small batches may miss the band by
far. Texts therefore give the least time first, and call the band assumed.
"""
_LIMITS = {"memory": "bandwidth"}


@dataclass(frozen=True, slots=True)
class Step:
    """One decode step of all sequences, on the fullest device: what it reads, and the least it takes."""

    weight_bytes: int
    kv_bytes: int
    bound: Bound

    @property
    def kv_share(self) -> float:
        """Of the bytes read, the share that is the cache of the sequences."""
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


def limit_text(bound: Bound) -> str:
    """What limits a time, in words: `Bound.limit` says "memory", which beside a cache has two meanings."""
    return _LIMITS.get(bound.limit, bound.limit)


def band(seconds: float) -> tuple[float, float]:
    """What to expect where `seconds` is the least: the times at 90 % and at 60 % of the roof."""
    return seconds / BAND[1], seconds / BAND[0]
