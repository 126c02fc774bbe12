"""An exercise that is not well formed says which part is missing, before a reader meets it."""

import pytest

from memlessons.coursework.exercise import BadExercise, Exercise, Faults, Mistake
from tests.coursework.samples import clipped_sum, no_limit, sums

GOOD = sums()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "3.2"}, "such as '03.2'"),
        ({"id": "03"}, "such as '03.2'"),
        ({"id": "03.0"}, "such as '03.2'"),
        ({"title": " "}, "title is empty"),
        ({"kind": "guess"}, "one of build, decide, break"),
        ({"hints": ("a", "b")}, "hints are three"),
        ({"hints": ("a", "", "c")}, "hints are three"),
        ({"tolerance": -1.0}, "tolerance=-1.0"),
        ({"draws": 0}, "draws=0"),
        ({"reference": 5}, "reference and draw are functions"),
        ({"mistakes": GOOD.mistakes[:2]}, "2 mistakes"),
        ({"mistakes": (*GOOD.mistakes, GOOD.mistakes[0])}, "two mistakes have one name"),
        (
            {"mistakes": (*GOOD.mistakes, Mistake("x", "?", lambda values: 0))},
            "mistake 'x' takes ('values',)",
        ),
        ({"shown": ({"values": [1]},)}, "lacks ['most']"),
        ({"in_place": ("store",)}, "in_place names ['store']"),
        ({"forbidden": ("merge",)}, "write the whole dotted name"),
        ({"faults": Faults({"slow": "Why?"}, "sizes")}, "faults belong to kind='break'"),
    ],
)
def test_a_bad_part_is_named(changes, words):
    with pytest.raises(BadExercise) as failed:
        sums(**changes)
    assert words in str(failed.value)


@pytest.mark.parametrize(
    "fields", [("", "hint", no_limit), ("name", " ", no_limit), ("name", "hint", "no function")]
)
def test_a_bad_mistake_is_refused(fields):
    with pytest.raises(BadExercise):
        Mistake(*fields)


def test_pins_are_looked_at_as_well():
    pin = Mistake("pinned", "?", no_limit, ({"most": 3},))
    with pytest.raises(BadExercise, match="lacks"):
        sums(mistakes=(*GOOD.mistakes, pin))


def test_names_come_from_the_reference_and_hidden_inputs_are_kept_apart():
    assert (GOOD.chapter, GOOD.name, GOOD.parameters) == ("98", "clipped_sum", ("values", "most"))
    assert GOOD.given({"most": 1, "hidden": 2, "values": []}) == {"values": [], "most": 1}
    assert list(GOOD.given({"most": 1, "values": []})) == ["values", "most"]


def test_an_appendix_has_exercises_too():
    assert sums(id="A.1").chapter == "A"


def test_it_is_a_value():
    assert isinstance(GOOD, Exercise)
    with pytest.raises(AttributeError):
        GOOD.title = "other"
    assert GOOD.reference is clipped_sum
