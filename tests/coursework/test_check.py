"""Diagnoses: each wrong way has its own message, and a right answer passes whatever its style."""

import contextlib
import threading
import time

import numpy
import pytest
import torch
from hypothesis import strategies as st

from memlessons.coursework.cases import prepare
from memlessons.coursework.check import check, is_stub
from memlessons.coursework.exercise import Exercise, Mistake
from memlessons.errors import MemlessonsError
from tests.coursework.samples import (
    clipped_sum,
    in_place,
    limit_per_value,
    no_limit,
    pinned,
    sums,
)

SEED = 7


def verdict(answer, exercise=None, **options):
    return check(exercise or sums(), answer, seed=SEED, **options)


def test_the_reference_passes_and_so_do_other_styles():
    def renamed(numbers, bound):
        total = 0
        for number in numbers:
            total += number
        return bound if total > bound else total

    assert verdict(clipped_sum).text() == f"98.1 Clipped sum: passed ({len(cases().inputs)} inputs)."
    assert verdict(renamed).passed
    assert verdict(lambda values, most: numpy.int64(min(sum(values), most))).passed
    assert verdict(lambda values, most: torch.tensor(min(sum(values), most))).passed


def cases(**changes):
    return prepare(sums(**changes), SEED)


@pytest.mark.parametrize(("answer", "name"), [(no_limit, "no limit"), (limit_per_value, "limit per value")])
def test_a_named_mistake_gets_its_hint(answer, name):
    found = verdict(answer)
    hint = next(mistake.hint for mistake in sums().mistakes if mistake.name == name)
    assert (found.verdict, found.mistake, found.hint) == ("mistake", name, hint)


def test_the_text_of_a_mistake_in_whole():
    wrong = len(cases().differing(cases().expected, [no_limit(**i) for i in cases().inputs]))
    lines = verdict(no_limit).text().splitlines()
    assert lines[:2] == ['98.1 Clipped sum: this looks like "no limit".', "How much is too much?"]
    assert lines[2].startswith("  clipped_sum(values=[")
    assert [line.split()[0] for line in lines[3:5]] == ["expected", "got"]
    assert lines[5] == (
        f'Wrong for {wrong} of {len(cases().inputs)} inputs; `@exercise("98.1", seed={SEED})` '
        'draws the same again. `hint("98.1")` helps.'
    )
    assert len(lines) == 6


def test_a_mistake_is_recognised_beside_a_second_fault():
    """Agreement counts where the mistake differs from the reference; elsewhere there may be more wrong."""

    def answer(values, most):
        return no_limit(values, most) if sum(values) > most else sum(values) + (values == [])

    assert verdict(answer).mistake == "no limit"


def test_an_unknown_fault_shows_the_smallest_input():
    found = verdict(lambda values, most: min(sum(values), most) + 1)
    assert found.verdict == "wrong"
    assert found.case == ("clipped_sum(values=[], most=0)", "expected  0", "got       1")


def test_the_smallest_input_is_the_smallest_that_fails():
    found = verdict(lambda values, most: min(sum(values), most) + (len(values) == 3))
    failing = [i for i in cases().inputs if len(i["values"]) == 3]
    shortest = min(len(str(i)) for i in failing)
    assert len(found.case[0]) <= shortest + 20
    assert found.case[0].count(",") == 3


def test_a_constant_is_not_taken_for_the_mistake_it_agrees_with_on_a_pin():
    found = verdict(lambda values, most: 0, pinned())
    assert found.verdict == "constant"
    assert "it gives 0 whatever comes in" in found.text()


def test_a_mistake_of_pins_alone_is_recognised():
    found = verdict(lambda values, most: max(0, min(sum(values), most)), pinned())
    assert found.mistake == "never negative"
    assert found.case[0] == "clipped_sum(values=[1], most=-2)"


