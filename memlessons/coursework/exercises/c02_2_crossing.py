"""02.2: the context at which the cache outweighs the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Layers = list[tuple[int, int | None]]


def crossing(weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int) -> int | None:
    """The first context, in tokens, at which the batch's cache has at least as many bytes as the weights.

    `layers` holds one pair (bytes_per_token, window) for each layer: a layer stores bytes_per_token bytes
    for each token that it remembers, and remembers the last `window` tokens (None: all of them).
    `constant` is what each sequence holds besides, in bytes, whatever its length. All `batch` sequences
    have the same length. The answer is from 1 to `longest`, the longest context that the model can read;
    None if the cache stays smaller than the weights up to there.
    """

    def held(context: int) -> int:
        remembered = (size * (context if window is None else min(context, window)) for size, window in layers)
        return batch * (constant + sum(remembered))

    # held never falls as the context grows, so halving the range would find it as well.
    return next((context for context in range(1, longest + 1) if held(context) >= weight_bytes), None)


def _slope_at_one_token(
    weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int
) -> int | None:
    slope = batch * sum(size for size, _ in layers)
    context = max(1, -(-(weight_bytes - batch * constant) // slope))
    return context if context <= longest else None


def _global_layers_only(
    weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int
) -> int | None:
    slope = sum(size for size, window in layers if window is None)
    reached = (c for c in range(1, longest + 1) if batch * (constant + slope * c) >= weight_bytes)
    return next(reached, None)


def _no_batch(weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int) -> int | None:
    def held(context: int) -> int:
        remembered = (size * (context if window is None else min(context, window)) for size, window in layers)
        return constant + sum(remembered)

    return next((context for context in range(1, longest + 1) if held(context) >= weight_bytes), None)


def _beyond_the_longest(
    weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int
) -> int | None:
    def held(context: int) -> int:
        remembered = (size * (context if window is None else min(context, window)) for size, window in layers)
        return batch * (constant + sum(remembered))

    full = max((window for _, window in layers if window is not None), default=1)
    for context in range(1, full + 1):
        if held(context) >= weight_bytes:
            return context
    slope = held(full + 1) - held(full)
    return full - (held(full) - weight_bytes) // slope if slope else None


def _more_than_not_at_least(
    weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int
) -> int | None:
    def held(context: int) -> int:
        remembered = (size * (context if window is None else min(context, window)) for size, window in layers)
        return batch * (constant + sum(remembered))

    return next((context for context in range(1, longest + 1) if held(context) > weight_bytes), None)


def _constant_once(weight_bytes: int, layers: Layers, constant: int, batch: int, longest: int) -> int | None:
    def held(context: int) -> int:
        remembered = (size * (context if window is None else min(context, window)) for size, window in layers)
        return constant + batch * sum(remembered)

    return next((context for context in range(1, longest + 1) if held(context) >= weight_bytes), None)


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        sizes = st.integers(1, 40)
        layers: Layers = [(pick(sizes), pick(st.integers(1, 60))) for _ in range(pick(st.integers(0, 4)))]
        layers += [(pick(sizes), None) for _ in range(pick(st.integers(0 if layers else 1, 3)))]
        longest, batch = pick(st.integers(60, 400)), pick(st.sampled_from([1, 2, 3, 10]))
        constant = pick(st.sampled_from([0, 0, 7, 500]))
        near = pick(st.integers(2, longest + 20))
        held = batch * (constant + sum(size * min(near, window or near) for size, window in layers))
        return {
            "weight_bytes": max(1, held + pick(st.integers(-5, 5))),
            "layers": layers,
            "constant": constant,
            "batch": batch,
            "longest": longest,
        }

    return inputs()


EXERCISE = Exercise(
    id="02.2",
    title="The crossing",
    kind="decide",
    reference=crossing,
    draw=_draw,
    mistakes=(
        Mistake(
            "slope at one token",
            "Does every layer grow for ever? A window fills up and stops: do your lines ask how long it is?",
            _slope_at_one_token,
        ),
        Mistake(
            "global layers only",
            "What does a full window hold? It has stopped growing, but it still weighs.",
            _global_layers_only,
        ),
        Mistake("no batch", "How many readers are there? Each has a cache of its own.", _no_batch),
        Mistake(
            "beyond the longest",
            "Can the model read that far?",
            _beyond_the_longest,
            pins=(
                {"weight_bytes": 1000, "layers": [(5, None)], "constant": 0, "batch": 2, "longest": 99},
                {
                    "weight_bytes": 900,
                    "layers": [(4, 8), (2, None)],
                    "constant": 3,
                    "batch": 1,
                    "longest": 50,
                },
            ),
        ),
        Mistake(
            "more than, not at least",
            "May they be equal?",
            _more_than_not_at_least,
            pins=(
                {"weight_bytes": 40, "layers": [(2, None)], "constant": 0, "batch": 2, "longest": 50},
                {"weight_bytes": 40, "layers": [(2, None)], "constant": 0, "batch": 2, "longest": 10},
            ),
        ),
        Mistake(
            "constant once",
            "Whose constant is it?",
            _constant_once,
            pins=({"weight_bytes": 100, "layers": [(5, None)], "constant": 10, "batch": 4, "longest": 50},),
        ),
    ),
    hints=(
        "What does one sequence hold after t tokens: which of its layers still grow, which are full?",
        "Bytes held by the whole batch at context t. They never fall as t grows, so look for the first t.",
        "`held = batch * (constant + sum(b * (t if w is None else min(t, w)) for b, w in layers))`",
    ),
    shown=({"weight_bytes": 100, "layers": [(3, 4), (2, None)], "constant": 6, "batch": 2, "longest": 50},),
    outputs="an int, tokens, or None",
)
