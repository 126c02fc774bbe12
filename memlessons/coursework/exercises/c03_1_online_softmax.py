"""03.1: softmax over scores that arrive in chunks, in one pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memlessons.coursework.exercise import Exercise, Inputs, Mistake
from memlessons.coursework.exercises.one_pass import OnePass

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Chunks = Sequence[Tensor]


def online_softmax(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    """Softmax of all scores, times the values, and the scores' log-sum-exp, from one pass over the chunks.

    Of one query: `score_chunks` holds one or more float64 tensors [n], `value_chunks` their values, float64
    [n, D]; n differs from chunk to chunk. A chunk is gone once the next one is taken. A chunk may be empty
    (n = 0), and a score may be -inf (a hidden position, whose value does not count). Scores may be in the
    hundreds, above zero or below. Returns
    (out, lse): out is [D], the average of the values weighted by exp(score); lse is the natural logarithm of
    the sum of exp(score). Where nothing is seen, because all is empty or -inf: zeros and -inf.
    """
    highest, total = -math.inf, 0.0
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        before, highest = highest, max([highest, *scores.tolist()])
        if highest == -math.inf:
            continue  # nothing seen yet
        shrink = math.exp(before - highest)
        weights = (scores - highest).exp()
        total = total * shrink + float(weights.sum())
        out = out * shrink + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, highest + math.log(total)


def _old_sum_not_rescaled(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = -math.inf, 0.0
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        before, highest = highest, max([highest, *scores.tolist()])
        if highest == -math.inf:
            continue
        weights = (scores - highest).exp()
        total = total + float(weights.sum())
        out = out * math.exp(before - highest) + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, highest + math.log(total)


def _old_output_not_rescaled(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = -math.inf, 0.0
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        before, highest = highest, max([highest, *scores.tolist()])
        if highest == -math.inf:
            continue
        weights = (scores - highest).exp()
        total = total * math.exp(before - highest) + float(weights.sum())
        out = out + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, highest + math.log(total)


def _nan(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = -math.inf, 0.0
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        if len(scores) == 0:
            continue
        before, highest = highest, max([highest, *scores.tolist()])
        shrink = math.exp(before - highest)  # NaN where both are -inf, and from there on
        weights = (scores - highest).exp()
        total = total * shrink + float(weights.sum())
        out = out * shrink + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, highest + math.log(total)


def _lse_without_the_maximum(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = -math.inf, 0.0
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        before, highest = highest, max([highest, *scores.tolist()])
        if highest == -math.inf:
            continue
        shrink = math.exp(before - highest)
        weights = (scores - highest).exp()
        total = total * shrink + float(weights.sum())
        out = out * shrink + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, math.log(total)


def _nothing_rescaled(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = -math.inf, 0.0
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        highest = max([highest, *scores.tolist()])
        if highest == -math.inf:
            continue
        weights = (scores - highest).exp()
        total = total + float(weights.sum())
        out = out + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, highest + math.log(total)


def _correction_inverted(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = torch.tensor(-math.inf, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        before, highest = highest, torch.cat((highest[None], scores)).max()
        if highest == -math.inf:
            continue
        grow = (highest - before).exp()  # infinite for the first chunk, and 0 times that is NaN
        weights = (scores - highest).exp()
        total = total * grow + weights.sum()
        out = out * grow + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, float(highest + total.log())


def _this_chunks_maximum_only(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = torch.tensor(-math.inf, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        if not bool((scores > -math.inf).any()):
            continue
        before, highest = highest, scores.max()
        shrink = (before - highest).exp()  # infinite if this chunk's highest is far below the last one's
        weights = (scores - highest).exp()
        total = total * shrink + weights.sum()
        out = out * shrink + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, float(highest + total.log())


def _no_maximum(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    total = torch.tensor(0.0, dtype=torch.float64)
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        weights = scores.exp()
        total = total + weights.sum()
        out = out + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, float(total.log())


def _maximum_starts_at_0(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    highest, total = 0.0, 0.0  # exp(-900 - 0) is 0, as if nothing were seen
    out = value_chunks[0].new_zeros(value_chunks[0].shape[1])
    for scores, values in zip(score_chunks, value_chunks, strict=True):
        before, highest = highest, max([highest, *scores.tolist()])
        shrink = math.exp(before - highest)
        weights = (scores - highest).exp()
        total = total * shrink + float(weights.sum())
        out = out * shrink + weights @ values
    if total == 0.0:
        return out, -math.inf
    return out / total, highest + math.log(total)


def _kept(score_chunks: Chunks, value_chunks: Chunks) -> tuple[Tensor, float]:
    pairs = list(zip(score_chunks, value_chunks, strict=True))
    scores, values = torch.cat([s for s, _ in pairs]), torch.cat([v for _, v in pairs])
    seen = scores > -math.inf
    return scores[seen].softmax(0) @ values[seen], float(scores[seen].logsumexp(0))


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        dice = torch.Generator().manual_seed(pick(st.integers(0, 2**32 - 1)))
        width, scale = pick(st.integers(1, 4)), pick(st.sampled_from([1.0, 10.0, 200.0]))
        # exp(800) is infinite, and so is exp(900 - 0), where a maximum falls from chunk to chunk.
        level = pick(st.sampled_from([[0.0], [0.0], [800.0], [900.0, 0.0], [-900.0]]))
        levels = st.sampled_from(level)
        if level == [-900.0]:
            # exp(-900) is 0 and stays so: near -740 it would be a number of one or two digits.
            scale = min(scale, 10.0)
        # A first chunk without anything to see is legal and easily forgotten: let it be frequent.
        kinds = [pick(st.sampled_from(["hidden", "hidden", "empty", "plain", "plain"]))]
        kinds += pick(
            st.lists(st.sampled_from(["plain"] * 5 + ["mixed", "hidden", "empty"]), min_size=1, max_size=5)
        )
        score_chunks, value_chunks = [], []
        for kind in kinds:
            count = 0 if kind == "empty" else pick(st.integers(1, 5))
            scores = pick(levels) + scale * torch.randn(count, generator=dice, dtype=torch.float64)
            if kind in ("mixed", "hidden"):
                scores[:: 1 if kind == "hidden" else 2] = -math.inf
            score_chunks.append(scores)
            value_chunks.append(torch.randn(count, width, generator=dice, dtype=torch.float64))
        return {"score_chunks": score_chunks, "value_chunks": value_chunks}

    return inputs()


def _handed(inputs: Inputs) -> Inputs:
    """Chunks that are gone once the next one is taken."""
    return dict(zip(inputs, OnePass(list(inputs.values())).chunks, strict=True))


def _shown() -> tuple[Inputs, ...]:
    two, four = math.log(2), math.log(4)
    score_chunks = [torch.tensor(scores, dtype=torch.float64) for scores in ([0.0, 0.0], [four, two])]
    value_chunks = [torch.tensor(rows, dtype=torch.float64) for rows in ([[4.0], [4.0]], [[8.0], [0.0]])]
    return ({"score_chunks": score_chunks, "value_chunks": value_chunks},)


def _falling() -> Inputs:
    score_chunks = [torch.tensor([score], dtype=torch.float64) for score in (900.0, 0.0)]
    value_chunks = [torch.tensor([[value]], dtype=torch.float64) for value in (1.0, 2.0)]
    return {"score_chunks": score_chunks, "value_chunks": value_chunks}


def _far_below_zero() -> Inputs:
    score_chunks = [torch.tensor(scores, dtype=torch.float64) for scores in ([-900.0], [-800.0, -800.0])]
    value_chunks = [torch.tensor(rows, dtype=torch.float64) for rows in ([[1.0]], [[2.0], [4.0]])]
    return {"score_chunks": score_chunks, "value_chunks": value_chunks}


EXERCISE = Exercise(
    id="03.1",
    title="Softmax in one pass",
    kind="build",
    reference=online_softmax,
    draw=_draw,
    mistakes=(
        Mistake(
            "old sum not rescaled",
            "A new maximum changes the unit of everything before: in which unit is your old sum?",
            _old_sum_not_rescaled,
        ),
        Mistake(
            "old output not rescaled",
            "A new maximum changes the unit of everything before, and your sum follows. What of the other "
            "accumulator?",
            _old_output_not_rescaled,
        ),
        Mistake("NaN", "What is -inf minus -inf? Ask it of a first chunk in which nothing is seen.", _nan),
        Mistake(
            "lse without the maximum",
            "Your logarithm is relative to what? Each exponential had the maximum taken off.",
            _lse_without_the_maximum,
        ),
        Mistake(
            "nothing rescaled",
            "A new maximum changes the unit of everything before: in which unit are your two accumulators?",
            _nothing_rescaled,
        ),
        Mistake(
            "correction inverted",
            "What is your correction for the first chunk? exp(old - new) is exp(-inf), nothing to keep; "
            "the other way round it is infinite, and 0 times that is NaN.",
            _correction_inverted,
        ),
        Mistake(
            "this chunk's maximum only",
            "Is your exp(old - new) ever above 1, and how large can it get? Remember the highest score so "
            "far, not this chunk's.",
            _this_chunks_maximum_only,
            pins=(_falling(),),
        ),
        Mistake("no maximum", "What is exp(800)?", _no_maximum),
        Mistake(
            "maximum starts at 0",
            "What if every score lies below your first maximum?",
            _maximum_starts_at_0,
            pins=(_far_below_zero(),),
        ),
        Mistake("chunks kept", "A chunk is gone once you take the next: keep sums, not chunks.", _kept),
    ),
    hints=(
        "When a chunk brings a larger score than all before, what is wrong with what you had added up?",
        "Three running things: the highest score, the sum of exponentials, the weighted sum of values. The "
        "last two are both measured from the first.",
        "`out = out * math.exp(before - highest) + (scores - highest).exp() @ values`",
    ),
    shown=_shown(),
    handed=_handed,
    outputs="a pair (out, lse): a tensor [D] and a number",
)
