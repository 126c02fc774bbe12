"""Made-up exercises for the engine's tests: small, and wrong in ways that are easy to follow."""

import torch
from hypothesis import strategies as st

from memlessons.coursework.exercise import Exercise, Mistake


def clipped_sum(values, most):
    """The sum of `values`, and no more than `most`."""
    return min(sum(values), most)


def no_limit(values, most):
    return sum(values)


def limit_per_value(values, most):
    return sum(min(value, most) for value in values)


def counted(values, most):
    return min(len(values), most)


def sums(**changes):
    """The exercise "Clipped sum", with some fields changed."""
    fields = {
        "id": "98.1",
        "title": "Clipped sum",
        "kind": "build",
        "reference": clipped_sum,
        "draw": lambda: st.fixed_dictionaries(
            {"values": st.lists(st.integers(0, 9), max_size=6), "most": st.integers(0, 20)}
        ),
        "mistakes": (
            Mistake("no limit", "How much is too much?", no_limit),
            Mistake("limit per value", "What is limited, a value or their sum?", limit_per_value),
            Mistake("counted", "Is `len` what you want?", counted),
        ),
        "hints": ("What is asked?", "Look at the sum.", "`min(sum(values), most)`"),
        "shown": ({"values": [1, 2, 3], "most": 5},),
        "outputs": "an int",
        "draws": 60,
    }
    return Exercise(**fields | changes)


def pinned(**changes):
    """ "Clipped sum" with a mistake that only a pinned input shows: a limit below zero."""

    def never_negative(values, most):
        return max(0, clipped_sum(values, most))

    below = Mistake(
        "never negative", "May a limit be negative?", never_negative, ({"values": [1], "most": -2},)
    )
    return sums(mistakes=(*sums().mistakes, below), **changes)


def doubled(x, store):
    """Writes 2 x into the first row of `store` and returns their sum."""
    store[0] = 2 * x
    return store[0].sum()


def _into_a_copy(x, store):
    store = store.clone()
    store[0] = 2 * x
    return store[0].sum()


def _into_the_last(x, store):
    store[-1] = 2 * x
    return store[-1].sum()


def _not_doubled(x, store):
    store[0] = x
    return store[0].sum()


def in_place(**changes):
    """An exercise whose answer has to change a tensor."""

    def build(width, rows, seed):
        random = torch.Generator().manual_seed(seed)
        x = torch.randn(width, generator=random, dtype=torch.float64)
        return {"x": x, "store": torch.full((rows, width), torch.nan, dtype=torch.float64)}

    fields = {
        "id": "98.2",
        "title": "Doubled",
        "kind": "build",
        "reference": doubled,
        "draw": lambda: st.builds(build, st.integers(1, 4), st.integers(2, 3), st.integers(0, 99)),
        "mistakes": (
            Mistake("into a copy", "Who holds `store`?", _into_a_copy),
            Mistake("into the last", "Which row?", _into_the_last),
            Mistake("not doubled", "Twice?", _not_doubled),
        ),
        "hints": ("Where to?", "The first row.", "`store[0] = 2 * x`"),
        "in_place": ("store",),
        "draws": 60,
    }
    return Exercise(**fields | changes)
