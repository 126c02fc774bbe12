"""00.1 Room left: what a card sold in GB has left after a reserve counted in GiB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def room_left(need_bytes: int, card_gb: int, reserve_gib: int) -> int:
    """Bytes left on a card of `card_gb` GB, with `reserve_gib` GiB kept by others and `need_bytes` in use.

    A GB is 10**9 bytes, a GiB is 2**30. Never below 0.
    """
    return max(0, card_gb * 10**9 - reserve_gib * 2**30 - need_bytes)


def card_as_gib(need_bytes: int, card_gb: int, reserve_gib: int) -> int:
    """Both in powers of two."""
    return max(0, (card_gb - reserve_gib) * 2**30 - need_bytes)


def reserve_as_gb(need_bytes: int, card_gb: int, reserve_gib: int) -> int:
    """Both in powers of ten."""
    return max(0, (card_gb - reserve_gib) * 10**9 - need_bytes)


def negative_room(need_bytes: int, card_gb: int, reserve_gib: int) -> int:
    """What is missing counted as room."""
    return card_gb * 10**9 - reserve_gib * 2**30 - need_bytes


def draw() -> SearchStrategy[Inputs]:
    """Cards as they are sold; up to half as much again as fits."""
    from hypothesis import strategies as st

    def build(card_gb: int, reserve_gib: int, percent: int, odd: int) -> Inputs:
        room = card_gb * 10**9 - reserve_gib * 2**30
        return {
            "need_bytes": room * percent // 100 + odd,
            "card_gb": card_gb,
            "reserve_gib": reserve_gib,
        }

    cards = st.sampled_from([8, 12, 16, 24, 32, 40, 48, 80, 94, 141, 192])
    return st.builds(build, cards, st.integers(0, 4), st.integers(0, 150), st.integers(0, 99))


EXERCISE = Exercise(
    id="00.1",
    title="Room left",
    kind="decide",
    reference=room_left,
    draw=draw,
    mistakes=(
        Mistake("card as GiB", "Which unit is on the box of the card?", card_as_gib),
        Mistake("reserve as GB", "Which unit does the driver print?", reserve_as_gb),
        Mistake("negative room", "What could you allocate in less than nothing?", negative_room),
    ),
    hints=(
        "Two units are in the question, and they are seven percent apart. Which is which?",
        "Bring everything to bytes first: one number is a multiple of `10**9`, another of `2**30`.",
        "`card_gb * 10**9` bytes are on the card; write the reserve in bytes as well, and what is left.",
    ),
    shown=(
        {"need_bytes": 20_000_000_000, "card_gb": 24, "reserve_gib": 1},
        {"need_bytes": 24_000_000_000, "card_gb": 24, "reserve_gib": 1},
    ),
    outputs="an int, bytes",
)
