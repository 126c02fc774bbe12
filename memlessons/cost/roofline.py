"""The least time a step can take: arithmetic and memory traffic overlap, the slower one decides.

seconds = max(FLOP / FLOP rate, bytes moved / bandwidth), the roofline of S. Williams, A. Waterman and
D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 2009. The rates are peaks of a data sheet or rates measured on a machine;
what a step moves beside weights and memory (activations, logits) is left out, so a bound is never too long.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Literal

from memlessons.cost.accelerators import Accelerator
from memlessons.cost.errors import ImpossibleWork, amount
from memlessons.cost.weights_read import weight_bytes_read
from memlessons.plan import MemoryPlan, Store, Weights
from memlessons.units import bytes_text, count_text, seconds_text

# One element of recurrent state in one step: decay, update (a multiply-add), read (a multiply-add).
STATE_FLOPS = 5
# Beyond this many positions a prefill's attention is added up by strata instead of token by token.
_STRATA = 4096


@dataclass(frozen=True, slots=True)
class Bound:
    """The least `seconds` for `flops` FLOP and `bytes_moved` bytes, and which of the two is the limit."""

    seconds: float
    limit: Literal["compute", "memory"]
    flops: float
    bytes_moved: float

    @property
    def intensity(self) -> float:
        """FLOP per byte moved; infinite where nothing is moved."""
        return self.flops / self.bytes_moved if self.bytes_moved else float("inf")

    def __str__(self) -> str:
        return (
            f"at least {seconds_text(self.seconds)}, limited by {self.limit} "
            f"({count_text(self.flops)} FLOP, {bytes_text(self.bytes_moved)} moved)"
        )


def time_bound(flops: float, bytes_moved: float, accelerator: Accelerator) -> Bound:
    """The roofline bound of a piece of work, in seconds; on the ridge itself it counts as compute.

    MissingFigure if there is arithmetic and the accelerator's matmul rate is not known; ImpossibleWork
    for a negative or endless amount of work.
    """
    amount("flops", flops)
    amount("bytes_moved", bytes_moved)
    computing = flops / _rate(accelerator, "matmul_flops") if flops else 0.0
    moving = bytes_moved / _rate(accelerator, "bandwidth") if bytes_moved else 0.0
    if computing >= moving:
        return Bound(computing, "compute", flops, bytes_moved)
    return Bound(moving, "memory", flops, bytes_moved)


def ridge(accelerator: Accelerator) -> float:
    """FLOP per byte moved from which a device is busy computing rather than waiting for its memory."""
    return _rate(accelerator, "matmul_flops") / _rate(accelerator, "bandwidth")


def decode_bound(
    plan: MemoryPlan,
    weights: Weights,
    contexts: int | Sequence[int],
    accelerator: Accelerator,
    *,
    encoder_tokens: int = 0,
) -> Bound:
    """The least time of one decode step for sequences of these lengths, their new token included.

    Bytes: the weights once (see `weight_bytes_read`) and `plan.bytes_read`. FLOP: a multiply-add per
    multiplied parameter and sequence, and attention's own (see `attention_flops`).
    """
    batch = 1 if isinstance(contexts, int) else len(contexts)
    flops = 2 * weights.multiplied_parameters * batch + attention_flops(
        plan, contexts, encoder_tokens=encoder_tokens
    )
    moved = weight_bytes_read(weights, batch) + plan.bytes_read(contexts, encoder_tokens=encoder_tokens)
    return time_bound(flops, moved, accelerator)


def prefill_bound(
    plan: MemoryPlan,
    weights: Weights,
    tokens: int,
    accelerator: Accelerator,
    past: int = 0,
    *,
    encoder_tokens: int = 0,
    scored: Literal["last", "all"] = "last",
) -> Bound:
    """The least time to process `tokens` new tokens of one sequence in one pass, `past` of it being held.

    Attention is causal: a new token reads what it may see and no more, half of the square where nothing
    is held yet. The output head scores the last token alone, as engines do it (vLLM, llama.cpp and SGLang
    pick the rows that are sampled before the head), or all of them, as a measure of perplexity needs it.
    Bytes: the weights once, the held memory read once, the new entries written once.
    """
    amount("tokens", tokens)
    amount("past", past)
    attention = 0.0
    for (query_heads, store), layers in _attended(plan).items():
        slots = _summed(partial(_seen, store, encoder_tokens=encoder_tokens), past + 1, past + tokens)
        attention += layers * (_flops_per_slot(query_heads, store) * slots + _state_flops(store) * tokens)
    read = plan.bytes_read(past, encoder_tokens=encoder_tokens) if past and tokens else 0
    # Pages round up what is handed out, not what is written.
    written = plan.with_pages(1).bytes(tokens, encoder_tokens=0 if past else encoder_tokens) if tokens else 0
    moved = weight_bytes_read(weights, tokens) + read + written
    inner = weights.multiplied_parameters - weights.head_parameters
    multiplied = inner * tokens + weights.head_parameters * (tokens if scored == "all" else min(tokens, 1))
    return time_bound(2 * multiplied + attention, moved, accelerator)


def attention_flops(plan: MemoryPlan, contexts: int | Sequence[int], *, encoder_tokens: int = 0) -> int:
    """FLOP of one decode step in attention and recurrent state, projections not included.

    A query head spends a multiply-add per key number and per value number of each slot it reads:
    2 x query_heads x (key_width + value_width) x slots. A latent is counted absorbed, as it is stored: its
    values are its first `rank` numbers (an engine that expands it in prefill does less). An index store
    has keys only and is counted with the layer's query heads. State: STATE_FLOPS per element.
    """
    lengths = (contexts,) if isinstance(contexts, int) else contexts
    total = 0
    for (query_heads, store), layers in _attended(plan).items():
        slots = sum(_seen(store, n, encoder_tokens) for n in lengths)
        total += layers * (_flops_per_slot(query_heads, store) * slots + _state_flops(store) * len(lengths))
    return total


def _attended(plan: MemoryPlan) -> Counter[tuple[int, Store]]:
    """How many layers attend with so many query heads to such a store, whoever owns it.

    A layer that reads another's memory reads what grows; cross-attention and state stay with their owner.
    """
    found: Counter[tuple[int, Store]] = Counter()
    for layer in plan.layers:
        found.update((layer.query_heads, store) for store in (*layer.stores, *plan.shared_stores(layer)))
    return found


def _seen(store: Store, tokens: int, encoder_tokens: int) -> int:
    return store.read_slots(encoder_tokens if store.grows_with == "encoder_tokens" else tokens)


def _flops_per_slot(query_heads: int, store: Store) -> int:
    values = store.value_width
    if store.role == "latent" and not values:
        values = store.key_width - store.rope_width
    return 2 * query_heads * (store.key_width + values)


def _state_flops(store: Store) -> int:
    return STATE_FLOPS * sum(elements for elements, _ in store.state)


def _summed(seen: Callable[[int], int], first: int, last: int) -> float:
    """Sum of `seen(n)` for n from first to last.

    Exact up to _STRATA terms; beyond, each stratum counts as often as its middle, which is exact wherever
    `seen` is straight: the error is confined to the strata in which a window fills up.
    """
    count = last - first + 1
    strata = min(max(count, 0), _STRATA)
    total = 0.0
    for i in range(strata):
        low, high = first + count * i // strata, first + count * (i + 1) // strata - 1
        middle = (low + high) // 2
        total += (high - low + 1) * (seen(middle) + seen(low + high - middle)) / 2
    return total


def _rate(accelerator: Accelerator, field: str) -> float:
    rate = accelerator.figure(field)
    if not (isfinite(rate) and rate > 0):
        raise ImpossibleWork(f"{accelerator.name}: {field}={rate!r} must be a finite rate above 0")
    return rate
