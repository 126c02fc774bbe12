"""01.1 Attend: causal attention of the last positions over all that they may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def attend_causally(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Causal attention, heads first: q is [H, T, D], k and v are [H, S, D]; returns [H, T, D].

    The queries are the *last* T of the S positions. Scores are multiplied by `scale`.
    """
    queries, keys = q.shape[1], k.shape[1]
    scores = q @ k.transpose(1, 2) * scale
    visible = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1) @ v


def mask_from_the_top_left(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Query 0 stands at position 0."""
    scores = q @ k.transpose(1, 2) * scale
    visible = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril()
    return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1) @ v


def no_scale(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Scores as they come."""
    queries, keys = q.shape[1], k.shape[1]
    visible = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return (q @ k.transpose(1, 2)).masked_fill(~visible, -torch.inf).softmax(dim=-1) @ v


def masked_after_softmax(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Shares handed out to all, then some taken away."""
    queries, keys = q.shape[1], k.shape[1]
    weights = (q @ k.transpose(1, 2) * scale).softmax(dim=-1)
    return weights.tril(keys - queries) @ v


def softmax_over_queries(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Each key shares itself out."""
    queries, keys = q.shape[1], k.shape[1]
    scores = q @ k.transpose(1, 2) * scale
    visible = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return scores.masked_fill(~visible, -torch.inf).softmax(dim=-2) @ v


def no_mask(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Everybody sees everything."""
    return (q @ k.transpose(1, 2) * scale).softmax(dim=-1) @ v


def blind_to_itself(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Only what came before."""
    queries, keys = q.shape[1], k.shape[1]
    visible = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries - 1)
    scores = q @ k.transpose(1, 2) * scale
    return scores.masked_fill(~visible, -torch.inf).softmax(dim=-1) @ v


def scale_ignored(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """The usual scale instead of the one given."""
    return attend_causally(q, k, v, q.shape[-1] ** -0.5)


def draw() -> SearchStrategy[Inputs]:
    """A few heads, one to four queries, mostly with a past before them."""
    from hypothesis import strategies as st

    def build(heads: int, queries: int, past: int, width: int, factor: float, seed: int) -> Inputs:
        random = torch.Generator().manual_seed(seed)
        q, k, v = (
            torch.randn(heads, count, width, generator=random, dtype=torch.float64)
            for count in (queries, past + queries, past + queries)
        )
        return {"q": q, "k": k, "v": v, "scale": factor * width**-0.5}

    return st.builds(
        build,
        st.integers(1, 3),
        st.integers(1, 4),
        st.integers(0, 5),
        st.sampled_from([1, 2, 3, 4, 8]),
        st.sampled_from([0.3, 0.5, 2.0]),
        st.integers(0, 2**31),
    )


EXERCISE = Exercise(
    id="01.1",
    title="Attend",
    kind="build",
    reference=attend_causally,
    draw=draw,
    mistakes=(
        Mistake(
            "mask from the top left",
            "With 9 keys and 2 queries, which position is query 0?",
            mask_from_the_top_left,
        ),
        Mistake("no scale", "What happens to a softmax as its scores grow with the width?", no_scale),
        Mistake(
            "masked after softmax",
            "After masking, do the rows of weights still sum to 1?",
            masked_after_softmax,
        ),
        Mistake(
            "softmax over queries",
            "Who shares the 1.0: the keys of a query, or the queries?",
            softmax_over_queries,
        ),
        Mistake("blind to itself", "May a token see itself?", blind_to_itself),
        Mistake("scale ignored", "The usual `D ** -0.5` is one choice. Which scale came in?", scale_ignored),
        Mistake("no mask", "Can a token read the answer that comes after it?", no_mask),
    ),
    hints=(
        "The last query sees all keys. How many does the one before it see?",
        "Scores `[H, T, S]`: query t sees keys 0 to S - T + t; hidden ones get -inf before the softmax.",
        "`visible = torch.ones(T, S, dtype=torch.bool).tril(S - T)`",
    ),
    shown=(
        {
            "q": torch.zeros(1, 2, 4),
            "k": torch.zeros(1, 4, 4),
            "v": torch.arange(4.0).view(1, 4, 1).repeat(1, 1, 4),
            "scale": 0.5,
        },
    ),
    outputs="a tensor [H, T, D]",
    forbidden=("memlessons.model.attention.attend", "memlessons.model.attention.attend_all"),
)