def test_a_mistake_of_pins_alone_is_not_named_where_most_draws_are_wrong():
    def wrong_otherwise(values, most):
        return max(0, min(sum(values), most)) + (0 if most < 0 else len(values))

    found = verdict(wrong_otherwise, pinned())
    assert (found.verdict, found.mistake) == ("wrong", "")

    def seldom_wrong(values, most):
        return max(0, min(sum(values), most)) + (len(values) == 6)

    wrong = [i for i in cases().inputs[:60] if len(i["values"]) == 6]
    assert 2 < len(wrong) < 30
    assert verdict(seldom_wrong, pinned()).mistake == "never negative"


def test_an_echo_is_named():
    found = verdict(lambda values, most: most)
    assert found.verdict == "echo"
    assert "gives back `most`" in found.text()


def test_right_for_the_example_alone():
    def learnt_by_heart(values, most):
        return 5 if (values, most) == ([1, 2, 3], 5) else -sum(values) - most - 1

    found = verdict(learnt_by_heart)
    assert found.verdict == "only the example"
    assert "right for the prompt's example, and for no other input" in found.text()
    assert "too simple to show the mistake" in found.hint


def halves(kept, **changes):
    """The half of a sum, of which only `kept` sums are drawn; half of the example's, 6, is a whole number."""
    drawn = sums().draw().filter(lambda inputs: kept(sum(inputs["values"])))
    return sums(
        reference=lambda values, most: sum(values) / 2, draw=lambda: drawn, outputs="a float", **changes
    )


def test_an_int_that_lost_what_stood_behind_the_point_is_of_the_wrong_type():
    """Before "only the example", which it would be as well."""
    found = verdict(lambda values, most: int(sum(values) / 2), halves(lambda total: total % 2 == 1))
    assert (found.verdict, found.mistake) == ("type", "")
    assert found.hint.startswith("Expected a float, got an int")
    assert found.hint.endswith("The exercise asks for a float.")
    assert any(line.strip().startswith("expected") and line.endswith(".5") for line in found.case)


def test_an_int_is_not_to_blame_where_the_float_is_a_whole_number():
    found = verdict(lambda values, most: sum(values) // 2 + 1, halves(lambda total: total % 2 == 0))
    assert found.verdict == "wrong"
    assert verdict(lambda values, most: sum(values) // 2, halves(lambda total: total % 2 == 0)).passed


def stub_with_dots(values, most): ...


def stub_with_pass(values, most):
    pass


def stub_with_docstring(values, most):
    """To do."""


@pytest.mark.parametrize("stub", [stub_with_dots, stub_with_pass, stub_with_docstring])
def test_an_untouched_stub_is_not_done_yet(stub):
    found = verdict(stub)
    assert (found.verdict, found.passed) == ("not done", False)
    assert found.text().startswith("98.1 Clipped sum: not done yet.")
    assert "return" not in found.text()


def test_an_answer_without_a_return_is_not_done_yet_either():
    def forgetful(values, most):
        min(sum(values), most)

    assert "is there a `return`?" in verdict(forgetful).text()
    assert not is_stub(forgetful)


def test_not_implemented_is_not_done_yet():
    def later(values, most):
        raise NotImplementedError

    assert verdict(later).verdict == "not done"


def test_a_constant_that_is_not_none_is_no_stub():
    assert not is_stub(lambda values, most: 5)
    assert verdict(lambda values, most: 5).verdict == "constant"


def test_in_place_and_none_is_done_if_something_changed():
    def answer(x, store):
        store[0] = 2 * x

    assert verdict(lambda x, store: None, in_place()).verdict == "not done"
    found = verdict(answer, in_place())
    assert found.verdict == "wrong"
    assert "what it returns" in found.text()


def test_an_error_is_shown_with_the_readers_line_and_the_input():
    def divides(values, most):
        if values == []:
            return 0
        return min(sum(values) // (len(values) - 1), most)

    found = verdict(divides)
    assert found.verdict == "raises"
    assert found.headline.endswith("it raises ZeroDivisionError: integer division or modulo by zero")
    assert found.hint.endswith(": return min(sum(values) // (len(values) - 1), most)")
    assert found.case[0].startswith("clipped_sum(values=[")
    assert "Traceback" not in found.text()


def test_a_traceback_is_shown_if_asked_for_and_begins_with_the_readers_code():
    def helper(values):
        raise ValueError("oops")

    found = verdict(lambda values, most: helper(values), trace=True)
    trace = found.text().split("Wrong for")[1]
    assert "in helper" in trace
    assert "coursework/outcome.py" not in trace


def test_leaving_python_is_an_error_like_others():
    def leaves(values, most):
        raise SystemExit(3)

    assert "it raises SystemExit: 3" in verdict(leaves).text()


def test_ctrl_c_goes_through():
    def interrupted(values, most):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(interrupted)


def test_an_error_may_be_what_is_asked_for():
    def root(x):
        if x < 0:
            raise ValueError("negative")
        return x * 2

    exercise = sums(
        reference=root,
        draw=lambda: st.fixed_dictionaries({"x": st.integers(-5, 5)}),
        mistakes=tuple(
            Mistake(n, "?", f) for n, f in [("a", lambda x: x * 2), ("b", abs), ("c", lambda x: 0)]
        ),
        shown=(),
    )

    def own(x):
        if x < 0:
            raise ValueError("another text")
        return x + x

    assert verdict(own, exercise).passed
    assert verdict(lambda x: 2 * x, exercise).mistake == "a"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda v, m: str(min(sum(v), m)), "Expected an int, got a str. The exercise asks for an int."),
        (lambda v, m: float(min(sum(v), m)), "(the number is right, its type is not)"),
        (lambda v, m: (min(sum(v), m),), "got a tuple of 1"),
        (lambda v, m: (x for x in v), "got a generator"),
    ],
)
def test_a_wrong_type_is_named(answer, words):
    found = verdict(answer)
    assert found.verdict == "type"
    assert words in found.text()


