"""`recall`: a question of a minute about an earlier chapter, at the beginning of a chapter. Not graded."""

from datetime import date
from random import Random
from typing import Any

from memlessons.coursework.catalogue import chapter_number
from memlessons.coursework.questions import TOPICS, Question, Topic
from memlessons.show.shell import code_span, say
from memlessons.show.values import number_text

_NEAR = 0.05


def question_for(chapter: str, day: date) -> Question | None:
    """The question that opens `chapter` on that day, about an earlier one; None if nothing was before."""
    topics = topics_for(chapter)
    random = Random(f"{day.isoformat()} {chapter_number(chapter)}")
    return random.choice(topics).draw(random) if topics else None


def topics_for(chapter: str) -> list[Topic]:
    """What `chapter` may ask about: what was taught before it; an appendix comes after all chapters."""
    return [topic for topic in TOPICS if topic.chapter < chapter_number(chapter)]


def recall(chapter: str, answer: float | None = None) -> None:
    """Ask a question about an earlier chapter; with an answer, say whether it agrees within 5 %.

    The question is the same all day. An answer is met with the worked line in any case, and kept nowhere.
    """
    question = question_for(chapter, date.today())
    if question is None:
        say(f"Nothing to recall: chapter {chapter_number(chapter)} is the first.")
        return
    say(f"**From memory:** {question.asked}")
    if answer is None:
        say(f'A minute, on paper; then `recall("{chapter}", your number)`. Not graded.')
        return
    say(f"{_verdict(answer, question)} {question.worked}.")


def _verdict(answer: Any, question: Question) -> str:
    right = f"{number_text(question.answer)} {question.unit}"
    try:
        if isinstance(answer, bool | str):
            raise TypeError
        number = float(answer)
    except (TypeError, ValueError, OverflowError):
        return f"{code_span(f'{answer!r:.40}')} is no number; it is **{right}**:"
    if _close(number, question.answer):
        return f"Yes, **{right}**:"
    word = next((f" ({t.word})" for t in question.traps if _close(number, t.factor * question.answer)), "")
    return f"You say {number_text(number)}{word}; it is **{right}**:"


def _close(number: float, wanted: float) -> bool:
    return abs(number - wanted) <= _NEAR * abs(wanted)
