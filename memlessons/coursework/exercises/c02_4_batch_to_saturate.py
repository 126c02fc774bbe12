"""02.4: the batch from which a decode step is limited by arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memlessons.coursework.exercise import Exercise, Inputs, Mistake

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def batch_to_saturate(
    params: int, bytes_per_param: int, kv_bytes: int, flop_rate: int, bandwidth: int
) -> int | None:
    """The smallest batch at which one decode step computes at least as long as it fetches; None if none does.

    Each of `params` parameters is fetched once per step (`bytes_per_param` bytes) and costs two FLOP, a
    multiplication and an addition, for each sequence of the batch. `kv_bytes` is bytes of cache that each
    sequence has fetched per step; attention's own FLOP are left out. `flop_rate` is FLOP per second,
    `bandwidth` bytes per second. All inputs are whole numbers, so that the answer can be exact.
    """
    # Computing: batch * 2 * params / flop_rate. Fetching: (params * bytes_per_param + batch * kv_bytes) /
    # bandwidth. Both times flop_rate * bandwidth, to stay among whole numbers:
    gained_per_sequence = 2 * params * bandwidth - kv_bytes * flop_rate
    if gained_per_sequence <= 0:
        return None
    return -(-params * bytes_per_param * flop_rate // gained_per_sequence)


def _cache_ignored(
    params: int, bytes_per_param: int, kv_bytes: int, flop_rate: int, bandwidth: int
) -> int | None:
    return -(-bytes_per_param * flop_rate // (2 * bandwidth))


def _one_flop_a_parameter(
    params: int, bytes_per_param: int, kv_bytes: int, flop_rate: int, bandwidth: int
) -> int | None:
    gained_per_sequence = params * bandwidth - kv_bytes * flop_rate
    if gained_per_sequence <= 0:
        return None
    return -(-params * bytes_per_param * flop_rate // gained_per_sequence)


def _negative_batch(
    params: int, bytes_per_param: int, kv_bytes: int, flop_rate: int, bandwidth: int
) -> int | None:
    gained_per_sequence = 2 * params * bandwidth - kv_bytes * flop_rate
    return -(-params * bytes_per_param * flop_rate // gained_per_sequence)


def _rounded_down(
    params: int, bytes_per_param: int, kv_bytes: int, flop_rate: int, bandwidth: int
) -> int | None:
    gained_per_sequence = 2 * params * bandwidth - kv_bytes * flop_rate
    if gained_per_sequence <= 0:
        return None
    return params * bytes_per_param * flop_rate // gained_per_sequence


def _one_more_than_enough(
    params: int, bytes_per_param: int, kv_bytes: int, flop_rate: int, bandwidth: int
) -> int | None:
    gained_per_sequence = 2 * params * bandwidth - kv_bytes * flop_rate
    if gained_per_sequence <= 0:
        return None
    return params * bytes_per_param * flop_rate // gained_per_sequence + 1


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    def far_from_whole(over: int, under: int) -> bool:
        """Whether over / under is a thousandth or more from any whole number, and nowhere near a pole."""
        return under != 0 and 0.001 < over / under % 1 < 0.999 and abs(over / under) < 1e6

    def rounding_decides_nothing(given: Inputs) -> bool:
        params, flop_rate, bandwidth = given["params"], given["flop_rate"], given["bandwidth"]
        fetched = params * given["bytes_per_param"] * flop_rate
        gains = (flop * params * bandwidth - given["kv_bytes"] * flop_rate for flop in (1, 2))
        return all(far_from_whole(fetched, gain) for gain in (*gains, 2 * params * bandwidth))

    @st.composite
    def inputs(pick: st.DrawFn) -> Inputs:
        params = pick(st.integers(1, 700)) * 10**8
        flop_rate = pick(st.integers(101, 9973)) * 10**11
        bandwidth = pick(st.integers(11, 97)) * 10**11
        most = 2 * params * bandwidth // flop_rate  # with so large a cache a sequence earns nothing
        return {
            "params": params,
            "bytes_per_param": pick(st.sampled_from([1, 2, 4])),
            "kv_bytes": most * pick(st.sampled_from([0, 10, 30, 60, 80, 130, 150, 200, 400])) // 100,
            "flop_rate": flop_rate,
            "bandwidth": bandwidth,
        }

    return inputs().filter(rounding_decides_nothing)


EXERCISE = Exercise(
    id="02.4",
    title="The batch that saturates",
    kind="decide",
    reference=batch_to_saturate,
    draw=_draw,
    mistakes=(
        Mistake(
            "cache ignored",
            "What does a further reader bring? Bytes of its own as well as work.",
            _cache_ignored,
        ),
        Mistake(
            "one FLOP a parameter",
            "What is done with a parameter? It is multiplied, and the product is added.",
            _one_flop_a_parameter,
        ),
        Mistake(
            "negative batch",
            "What is the sign telling you? Put a large batch into both times and compare.",
            _negative_batch,
        ),
        Mistake(
            "rounded down",
            "Is a step of that size compute bound? Check the batch you returned.",
            _rounded_down,
        ),
        Mistake(
            "one more than enough",
            "May they take equally long?",
            _one_more_than_enough,
            # Equal times at a batch of 4, and of 5: in both, every step is exact in floats, too.
            pins=(
                {"params": 10, "bytes_per_param": 2, "kv_bytes": 0, "flop_rate": 20, "bandwidth": 5},
                {"params": 10, "bytes_per_param": 2, "kv_bytes": 4, "flop_rate": 20, "bandwidth": 8},
            ),
        ),
    ),
    hints=(
        "Both times grow with the batch. Which of them starts higher, and which must grow faster?",
        "For one further sequence: the seconds of arithmetic that it adds, minus the seconds of fetching "
        "that it adds. What if that is nothing, or less?",
        "`gained = 2 * params / flop_rate - kv_bytes / bandwidth`, in seconds for each sequence",
    ),
    shown=({"params": 10, "bytes_per_param": 2, "kv_bytes": 2, "flop_rate": 20, "bandwidth": 5},),
    outputs="an int, sequences, or None",
)