def tensors(function, *wrong):
    def build(rows, width, seed):
        random = torch.Generator().manual_seed(seed)
        return {"x": torch.randn(rows, width, generator=random, dtype=torch.float64)}

    return sums(
        reference=function,
        draw=lambda: st.builds(build, st.integers(1, 3), st.integers(2, 3), st.integers(0, 99)),
        mistakes=tuple(Mistake(f"m{n}", "?", answer) for n, answer in enumerate(wrong)),
        shown=(),
        outputs="a tensor [rows]",
    )


def row_sums(x):
    return x.sum(-1)


SUMS = tensors(row_sums, lambda x: x.mean(-1), lambda x: -x.sum(-1), lambda x: x[:, 0])


def test_a_wrong_shape_is_named():
    found = verdict(lambda x: x.sum(-1, keepdim=True), SUMS)
    assert found.verdict == "shape"
    assert found.hint == "Expected shape [1], got [1, 1]. The exercise asks for a tensor [rows]."


def test_a_large_tensor_says_how_many_entries_differ_and_where():
    big = tensors(lambda x: x.repeat(8, 9), lambda x: x, lambda x: -x, lambda x: 2 * x)

    def answer(x):
        out = x.repeat(8, 9)
        out[1, 3] += 1
        return out

    assert "1 of 144 entries differ, first at [1, 3]" in verdict(answer, big).text()


def test_float32_is_within_a_tolerance_of_1e_6_and_1e_5_is_not():
    assert verdict(lambda x: x.sum(-1) * (1 + 5e-7), SUMS).passed
    assert verdict(lambda x: x.sum(-1) * (1 + 1e-5), SUMS).verdict == "wrong"


def test_values_that_look_alike_are_shown_in_full():
    exercise = sums(
        reference=lambda x: x / 3,
        draw=lambda: st.fixed_dictionaries({"x": st.integers(1, 100)}),
        mistakes=tuple(Mistake(n, "?", f) for n, f in [("a", lambda x: x), ("b", abs), ("c", lambda x: 0)]),
        shown=(),
    )
    assert "expected 0.3333333333333333, got 0.333336" in verdict(lambda x: x / 3 + 3e-6, exercise).text()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_an_example_with_numbers_on_both_sides_is_shown_if_there_is_one(bad):
    exercise = sums(
        reference=lambda x: [x / 3],
        draw=lambda: st.fixed_dictionaries({"x": st.integers(1, 100)}),
        mistakes=tuple(Mistake(n, "?", f) for n, f in [("a", lambda x: x), ("b", abs), ("c", lambda x: 0)]),
        shown=(),
    )
    found = verdict(lambda x: [bad if x < 50 else 0.5], exercise)
    assert found.case[-2:] == ("got       [0.5]", f"first value: {found.case[-1].split(': ')[1]}")
    assert verdict(lambda x: [bad] if x % 2 else [x / 3], exercise).case[2] == f"got       [{bad}]"


