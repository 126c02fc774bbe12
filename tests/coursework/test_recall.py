"""Questions from earlier chapters: the same all day, never graded."""

import itertools
import re
from collections import Counter
from datetime import date, timedelta
from random import Random

import pytest

from memlessons.coursework import recall
from memlessons.coursework.questions import TOPICS
from memlessons.coursework.recalling import question_for, topics_for

DAY = date(2026, 3, 1)


@pytest.fixture
def today(monkeypatch):
    class Fixed(date):
        @classmethod
        def today(cls):
            return cls(2026, 3, 1)

    monkeypatch.setattr("memlessons.coursework.recalling.date", Fixed)


def test_a_question_stays_for_a_day_and_changes_with_day_and_chapter():
    assert question_for("02", DAY) == question_for("2", DAY)
    asked = {question_for("02", DAY + timedelta(days=n)).asked for n in range(30)}
    assert len(asked) > 10


def test_questions_are_about_earlier_chapters_only():
    taught = {number: {topic.chapter for topic in topics_for(number)} for number in ("00", "01", "2", "03")}
    assert taught == {"00": set(), "01": {"00"}, "2": {"00", "01"}, "03": {"00", "01", "02"}}
    assert topics_for("A") == list(TOPICS)
    assert question_for("00", DAY) is None


def test_there_are_enough_topics():
    count = Counter(topic.chapter for topic in TOPICS)
    assert count["00"] + count["01"] >= 4
    assert count["02"] >= 2


def by_hand():
    """The answers, worked out in another way from what the question says."""
    return {
        "ridge": lambda n: n[0] * 1e12 / (n[1] * 1e12),
        "time bound": lambda n: sorted([n[0] * 1e9 / (n[2] * 1e12), n[1] / n[3]])[1] * 1e3,
        "GB and GiB": lambda n: n[0] * 1e9 / 1024 / 1024 / 1024,
        "bytes a token leaves": lambda n: n[0] * (n[1] * n[2] * n[3] // 8) * 2 / 1024,
        "positions processed": lambda n: (
            sum(n[0] + i for i in range(int(n[1]))) / sum(1 for _ in range(int(n[0] + n[1] - 1)))
        ),
        "cache at a context": lambda n: n[0] * 1024 * n[1] / 1024**3,
        "batch against weights": lambda n: n[0] * 1e9 / n[1] / 1024 / n[2],
    }


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_the_answer_follows_from_the_numbers_in_the_question(topic):
    for seed in range(40):
        question = topic.draw(Random(seed))
        numbers = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", question.asked)]
        assert question.answer == pytest.approx(by_hand()[topic.name](numbers), rel=1e-12)
        assert f"{question.answer:.4g}" in question.worked


def test_the_bound_of_a_step_is_worked_out_with_a_unit_on_every_number():
    draw = next(topic.draw for topic in TOPICS if topic.name == "time bound")
    number = r"[\d.e+]+"
    line = rf"{number} GFLOP / {number} TFLOP/s = {number} ms; {number} GB / {number} GB/s = {number} ms; "
    for seed in range(20):
        assert re.fullmatch(line + "the later decides", draw(Random(seed)).worked)


def test_without_an_answer_only_the_question_is_shown(today, capsys):
    assert recall("03") is None
    out = capsys.readouterr().out
    question = question_for("03", DAY)
    assert out.startswith(f"From memory: {question.asked}\n")
    assert question.worked not in out


@pytest.mark.parametrize(
    ("factor", "begins"),
    [(1.0, "Yes, "), (1.049, "Yes, "), (0.951, "Yes, "), (1.06, "You say "), (-1, "You say ")],
)
def test_an_answer_is_right_within_five_percent_and_the_way_is_shown(today, capsys, factor, begins):
    question = question_for("03", DAY)
    recall("03", question.answer * factor)
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(begins)
    assert question.worked.split(",")[0] in line


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_a_trap_is_no_right_answer_and_no_other_trap(topic):
    for seed in range(20):
        factors = [1.0, *(trap.factor for trap in topic.draw(Random(seed)).traps)]
        for one, other in itertools.combinations(factors, 2):
            assert abs(one / other - 1) > 0.06


@pytest.mark.parametrize(
    ("factor", "word"), [(1024, "that is in bytes"), (0.5, "K and V"), (3.0, ""), (1.0, "")]
)
def test_a_known_slip_gets_a_word(monkeypatch, capsys, factor, word):
    asked = next(topic for topic in TOPICS if topic.name == "bytes a token leaves").draw(Random(1))
    monkeypatch.setattr("memlessons.coursework.recalling.question_for", lambda *_: asked)
    recall("03", asked.answer * factor)
    before, _, _ = capsys.readouterr().out.splitlines()[-1].partition("; it is")
    assert (word in before) and ("(" in before) == bool(word and factor != 1)


@pytest.mark.parametrize("answer", ["12", True, [1], float("nan")])
def test_anything_may_be_answered(today, capsys, answer):
    recall("03", answer)
    assert "it is " in capsys.readouterr().out


def test_nothing_is_written_down(today, work):
    recall("03", 5)
    assert not work.exists()


def test_the_first_chapter_has_nothing_to_recall(capsys):
    recall("00")
    assert capsys.readouterr().out == "Nothing to recall: chapter 00 is the first.\n"
