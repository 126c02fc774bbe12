"""`memlessons check 03 answers.py`: the checks of a chapter or of one exercise, in a shell."""

import argparse
import re
from dataclasses import replace
from pathlib import Path

from memlessons.coursework.answers import NoAnswers, read_answers
from memlessons.coursework.catalogue import chapter_number, find, of_chapter
from memlessons.coursework.check import check
from memlessons.coursework.draw import fresh_seed
from memlessons.coursework.feedback import Feedback, repeated_with
from memlessons.coursework.reader import show_feedback
from memlessons.places import work_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `memlessons check`."""
    parser.add_argument("what", metavar="NN[.K]", help="a chapter, such as 03, or one exercise, such as 03.2")
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        type=Path,
        help="a .py or .ipynb file, else work/NN_*.ipynb",
    )
    parser.add_argument("--seed", type=int, help="the seed that an earlier check printed")
    parser.add_argument("--traceback", action="store_true", help="show where an answer raised")


def run(args: argparse.Namespace) -> int:
    """Run `memlessons check`: 0 if all passed, 1 otherwise."""
    chapter, dot, number = args.what.partition(".")
    chapter = chapter_number(chapter)
    ids = [f"{chapter}.{number}"] if dot else of_chapter(chapter)
    exercises = {id: find(id) for id in ids}
    path = args.file or own_notebook(chapter, work_folder())
    answers = read_answers(path, {id: exercise.name for id, exercise in exercises.items()})
    for problem in answers.problems:
        print(problem)
    passed = 0
    for id, exercise in exercises.items():
        if id not in answers.functions:
            print(f"{id} {exercise.title}: no answer in {path.name}; write `def {exercise.name}(...)` there.")
            continue
        seed = fresh_seed() if args.seed is None else args.seed
        feedback = check(exercise, answers.functions[id], seed=seed, trace=args.traceback)
        show_feedback(_for_a_shell(feedback, seed))
        passed += feedback.passed
    if len(exercises) > 1:
        print(f"{passed} of {len(exercises)} passed.")
    return 0 if passed == len(exercises) else 1


def _for_a_shell(feedback: Feedback, seed: int) -> Feedback:
    """The same with the option that repeats it: a decorator's seed counts only where a cell runs."""
    closing = feedback.closing.replace(repeated_with(feedback.id, seed), f"--seed {seed}")
    return replace(feedback, closing=closing)


def own_notebook(chapter: str, work: Path) -> Path:
    """The reader's copy of a chapter, without the older ones beside it. Raises NoAnswers."""
    name = re.compile(rf"{re.escape(chapter)}_[a-z0-9_]+\.ipynb")
    found = [path for path in sorted(work.glob(f"{chapter}_*.ipynb")) if name.fullmatch(path.name)]
    if not found:
        raise NoAnswers(
            f"there is no notebook of chapter {chapter} in {work}: `memlessons start {chapter}` copies one, "
            f"or name your file: `memlessons check {chapter} answers.py`"
        )
    return found[0]