def test_an_answer_may_be_handed_its_arguments_in_another_form():
    def handed(arguments):
        return arguments | {"values": iter(arguments["values"])}

    exercise = sums(handed=handed)
    assert verdict(clipped_sum, exercise).passed
    found = verdict(lambda values, most: min(sum(values) + sum(values) + len(list(values)), most), exercise)
    assert found.passed, "an iterator is read once"
    assert "clipped_sum(values=[" in verdict(no_limit, exercise).text()


def test_changed_inputs_are_an_error_of_their_own():
    def sorts(values, most):
        values.sort(reverse=True)
        return min(sum(values), most)

    found = verdict(sorts)
    assert found.verdict == "changed inputs"
    assert "the results are right, but it changes `values`" in found.text()


def test_a_changed_input_does_not_reach_the_next_call_or_the_expected_result():
    def empties(values, most):
        total = sum(values)
        values.clear()
        return min(total, most)

    prepared = cases()
    before = [list(i["values"]) for i in prepared.inputs]
    assert check(sums(), empties, cases=prepared).verdict == "changed inputs"
    assert [i["values"] for i in prepared.inputs] == before


def test_a_wrong_answer_says_too_that_it_changes_its_input():
    def pops(values, most):
        if values:
            values.pop()
        return min(sum(values), most)

    assert "it also changes its input values" in verdict(pops).text()


def test_in_place_arguments_must_change_and_are_compared():
    assert verdict(in_place().reference, in_place()).passed
    found = {m.name: verdict(m.answer, in_place()) for m in in_place().mistakes}
    assert {name: f.mistake for name, f in found.items()} == {name: name for name in found}
    assert "store afterwards" in found["into a copy"].text()


def test_returning_an_argument_itself_is_fine():
    def own(x, store):
        store[0] = 2 * x
        return store[0].sum().view(())

    assert verdict(own, in_place()).passed


def test_one_list_for_all_answers_does_not_pass():
    out = []

    def collects(x):
        out.append(float(x.sum()))
        return out

    listed = tensors(
        lambda x: [float(x.sum())], lambda x: [float(x[0])], lambda x: [-float(x.sum())], lambda x: [0.0]
    )
    assert not verdict(collects, listed).passed


def forever(values, most):
    while True:
        pass


def forever_whatever_comes(values, most):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def sleeps(values, most):
    time.sleep(3600)


@pytest.mark.parametrize("answer", [forever, forever_whatever_comes, sleeps])
def test_a_loop_without_end_ends(answer):
    found = verdict(answer, seconds=0.2)
    assert found.verdict == "too slow"
    assert "stopped after 0.2 s" in found.text()


def test_a_loop_without_end_ends_in_another_thread_too():
    found = []
    thread = threading.Thread(target=lambda: found.append(verdict(forever, seconds=0.2)))
    thread.start()
    thread.join(30)
    assert found[0].verdict == "too slow"


def test_what_is_printed_is_kept_to_two_lines(capsys):
    def talks(values, most):
        print("values:", values)
        return min(sum(values), most)

    found = verdict(talks)
    assert found.passed
    assert capsys.readouterr().out == ""
    assert len(found.printed) == 2
    assert found.printed[1].endswith(f"(and {len(cases().inputs) - 2} lines more)")


def test_another_number_of_arguments_is_said_before_anything_runs():
    found = verdict(lambda values: 0)
    assert found.verdict == "signature"
    assert "`clipped_sum` takes (values, most); yours is called with (values)" in found.text()
    assert verdict(lambda *anything: min(sum(anything[0]), anything[1])).passed
    assert verdict(5).verdict == "signature"


