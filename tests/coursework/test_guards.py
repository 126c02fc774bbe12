"""What is around a reader's code: a time limit, and functions out of reach. Both leave no trace."""

import signal
import sys
import threading
import time
import types

import pytest

from memlessons.coursework.check import check
from memlessons.coursework.exercise import BadExercise
from memlessons.coursework.forbid import WriteItYourself, forbidden
from memlessons.coursework.limit import OutOfTime, _by_watchdog, time_limit
from tests.coursework.samples import clipped_sum, sums

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such timer")


@needs_timer
def test_handlers_and_timers_of_others_are_restored():
    rings = []
    before = signal.signal(signal.SIGALRM, lambda *_: rings.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 3600, 7)
        with pytest.raises(OutOfTime), time_limit(0.05):
            while True:
                pass
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 3000 < left < 3600
        assert interval == 7
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(signal.SIGALRM)
        assert rings == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@needs_timer
def test_in_time_nothing_happens():
    with time_limit(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@needs_timer
def test_an_error_inside_leaves_no_timer_behind():
    with pytest.raises(ZeroDivisionError), time_limit(60):
        1 / 0  # noqa: B018
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_watchdog_interrupts_and_then_leaves_the_thread_alone():
    with pytest.raises(OutOfTime), _by_watchdog(0.05, threading.get_ident()):
        while True:
            pass
    time.sleep(0.2)
    with _by_watchdog(60, threading.get_ident()):
        pass
    assert not any(thread.name == "memlessons-time-limit" and thread.is_alive() for thread in _later())


def _later():
    time.sleep(0.05)
    return threading.enumerate()


@pytest.fixture
def package(monkeypatch):
    """A module "kitchen" with functions of all kinds."""
    module = types.ModuleType("kitchen")
    exec(
        "def plain(a, b=1):\n    return a + b\n"
        "def maker():\n    spice, heat = 2, 3\n"
        "    def closed(a):\n        return a * spice * heat\n    return closed\n"
        "closed = maker()\n"
        "class Pan:\n    def __init__(self, size):\n        self.size = size\n"
        "    def fry(self):\n        return self.size\n"
        "number = 5\n",
        module.__dict__,
    )
    monkeypatch.setitem(sys.modules, "kitchen", module)
    return module


def test_a_function_is_out_of_reach_however_it_was_imported(package):
    plain, closed = package.plain, package.closed
    with forbidden(["kitchen.plain", "kitchen.closed", "kitchen.Pan"]) as called:
        for use in (
            lambda: plain(1),
            lambda: package.plain(1, b=2),
            lambda: closed(3),
            lambda: package.Pan(1),
        ):
            with pytest.raises(
                WriteItYourself, match=r"kitchen\.\w+ does this exercise's job: write it yourself"
            ):
                use()
    assert called == ["kitchen.plain", "kitchen.plain", "kitchen.closed", "kitchen.Pan"]
    assert (plain(1), plain(1, 2), closed(3), package.Pan(4).size) == (2, 3, 18, 4)


def test_a_method_can_be_forbidden_alone(package):
    pan = package.Pan(3)
    with forbidden(["kitchen.Pan.fry"]), pytest.raises(WriteItYourself):
        pan.fry()
    assert pan.fry() == 3


def test_it_is_back_after_an_error_too(package):
    with pytest.raises(ZeroDivisionError), forbidden(["kitchen.plain"]):
        1 / 0  # noqa: B018
    assert package.plain(1) == 2


@pytest.mark.parametrize(
    "name", ["kitchen.number", "kitchen.nothing", "kitchen.plain.deeper", "no_such_thing.f"]
)
def test_a_name_of_no_function_is_an_authors_mistake(package, name):
    with (
        pytest.raises(BadExercise, match="no Python function of the package has this name"),
        forbidden([name]),
    ):
        pass


def test_an_answer_that_calls_it_is_told_to_write_it(package):
    package.total = lambda values, most: min(sum(values), most)
    exercise = sums(forbidden=("kitchen.total",))
    found = check(exercise, lambda values, most: package.total(values, most), seed=1)
    assert found.verdict == "write it yourself"
    assert "WriteItYourself: it calls `kitchen.total`." in found.text()
    assert check(exercise, clipped_sum, seed=1).passed


def test_swallowing_the_error_does_not_help(package):
    package.total = lambda values, most: min(sum(values), most)

    def sly(values, most):
        try:
            return package.total(values, most)
        except Exception:
            return min(sum(values), most)

    assert check(sums(forbidden=("kitchen.total",)), sly, seed=1).verdict == "write it yourself"


def test_the_reference_may_use_what_the_answer_may_not(package):
    package.total = clipped_sum.__class__(clipped_sum.__code__, {"min": min, "sum": sum}, "total")

    def reference(values, most):
        return package.total(values, most)

    exercise = sums(reference=reference, forbidden=("kitchen.total",))
    assert check(exercise, clipped_sum, seed=1).passed
