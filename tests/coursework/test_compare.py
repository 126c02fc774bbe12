"""When two results are the same, and in what they are not."""

import math
from typing import NamedTuple

import numpy
import pytest
import torch

from memlessons.coursework.compact import compact
from memlessons.coursework.compare import difference, kind_of, same

NAN, INF = math.nan, math.inf


class Pair(NamedTuple):
    a: int
    b: float


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (3, numpy.int32(3)),
        (3, torch.tensor(3)),
        (0.5, 0.5 * (1 + 9e-7)),
        (0.5, numpy.float32(0.5)),
        (2.0, 2),
        (0.0, 1e-14),
        (NAN, float("nan")),
        (-INF, -INF),
        (True, numpy.bool_(True)),
        (True, torch.tensor(True)),
        (None, None),
        ("load", "load"),
        ((1, 2.0), [1, 2.0]),
        ([1, 2.0], (1, 2.0)),
        ((1, 2.0), Pair(1, 2.0)),
        (frozenset({1, 2}), {2, 1}),
        ({"a": 1.0}, {"a": 1.0 + 1e-9}),
        (torch.tensor([1.0, NAN, INF]), torch.tensor([1.0, NAN, INF])),
        (torch.tensor([1e3, 0.0]), torch.tensor([1e3, 5e-4])),
        (torch.ones(2, dtype=torch.float64), torch.ones(2)),
        (torch.ones(2), torch.ones(2, dtype=torch.int64)),
        (torch.empty(0, 3), torch.empty(0, 3)),
        (torch.tensor([1, 2]), torch.tensor([1, 2], dtype=torch.int32)),
        (numpy.ones(2), numpy.ones(2, dtype="float32")),
        (torch.ones(1, requires_grad=True), torch.ones(1)),
    ],
)
def test_these_agree(expected, got):
    assert difference(expected, got, 1e-6) is None


@pytest.mark.parametrize(
    ("expected", "got", "kind"),
    [
        (3, 4, "value"),
        (3, 3.0, "type"),
        (3, True, "type"),
        (True, 1, "type"),
        (1.0, True, "type"),
        (1, None, "value"),
        (None, 0, "value"),
        (1.0, 1.0 + 2e-6, "value"),
        (1.0, NAN, "value"),
        (NAN, 1.0, "value"),
        (INF, 1e308, "value"),
        (1.0, INF, "value"),
        (0.0, 1e-9, "value"),
        (1.0, "1.0", "type"),
        ("load", "recompute", "value"),
        ((1, 2), (1, 2, 3), "shape"),
        ((1, 2), 1, "type"),
        ((1, "a"), (1, 2), "type"),
        (frozenset({1}), {2}, "value"),
        (frozenset({1}), [1], "type"),
        ({"a": 1}, {"b": 1}, "shape"),
        (torch.ones(2), torch.ones(2, 1), "shape"),
        (torch.ones(2), torch.ones(3), "shape"),
        (torch.ones(2), numpy.ones(2), "type"),
        (torch.ones(2), [1.0, 1.0], "type"),
        (torch.ones(2), torch.tensor([1.0, 1.0 + 1e-5]), "value"),
        (torch.ones(2), torch.tensor([1.0, NAN]), "value"),
        (torch.tensor([NAN, INF]), torch.tensor([NAN, -INF]), "value"),
        (torch.tensor([True]), torch.tensor([1]), "type"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "value"),
        (10**400, 10.0, "type"),
        (1.0, 10**400, "value"),
    ],
)
def test_these_differ(expected, got, kind):
    found = difference(expected, got, 1e-6)
    assert found is not None
    assert found.kind == kind
    assert not same(expected, got, 1e-6)


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        (3, 3.0, "expected an int, got a float (the number is right, its type is not)"),
        ((1, 2.5), (1, 3.5), "second value: expected 2.5, got 3.5"),
        (torch.zeros(2, 2), torch.eye(2), "2 of 4 entries differ, first at [0, 0]: expected 0.0, got 1.0"),
        (torch.zeros(2), None, "expected tensor [2]: [0, 0], got None"),
        (1 / 3, 1 / 3 + 1e-5, "expected 0.3333333333333333, got 0.3333433333333333"),
    ],
)
def test_the_difference_in_words(expected, got, words):
    assert difference(expected, got, 1e-6).words == words


def test_what_cannot_be_compared_is_not_the_same():
    class Stubborn:
        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    assert not same(Stubborn(), Stubborn())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "an int"),
        (1.0, "a float"),
        (True, "a bool"),
        (None, "None"),
        ("x", "a str"),
        ((1, 2), "a tuple of 2"),
        ([], "a list of 0"),
        (torch.ones(2, 3), "a tensor [2, 3]"),
        (torch.tensor(1), "an int"),
        (numpy.ones(2), "a numpy array [2]"),
    ],
)
def test_what_a_value_is(value, text):
    assert kind_of(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (20_000_000_000, "20_000_000_000"),
        (24, "24"),
        (2.0, "2.0"),
        (1 / 3, "0.3333"),
        (1e-9, "1e-09"),
        (NAN, "nan"),
        ("a", "'a'"),
        ((1,), "(1,)"),
        ([1, [2.0, None]], "[1, [2.0, None]]"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, … 12 more]"),
        ({"heads": 4}, "{'heads': 4}"),
        (frozenset({"b", "a"}), "{'a', 'b'}"),
        (frozenset(), "an empty set"),
        (torch.tensor([[1.0, 0.25]]), "tensor [1, 2]: [[1, 0.25]]"),
        (torch.ones(2, dtype=torch.float16), "tensor [2] torch.float16: [1, 1]"),
        (torch.arange(40.0), "tensor [40]: 0, 1, 2, 3, 4, 5, 6, 7, …"),
        (torch.tensor(2.5), "2.5"),
        (numpy.float64(2.5), "2.5"),
        (numpy.arange(3), "array [3]: [0, 1, 2]"),
    ],
)
def test_values_on_one_line(value, text):
    assert compact(value) == text


def test_a_long_value_is_clipped_and_a_raising_repr_survived():
    class Raises:
        def __repr__(self):
            raise ValueError

    assert len(compact("x" * 500)) == 96
    assert compact(Raises()) == "<Raises>"
    assert "\n" not in compact("a\nb\n")