def test_the_same_seed_gives_the_same_feedback_and_none_a_new_one():
    one, again = verdict(no_limit), verdict(no_limit)
    assert one == again
    seeds = {check(sums(), no_limit).closing for _ in range(4)}
    assert len(seeds) > 1


class Counter:
    """For exercises whose answer is a class."""

    def __init__(self, start):
        self.value = start

    def add(self, n):
        self.value += n


class Stuck(Counter):
    def add(self, n):
        self.value = n


class Broken(Counter):
    def add(self, n):
        raise RuntimeError("stuck")


def counter_exercise():
    def drive(answer, inputs):
        counter = answer(inputs["start"])
        for n in inputs["steps"]:
            counter.add(n)
        return counter.value

    class Twice(Counter):
        def add(self, n):
            self.value += 2 * n

    class Backwards(Counter):
        def add(self, n):
            self.value -= n

    return Exercise(
        id="98.3", title="Counter", kind="build", reference=Counter, outcome=drive,
        draw=lambda: st.fixed_dictionaries(
            {"start": st.integers(0, 9), "steps": st.lists(st.integers(1, 9), min_size=1, max_size=3)}
        ),
        mistakes=(
            Mistake("stuck", "Where is the old value?", Stuck),
            Mistake("twice", "How often?", Twice),
            Mistake("backwards", "Which way?", Backwards),
        ),
        hints=("?", "the value", "`+=`"),
    )  # fmt: skip


def test_a_class_is_handed_to_the_outcome():
    exercise = counter_exercise()
    assert verdict(Counter, exercise).passed
    assert verdict(Stuck, exercise).mistake == "stuck"
    found = verdict(Broken, exercise)
    assert found.verdict == "raises"
    assert found.hint.endswith('raise RuntimeError("stuck")')
    assert "is a class; yours is called with" in verdict(lambda start: 0, exercise).text()


class CounterStub:
    """To do."""

    def __init__(self, start): ...

    def add(self, n): ...


def test_a_class_of_stubs_is_not_done_yet():
    assert verdict(CounterStub, counter_exercise()).verdict == "not done"
    assert not is_stub(Stuck)


def test_hidden_inputs_reach_the_outcome_and_never_the_answer():
    seen = []

    def breaks():
        return 16

    exercise = sums(
        kind="break",
        reference=breaks,
        draw=lambda: st.fixed_dictionaries({"tile": st.sampled_from([4, 8, 16])}),
        outcome=lambda answer, inputs: answer % inputs["tile"] == 0 and answer > inputs["tile"] // 2,
        mistakes=tuple(Mistake(n, "?", f) for n, f in [("a", lambda: 4), ("b", lambda: 7), ("c", lambda: 8)]),
        shown=(),
    )

    def answer(*arguments):
        seen.append(arguments)
        return 32

    assert verdict(answer, exercise).passed
    assert set(seen) == {()}
    found = verdict(lambda: 4, exercise)
    assert found.mistake == "a"
    assert "tile" not in found.text()


def test_an_outcome_that_can_do_nothing_with_an_answer_says_so():
    class NoList(MemlessonsError):
        pass

    def outcome(answer, inputs):
        if not isinstance(answer, list):
            raise NoList("return a list of numbers; got a dict")
        return sum(answer)

    exercise = sums(
        outcome=outcome,
        reference=lambda values, most: [*values, most],
        mistakes=(
            Mistake("values alone", "?", lambda values, most: values),
            Mistake("most alone", "?", lambda values, most: [most]),
            Mistake("nothing", "?", lambda values, most: []),
        ),
        shown=(),
    )
    # From a file of its own, as a reader's answer is.
    answer = eval(compile("lambda values, most: {}", "answers.py", "eval"))
    found = verdict(answer, exercise)
    assert found.verdict == "type"
    assert "what it returns cannot be used.\nReturn a list of numbers; got a dict." in found.text()
