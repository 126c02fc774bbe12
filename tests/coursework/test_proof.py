"""Every exercise: its reference passes, every mistake is told apart and gets its own hint, stubs are stubs.

The quick pace draws the same inputs each time, the full one new ones.
"""

import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

from memlessons import places
from memlessons.coursework.catalogue import exercise_names, find
from memlessons.coursework.check import check
from memlessons.coursework.draw import fresh_seed
from memlessons.coursework.proof import (
    exercise_cells,
    hints_that_break,
    prepared,
    seldom,
    shadowed,
    stub_of,
    twins,
    wrong_stub,
    wrongly_diagnosed,
)
from tests.coursework.samples import clipped_sum, no_limit, sums

HERE = Path(__file__).resolve().parent
SEED = 2026 if places.pace() == "quick" else fresh_seed()
IDS = list(exercise_names())


@cache
def cases(id):
    return prepared(find(id), SEED)


@cache
def second_forms(id):
    path = HERE / "second_forms" / f"c{id.replace('.', '_')}.py"
    spec = importlib.util.spec_from_file_location(f"second_forms_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FORMS


@pytest.mark.parametrize("id", IDS)
def test_the_reference_passes(id):
    found = check(find(id), find(id).reference, cases=cases(id))
    assert found.passed, found.text()


@pytest.mark.parametrize("id", IDS)
def test_each_mistake_is_refused_with_its_own_hint(id):
    assert wrongly_diagnosed(cases(id), {m.name: m.answer for m in find(id).mistakes}) == {}


@pytest.mark.parametrize("id", IDS)
def test_each_mistake_shows_on_a_fifth_of_the_draws_or_on_a_pin(id):
    assert seldom(cases(id)) == {}


@pytest.mark.parametrize("id", IDS)
def test_any_two_mistakes_differ_somewhere(id):
    assert twins(cases(id)) == []


@pytest.mark.parametrize("id", IDS)
def test_each_mistake_has_a_second_form_and_it_gets_the_same_hint(id):
    assert set(second_forms(id)) == {mistake.name for mistake in find(id).mistakes}
    assert wrongly_diagnosed(cases(id), second_forms(id)) == {}


@pytest.mark.parametrize("id", IDS)
def test_hints_come_through_markdown_whole(id):
    assert hints_that_break(find(id)) == []


@pytest.mark.parametrize("id", IDS)
def test_what_is_shown_and_pinned_is_legal(id):
    """The reference answers every example and pin without an error, unless an error is what is asked for."""
    from memlessons.coursework.outcome import Raised

    places = range(cases(id).drawn, len(cases(id).inputs))
    assert [i for i in places if isinstance(cases(id).expected[i], Raised)] == []


SOURCES = {
    path.name[:2].rstrip("_"): path for path in sorted((HERE.parent.parent / "book/source").glob("*.py"))
}
IN_CHAPTERS = [id for id in IDS if id.partition(".")[0] in SOURCES]


@cache
def cells(chapter):
    return exercise_cells(SOURCES[chapter].read_text(encoding="utf-8"))


@pytest.mark.parametrize("id", IN_CHAPTERS)
def test_its_chapter_has_one_stub_that_is_not_done_yet(id):
    own = cells(id.partition(".")[0]).get(id, [])
    assert len(own) == 1, f"{id} stands in {len(own)} cells of its chapter"
    assert wrong_stub(find(id), stub_of(own[0], id)) == ""


@pytest.mark.parametrize("chapter", SOURCES)
def test_a_chapter_names_no_exercise_that_is_not_there(chapter):
    assert set(cells(chapter)) <= set(IDS)


@pytest.mark.parametrize("chapter", SOURCES)
def test_no_exercise_takes_a_name_that_its_chapter_uses(chapter):
    assert shadowed(SOURCES[chapter].read_text(encoding="utf-8")) == []


def test_a_name_that_is_used_twice_is_found():
    cell = '# %% id="b"\nfrom memlessons.coursework import exercise\n\n@exercise("00.1")\ndef f(x): ...\n'
    for first in ("from x import f", "from x import y as f", "import f.g", "def f(): ...", "a, f = 1, 2"):
        assert shadowed(f'# %% id="a"\n{first}\n{cell}') == ["f"], first
    assert shadowed(f'# %% id="a"\nfrom x import g\n{cell}') == []


def test_the_proof_finds_what_it_looks_for():
    """A mistake that hides behind another, one that seldom shows, a stub that is none."""
    from memlessons.coursework.exercise import Mistake

    def rare(values, most):
        return clipped_sum(values, most) + (values == [9, 9, 9])

    def twin(values, most):
        total = 0
        for value in values:
            total += value
        return total

    bad = sums(mistakes=(*sums().mistakes, Mistake("rare", "?", rare), Mistake("twin", "?", twin)))
    found = prepared(bad, 1)
    assert list(seldom(found)) == ["rare"]
    assert twins(found) == [("no limit", "twin")]
    assert list(wrongly_diagnosed(found, {"twin": twin, "no limit": no_limit})) == ["twin"]
    assert "the stub gets" in wrong_stub(bad, clipped_sum)
    assert "the stub is called no_limit" in wrong_stub(bad, no_limit)
    assert hints_that_break(sums(hints=("a*b*c", "`a * b * c`", "$x$ and `y"))) == ["a*b*c", "$x$ and `y"]


def test_cells_are_found_by_their_decorator_alone():
    source = (
        '# %% [markdown] id="a"\n# `@exercise("00.9")` in prose\n'
        '# %% id="b"\nfrom memlessons.coursework import exercise\n\n@exercise("00.1")\ndef f(x): ...\n'
        '# %% id="c"\ntext = \'@exercise("00.2")\'\n'
    )
    found = exercise_cells(source)
    assert list(found) == ["00.1"]
    assert re.search(r"def f", found["00.1"][0])
    assert stub_of(found["00.1"][0], "00.1").__name__ == "f"
