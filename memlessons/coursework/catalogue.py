"""Which exercises there are: found by file name, imported one at a time."""

import importlib
import re
from pathlib import Path

from memlessons.coursework.exercise import BadExercise, Exercise
from memlessons.errors import MemlessonsError

_FOLDER = Path(__file__).resolve().parent / "exercises"
_PACKAGE = "memlessons.coursework.exercises"
_FILE = re.compile(r"c(\d\d|[A-Z])_([1-9])_(\w+)")


class UnknownExercise(MemlessonsError, KeyError):
    """No exercise has that id; the message lists those of its chapter."""

    def __str__(self) -> str:
        """The message as it is: a KeyError would put it in quotes."""
        return str(self.args[0])


def exercise_names() -> dict[str, str]:
    """The name of every exercise by its id, {"03.2": "merge"}, in order; nothing is imported."""
    found = (_FILE.fullmatch(path.stem) for path in _FOLDER.glob("c*.py"))
    return {f"{m[1]}.{m[2]}": m[3].replace("_", " ") for m in sorted(filter(None, found), key=lambda m: m[0])}


def of_chapter(chapter: str) -> list[str]:
    """The ids of a chapter's exercises; `chapter` is "03", "3" or "A". Raises UnknownExercise if none."""
    wanted = chapter_number(chapter)
    ids = [id for id in exercise_names() if id.partition(".")[0] == wanted]
    if not ids:
        chapters = dict.fromkeys(id.partition(".")[0] for id in exercise_names())
        raise UnknownExercise(f"chapter {chapter} has no exercises yet; these have: {', '.join(chapters)}")
    return ids


def chapter_number(chapter: str) -> str:
    """A chapter as its files are named: "3" is "03", "a" is "A"."""
    return chapter.zfill(2) if chapter.isdigit() else chapter.upper()


def find(id: str) -> Exercise:
    """The exercise with this id, "03.2"; only its own module is imported. Raises UnknownExercise."""
    if not isinstance(id, str):
        raise UnknownExercise(f"an exercise is named by its id in quotes, such as '00.1'; this is {id!r:.60}")
    names = exercise_names()
    if id not in names:
        chapter = id.partition(".")[0]
        same = [other for other in names if other.partition(".")[0] == chapter]
        known = f"chapter {chapter} has: {', '.join(same)}" if same else "write one such as '00.1'"
        raise UnknownExercise(f"there is no exercise {id!r}; {known}")
    chapter, _, number = id.partition(".")
    module = f"c{chapter}_{number}_{names[id].replace(' ', '_')}"
    exercise = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), "EXERCISE", None)
    if not isinstance(exercise, Exercise) or exercise.id != id:
        raise BadExercise(f"{module}.py: end it with EXERCISE = Exercise(id={id!r}, ...)")
    return exercise
