"""01.4 Work: how many positions go through the model, with a cache and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def tokens_processed(prompt: int, new: int, cached: bool) -> int:
    """Positions that go through the model to produce `new` tokens after a prompt of `prompt` tokens.

    Both are at least 1. With a cache each position goes through once; without one, each new token costs a
    pass over all that stands before it. The last token made is read by nobody.
    """
    if cached:
        return prompt + new - 1
    return sum(prompt + made for made in range(new))


def feeds_the_last_token(prompt: int, new: int, cached: bool) -> int:
    """One step more: the last token goes in as well."""
    if cached:
        return prompt + new
    return sum(prompt + made for made in range(new + 1))


def no_growth(prompt: int, new: int, cached: bool) -> int:
    """Each step is as long as the prompt."""
    return prompt + new - 1 if cached else prompt * new


def final_length_at_every_step(prompt: int, new: int, cached: bool) -> int:
    """Each step is as long as the last one."""
    return prompt + new - 1 if cached else (prompt + new - 1) * new


def prompt_forgotten(prompt: int, new: int, cached: bool) -> int:
    """As if the cache came filled."""
    return new if cached else sum(prompt + made for made in range(new))


def draw() -> SearchStrategy[Inputs]:
    """Prompts and answers from one token on."""
    from hypothesis import strategies as st

    return st.fixed_dictionaries(
        {"prompt": st.integers(1, 200), "new": st.integers(1, 60), "cached": st.booleans()}
    )


EXERCISE = Exercise(
    id="01.4",
    title="Work",
    kind="decide",
    reference=tokens_processed,
    draw=draw,
    mistakes=(
        Mistake("feeds the last token", "Who needs what comes after the last token?", feeds_the_last_token),
        Mistake(
            "no growth", "Without a cache, how long is the second step, and how long the first?", no_growth
        ),
        Mistake(
            "final length at every step",
            "The last step is that long. And the first ones?",
            final_length_at_every_step,
        ),
        Mistake("prompt forgotten", "The cache must be filled once. With what?", prompt_forgotten),
    ),
    hints=(
        "The first new token comes out of the pass over the prompt. How many passes are left?",
        "With a cache each position counts once, without it once for every step from its own on.",
        "`sum(prompt + made for made in range(new))` without a cache",
    ),
    shown=(
        {"prompt": 10, "new": 3, "cached": True},
        {"prompt": 10, "new": 3, "cached": False},
        {"prompt": 10, "new": 1, "cached": False},
    ),
    outputs="an int, positions",
)
