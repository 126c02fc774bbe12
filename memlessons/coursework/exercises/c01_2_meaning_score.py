"""01.2 The instrument: on which side of a meaning's axis a word stands, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def score_meaning(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """The cosine of (state - midpoint) with the axis from `minus` to `plus`, per layer: [n, layers].

    `states` is [n, layers, D]; `plus` and `minus` are examples of two meanings, [m, layers, D], each with
    an m of its own. In each layer the axis leads from the mean of `minus` to the mean of `plus`, and the
    midpoint lies half-way between the two means.
    """
    up, down = plus.mean(dim=0), minus.mean(dim=0)
    axis, centred = up - down, states - (up + down) / 2
    return (centred * axis).sum(dim=-1) / (centred.norm(dim=-1) * axis.norm(dim=-1))


def no_midpoint(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """The state itself against the axis."""
    axis = plus.mean(dim=0) - minus.mean(dim=0)
    return (states * axis).sum(dim=-1) / (states.norm(dim=-1) * axis.norm(dim=-1))


def last_axis_everywhere(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """One axis for all layers."""
    up, down = plus.mean(dim=0), minus.mean(dim=0)
    axis, centred = (up - down)[-1], states - (up + down) / 2
    return (centred * axis).sum(dim=-1) / (centred.norm(dim=-1) * axis.norm())


def dot_product(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """No length divided out."""
    up, down = plus.mean(dim=0), minus.mean(dim=0)
    return ((states - (up + down) / 2) * (up - down)).sum(dim=-1)


def divided_by_the_axis_only(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """The projection onto the axis, the state's own length left in."""
    up, down = plus.mean(dim=0), minus.mean(dim=0)
    axis = up - down
    return ((states - (up + down) / 2) * axis).sum(dim=-1) / axis.norm(dim=-1)


def sign_flipped(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """The axis from `plus` to `minus`."""
    return score_meaning(states, minus, plus)


def midpoint_not_halved(states: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """The sum of the two means for their middle."""
    up, down = plus.mean(dim=0), minus.mean(dim=0)
    axis, centred = up - down, states - (up + down)
    return (centred * axis).sum(dim=-1) / (centred.norm(dim=-1) * axis.norm(dim=-1))


def draw() -> SearchStrategy[Inputs]:
    """Clouds with a common offset, as the states of a model have."""
    from hypothesis import strategies as st

    def build(words: int, more: int, less: int, layers: int, width: int, seed: int) -> Inputs:
        random = torch.Generator().manual_seed(seed)
        offset = 2 * torch.randn(layers, width, generator=random, dtype=torch.float64)
        states, plus, minus = (
            offset + torch.randn(count, layers, width, generator=random, dtype=torch.float64)
            for count in (words, more, less)
        )
        return {"states": states, "plus": plus, "minus": minus}

    return st.builds(
        build,
        st.integers(1, 3),
        st.integers(1, 4),
        st.integers(1, 4),
        st.integers(1, 4),
        st.integers(2, 6),
        st.integers(0, 2**31),
    )


EXERCISE = Exercise(
    id="01.2",
    title="The instrument",
    kind="build",
    reference=score_meaning,
    draw=draw,
    mistakes=(
        Mistake("no midpoint", "All words share one big direction. What is left without it?", no_midpoint),
        Mistake(
            "last layer's axis everywhere",
            "Layer 3 speaks another language than the last one. Whose axis do you hold it against?",
            last_axis_everywhere,
        ),
        Mistake(
            "dot product", "Lengths grow from layer to layer. What does your score grow with?", dot_product
        ),
        Mistake("divided by the axis only", "Whose length is still left in?", divided_by_the_axis_only),
        Mistake("sign flipped", "On which side should a state of `plus` itself score?", sign_flipped),
        Mistake(
            "midpoint not halved",
            "Is the sum of two means half-way between them?",
            midpoint_not_halved,
        ),
    ),
    hints=(
        "Seen from half-way between the two classes, in which direction does the word lie?",
        "Per layer: midpoint and axis from the class means (dimension 0), then a cosine (the last one).",
        "`up, down = plus.mean(dim=0), minus.mean(dim=0)`",
    ),
    shown=(
        {
            "states": torch.tensor([[[5.0, 4.0]], [[2.0, 7.0]]]),
            "plus": torch.tensor([[[3.0, 1.0]]]),
            "minus": torch.tensor([[[1.0, 1.0]]]),
        },
    ),
    outputs="a tensor [n, layers]",
)
