"""02.3: the bound of one decode step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def decode_seconds(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    """The least seconds that one decode step of `batch` sequences can take.

    A step makes one token for each sequence. `stored` is bytes of weights that the device holds, `read`
    bytes of weights that the step touches (each once, for the whole batch), `kv` bytes of cache that the
    step reads for one sequence; `bandwidth` is bytes per second. `flop_per_token` is FLOP for one token of
    one sequence, `flop_rate` FLOP per second. Fetching and computing overlap perfectly.
    """
    fetching = (read + batch * kv) / bandwidth
    computing = batch * flop_per_token / flop_rate
    return max(fetching, computing)


def _stored_for_read(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    fetching = (stored + batch * kv) / bandwidth
    computing = batch * flop_per_token / flop_rate
    return max(fetching, computing)


def _weights_times_batch(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    fetching = batch * (read + kv) / bandwidth
    computing = batch * flop_per_token / flop_rate
    return max(fetching, computing)


def _kv_once(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    fetching = (read + kv) / bandwidth
    computing = batch * flop_per_token / flop_rate
    return max(fetching, computing)


def _sum_for_max(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    fetching = (read + batch * kv) / bandwidth
    computing = batch * flop_per_token / flop_rate
    return fetching + computing


def _min(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    fetching = (read + batch * kv) / bandwidth
    computing = batch * flop_per_token / flop_rate
    return min(fetching, computing)


def _batch_forgotten_in_the_arithmetic(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    fetching = (read + batch * kv) / bandwidth
    computing = flop_per_token / flop_rate
    return max(fetching, computing)


def _arithmetic_ignored(
    stored: float,
    read: float,
    kv: float,
    batch: int,
    bandwidth: float,
    flop_per_token: float,
    flop_rate: float,
) -> float:
    return (read + batch * kv) / bandwidth


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        read = pick(st.integers(1, 40)) * 10**9
        kv = read * pick(st.sampled_from([1, 10, 40, 100, 300])) // 100
        batch, bandwidth = pick(st.sampled_from([1, 2, 4, 16, 64])), pick(st.integers(1, 80)) * 10**11
        flop_per_token = pick(st.integers(1, 200)) * 10**9
        # Computing takes `share` of the time of fetching: far from 1, so that rounding decides nothing.
        share = pick(st.sampled_from([0.05, 0.2, 0.6, 1.5, 4.0]))
        flop_rate = batch * flop_per_token * bandwidth / (read + batch * kv) / share
        return {
            "stored": read * pick(st.sampled_from([1, 3, 10])),
            "read": read,
            "kv": kv,
            "batch": batch,
            "bandwidth": bandwidth,
            "flop_per_token": flop_per_token,
            "flop_rate": float(f"{flop_rate:.3g}"),
        }

    return inputs()


EXERCISE = Exercise(
    id="02.3",
    title="Seconds of a step",
    kind="build",
    reference=decode_seconds,
    draw=_draw,
    mistakes=(
        Mistake(
            "stored for read",
            "Does a step touch all that is stored? Sleeping experts are not fetched.",
            _stored_for_read,
        ),
        Mistake(
            "weights times batch",
            "How often are the weights fetched in one step? One pass serves the whole batch.",
            _weights_times_batch,
        ),
        Mistake(
            "KV once", "Whose cache is it? It is nobody else's, so each sequence brings its own.", _kv_once
        ),
        Mistake(
            "sum for max",
            "Which of two jobs that run at the same time ends last? It is the rule of 00.2.",
            _sum_for_max,
        ),
        Mistake(
            "arithmetic ignored",
            "What if the batch is large? Raise it until the arithmetic shows.",
            _arithmetic_ignored,
        ),
        Mistake("min", "Can the step end before the slower of the two has?", _min),
        Mistake(
            "batch forgotten in the arithmetic",
            "How many tokens does a step make?",
            _batch_forgotten_in_the_arithmetic,
            pins=(
                {
                    "stored": 8_000,
                    "read": 2_000,
                    "kv": 500,
                    "batch": 2,
                    "bandwidth": 1_000,
                    "flop_per_token": 1_200,
                    "flop_rate": 200,
                },
            ),
        ),
    ),
    hints=(
        "Two things happen at the same time in a step. Which two, and when is the step over?",
        "Bytes per step: what is fetched once for all, and what once for each sequence? FLOP per step: for "
        "how many tokens?",
        "`fetching = (read + batch * kv) / bandwidth`",
    ),
    shown=(
        {
            "stored": 8_000,
            "read": 2_000,
            "kv": 500,
            "batch": 4,
            "bandwidth": 1_000,
            "flop_per_token": 600,
            "flop_rate": 800,
        },
    ),
    outputs="a float, seconds",
)
