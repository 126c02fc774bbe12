"""01.5 Rotate: a vector remembers where it stood by being turned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def rotate_pairs(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """RoPE on the pairs (i, i + D/2): x is [T, D], D even, positions is [T]; returns [T, D].

    Pair i of row t turns by the angle positions[t] * base ** (-2 * i / D), from the first towards the
    second of the pair.
    """
    half = x.shape[-1] // 2
    frequency = base ** (-2 * torch.arange(half, dtype=torch.float64) / x.shape[-1])
    angle = positions[:, None] * frequency
    first, second = x[:, :half], x[:, half:]
    turned = (first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos())
    return torch.cat(turned, dim=-1).to(x.dtype)


def positions_from_zero(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rows counted from 0, wherever the chunk starts."""
    return rotate_pairs(x, torch.arange(len(x)), base)


def neighbouring_pairs(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The pairs (2i, 2i + 1), as GGUF files store them."""
    half = x.shape[-1] // 2
    frequency = base ** (-2 * torch.arange(half, dtype=torch.float64) / x.shape[-1])
    angle = positions[:, None] * frequency
    first, second = x[:, 0::2], x[:, 1::2]
    turned = (first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos())
    return torch.stack(turned, dim=-1).flatten(1).to(x.dtype)


def wrong_frequency(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponent i / D."""
    return rotate_pairs(x, positions, base**0.5)


def sign(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Turned the other way round."""
    return rotate_pairs(x, -positions, base)


def exponent_sign(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """The exponent 2 i / D: each pair faster than the one before."""
    return rotate_pairs(x, positions, 1 / base)


def draw() -> SearchStrategy[Inputs]:
    """Chunks that begin somewhere in the text, now and then with a gap."""
    from hypothesis import strategies as st

    def build(rows: int, width: int, start: int, step: int, base: float, seed: int) -> Inputs:
        random = torch.Generator().manual_seed(seed)
        x = torch.randn(rows, width, generator=random, dtype=torch.float64)
        return {"x": x, "positions": start + step * torch.arange(rows), "base": base}

    return st.builds(
        build,
        st.integers(1, 5),
        st.sampled_from([2, 4, 6, 8]),
        st.integers(0, 60),
        st.sampled_from([1, 1, 1, 3]),
        st.sampled_from([100.0, 10_000.0, 500_000.0]),
        st.integers(0, 2**31),
    )


EXERCISE = Exercise(
    id="01.5",
    title="Rotate",
    kind="build",
    reference=rotate_pairs,
    draw=draw,
    mistakes=(
        Mistake("positions from zero", "Where in the text does this chunk start?", positions_from_zero),
        Mistake(
            "neighbouring pairs",
            "Read the layout again: which two numbers belong together here? (GGUF files store other pairs.)",
            neighbouring_pairs,
        ),
        Mistake("wrong frequency", "For pair i, is the exponent i/D or 2i/D?", wrong_frequency),
        Mistake(
            "exponent's sign",
            "The first pair turns once in about six tokens. Should the last one be faster or slower?",
            exponent_sign,
        ),
        Mistake(
            "sign",
            "Distances come out right and vectors wrong: turn one pair by hand. Which way does it go?",
            sign,
        ),
    ),
    hints=(
        "A quarter turn takes (1, 0) to (0, 1). What does it take (0, 1) to?",
        "An angle for each row and each pair, `[T, D/2]`; its cosine and sine turn the first half of the row "
        "against the second.",
        "`torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)`, with `a, b = x.chunk(2, dim=-1)`",
    ),
    shown=(
        {
            "x": torch.tensor([[1.0, 0.0, 0.0, 0.0]]),
            "positions": torch.tensor([math.pi / 2]),
            "base": 10_000.0,
        },
    ),
    outputs="a tensor [T, D]",
    forbidden=("memlessons.model.rope.rotate", "memlessons.model.rope.Rope"),
    # Angles of a few dozen, computed in float32 as many do: off by a few millionths.
    tolerance=1e-4,
)
