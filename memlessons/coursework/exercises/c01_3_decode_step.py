"""01.3 A decode step: one token appends to the cache and attends to what is used of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def decode_step(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """One head's attention for one new token: returns its output [D] and the cache's new length.

    `x` is [D]; `wq`, `wk`, `wv` are [D, D] and applied as w @ x. The caches are [capacity, D]: the first
    `length` rows are used, all others hold NaN. The token's key and value are written in place, into the
    first unused row; scores are multiplied by D ** -0.5.
    """
    k_cache[length], v_cache[length] = wk @ x, wv @ x
    used = length + 1
    scores = k_cache[:used] @ (wq @ x) * len(x) ** -0.5
    return scores.softmax(dim=0) @ v_cache[:used], used


def attends_before_it_appends(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """The token does not see itself."""
    scores = k_cache[:length] @ (wq @ x) * len(x) ** -0.5
    out = scores.softmax(dim=0) @ v_cache[:length]
    k_cache[length], v_cache[length] = wk @ x, wv @ x
    return out, length + 1


def overwrites_the_last_slot(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """The newest token replaces the one before it."""
    k_cache[length - 1], v_cache[length - 1] = wk @ x, wv @ x
    scores = k_cache[:length] @ (wq @ x) * len(x) ** -0.5
    return scores.softmax(dim=0) @ v_cache[:length], length + 1


def reads_unused_slots(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """All rows, whatever they hold."""
    k_cache[length], v_cache[length] = wk @ x, wv @ x
    scores = k_cache @ (wq @ x) * len(x) ** -0.5
    return scores.softmax(dim=0) @ v_cache, length + 1


def returns_new_tensors(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """Right, and the cache of everybody else is as it was."""
    keys = torch.cat((k_cache[:length], (wk @ x)[None]))
    values = torch.cat((v_cache[:length], (wv @ x)[None]))
    scores = keys @ (wq @ x) * len(x) ** -0.5
    return scores.softmax(dim=0) @ values, length + 1


def scale_forgotten(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """Scores as they come."""
    k_cache[length], v_cache[length] = wk @ x, wv @ x
    weights = (k_cache[: length + 1] @ (wq @ x)).softmax(dim=0)
    return weights @ v_cache[: length + 1], length + 1


def old_length_returned(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """The number of rows that were used before."""
    out, _ = decode_step(x, wq, wk, wv, k_cache, v_cache, length)
    return out, length


def x_times_w(
    x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, k_cache: Tensor, v_cache: Tensor, length: int
) -> tuple[Tensor, int]:
    """Columns for rows."""
    return decode_step(x, wq.T, wk.T, wv.T, k_cache, v_cache, length)


def draw() -> SearchStrategy[Inputs]:
    """Caches from empty to one short of full, NaN where nothing was written."""
    from hypothesis import strategies as st

    def build(width: int, length: int, spare: int, seed: int) -> Inputs:
        random = torch.Generator().manual_seed(seed)
        x = torch.randn(width, generator=random, dtype=torch.float64)
        wq, wk, wv = (torch.randn(width, width, generator=random, dtype=torch.float64) for _ in range(3))
        caches = torch.randn(2, length + 1 + spare, width, generator=random, dtype=torch.float64)
        caches[:, length:] = math.nan
        k_cache, v_cache = caches
        return {
            "x": x, "wq": wq, "wk": wk, "wv": wv,
            "k_cache": k_cache.clone(), "v_cache": v_cache.clone(), "length": length,
        }  # fmt: skip

    return st.builds(
        build, st.sampled_from([1, 2, 3, 4]), st.integers(0, 6), st.integers(0, 3), st.integers(0, 2**31)
    )


_NAN = math.nan

EXERCISE = Exercise(
    id="01.3",
    title="A decode step",
    kind="build",
    reference=decode_step,
    draw=draw,
    mistakes=(
        Mistake("attends before it appends", "May a token see itself?", attends_before_it_appends),
        Mistake("overwrites the last slot", "Is `length` an index or a count?", overwrites_the_last_slot),
        Mistake("reads unused slots", "Where did the NaN come from?", reads_unused_slots),
        Mistake(
            "returns new tensors",
            "Who else holds this cache, and what do they see in it?",
            returns_new_tensors,
        ),
        Mistake("scale forgotten", "What are the scores multiplied by?", scale_forgotten),
        Mistake("old length returned", "How many rows are used after this step?", old_length_returned),
        Mistake("x @ w", "`x @ w` or `w @ x`: which is asked for, and when are they equal?", x_times_w),
    ),
    hints=(
        "If three rows are used, into which row does the new key go, and how many rows are then read?",
        "In this order: write row `length` of both caches, then attend to the first `length + 1` rows only.",
        "`k_cache[length] = wk @ x`",
    ),
    shown=(
        {
            "x": torch.tensor([2.0, 0.0]),
            "wq": torch.eye(2),
            "wk": torch.tensor([[0.0, 1.0], [3.0, 0.0]]),
            "wv": torch.tensor([[1.0, 0.0], [2.0, 0.0]]),
            "k_cache": torch.tensor([[0.0, 5.0], [_NAN, _NAN], [_NAN, _NAN]]),
            "v_cache": torch.tensor([[4.0, 0.0], [_NAN, _NAN], [_NAN, _NAN]]),
            "length": 1,
        },
    ),
    outputs="a pair: a tensor [D] and the new length, an int",
    in_place=("k_cache", "v_cache"),
    forbidden=("memlessons.model.attention.attend", "memlessons.model.attention.attend_all"),
)
