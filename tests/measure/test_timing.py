"""Timing: what is called, in which order, and how samples become numbers. No test depends on a speed."""

import gc
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.measure import timing
from memlessons.measure.timing import BadTiming, Timing, interleaved, timed


class FakeClock:
    """A clock that moves only when told, so that tests know every duration."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    fake = FakeClock()
    monkeypatch.setattr(timing, "perf_counter", fake)
    return fake


def taking(clock: FakeClock, *seconds: float):
    """A run whose calls last `seconds` in turn, the last one for ever after."""
    durations, calls = list(seconds), []

    def run() -> None:
        calls.append(clock.now)
        clock.now += durations.pop(0) if len(durations) > 1 else durations[0]

    run.calls = calls  # type: ignore[attr-defined]
    return run


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=40))
@settings(deadline=None)
def test_median_and_quartiles_enclose_the_middle_half(samples: list[float]) -> None:
    got = Timing.of(samples)
    assert got.seconds == pytest.approx(statistics.median(samples))
    assert got.fastest <= got.low <= got.seconds <= got.high <= got.slowest
    assert sum(got.low * (1 - 1e-9) <= s <= got.high * (1 + 1e-9) for s in samples) >= len(samples) / 2 - 1
    assert got.repetitions == len(samples) == len(got.samples)


@given(st.floats(1e-9, 1e3), st.integers(1, 30))
@settings(deadline=None)
def test_equal_samples_have_no_spread_at_all(sample: float, count: int) -> None:
    got = Timing.of([sample] * count)
    assert (got.low, got.seconds, got.high) == (sample, sample, sample)


def test_slow_first_calls_are_warm_up_and_do_not_count(clock: FakeClock) -> None:
    got = timed(taking(clock, 5.0, 0.3, 0.2, 0.01), repetitions=7, seconds=100.0)
    assert {round(s, 9) for s in got.samples} == {0.01}
    assert got.repetitions == 7


def test_warm_up_of_a_run_that_never_gets_steady_ends(clock: FakeClock) -> None:
    unsteady = taking(clock, *(1.5**i for i in range(100)), 1.0)
    timed(unsteady, repetitions=1, seconds=1e9)
    assert len(unsteady.calls) <= 1 + timing._WARM_UPS + 1


def test_warm_up_of_a_long_run_stops_when_its_time_is_up(clock: FakeClock) -> None:
    long = taking(clock, 60.0, 40.0, 30.0)
    timed(long, repetitions=1, seconds=0.5)
    assert len(long.calls) == 3


def test_repetitions_fill_the_asked_time_within_limits(clock: FakeClock) -> None:
    assert timed(taking(clock, 0.01), seconds=1.0).repetitions == pytest.approx(100, abs=1)
    assert timed(taking(clock, 0.5), seconds=1.0).repetitions == 5
    assert timed(taking(clock, 10.0), seconds=1.0).repetitions == 3
    assert timed(taking(clock, 1e-3), seconds=1e6).repetitions == 2000


def test_calls_shorter_than_the_clock_are_repeated_inside_and_divided(clock: FakeClock) -> None:
    tiny = taking(clock, 1e-6)
    got = timed(tiny, repetitions=3, seconds=1.0)
    assert got.seconds == pytest.approx(1e-6)
    assert len(tiny.calls) == 2 + 3 * 100


def test_an_interrupted_repetition_shows_as_spread_and_not_in_the_median(clock: FakeClock) -> None:
    got = timed(taking(clock, 0.01, 0.01, 0.01, 0.01, 9.0, 0.01), repetitions=9, seconds=1.0)
    assert got.seconds == pytest.approx(0.01)
    assert got.slowest == pytest.approx(9.0)
    assert "slowest 9.00 s" in str(got)
    third = timed(taking(clock, 0.01, 0.01, 0.01, *[0.02, 0.01, 0.01] * 3), repetitions=9, seconds=1.0)
    assert third.low < third.high


@pytest.mark.parametrize("call", [1, 4])
def test_errors_in_run_propagate_and_leave_the_collector_on(call: int) -> None:
    left = [call]

    def run() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyError("mine")

    assert gc.isenabled()
    with pytest.raises(KeyError, match="mine"):
        timed(run, repetitions=50)
    assert gc.isenabled()
    left[0] = call
    with pytest.raises(KeyError, match="mine"):
        interleaved({"a": run}, rounds=50)
    assert gc.isenabled()


def test_the_collector_stays_off_where_it_was_off_and_during_a_run() -> None:
    seen = []
    timed(lambda: seen.append(gc.isenabled()), repetitions=1)
    assert not any(seen)
    gc.disable()
    try:
        timed(lambda: None, repetitions=1)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_device_is_waited_for_before_and_after_every_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    monkeypatch.setattr(timing, "synchroniser", lambda device: lambda: log.append("wait"))
    monkeypatch.setattr(timing, "_calls_inside", lambda estimate, device: 2)
    timed(lambda: log.append("run"), device="cuda:0", repetitions=3, seconds=1.0)
    assert log[-12:] == ["wait", "run", "run", "wait"] * 3
    assert log[:3] == ["wait", "run", "wait"]


def test_interleaved_runs_each_once_a_round_in_changing_order(clock: FakeClock) -> None:
    log: list[str] = []

    def run(name: str, seconds: float):
        def one() -> None:
            log.append(name)
            clock.now += seconds

        return one

    names = "abcd"
    got = interleaved({n: run(n, 0.01 * (i + 1)) for i, n in enumerate(names)}, rounds=30, seed=3)
    rounds = [tuple(log[i : i + 4]) for i in range(len(log) - 120, len(log), 4)]
    assert all(sorted(r) == list(names) for r in rounds)
    assert len(set(rounds)) > 5
    assert {n: t.repetitions for n, t in got.items()} == dict.fromkeys(names, 30)
    assert [round(got[n].seconds, 9) for n in names] == [0.01, 0.02, 0.03, 0.04]
    assert list(got) == list(names)


@pytest.mark.parametrize("arguments", [{"repetitions": 0}, {"seconds": 0.0}, {"seconds": float("nan")}])
def test_counts_and_seconds_must_be_positive(arguments: dict) -> None:
    with pytest.raises(BadTiming):
        timed(lambda: None, **arguments)


def test_nothing_to_interleave_and_unknown_devices_are_named() -> None:
    with pytest.raises(BadTiming, match="runs"):
        interleaved({}, rounds=3)
    with pytest.raises(BadTiming, match="rounds"):
        interleaved({"a": lambda: None}, rounds=0)
    with pytest.raises(BadTiming, match="abacus"):
        timed(lambda: None, device="abacus")
    with pytest.raises(BadTiming, match="samples"):
        Timing.of([])
