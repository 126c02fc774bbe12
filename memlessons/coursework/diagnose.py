"""From outcomes to one diagnosis. Pure: nothing is run here but named mistakes, on first need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from memlessons.coursework.cases import Cases
from memlessons.coursework.compact import call_lines, clipped, compact
from memlessons.coursework.compare import same
from memlessons.coursework.exercise import Mistake
from memlessons.coursework.exposing import Exposure
from memlessons.coursework.feedback import Feedback, Verdict, repeated_with
from memlessons.coursework.finite import finite
from memlessons.coursework.outcome import Raised, outcome_difference, outcomes_agree
from memlessons.coursework.running import Run
from memlessons.errors import MemlessonsError


def diagnose(cases: Cases, run: Run, seconds: float) -> Feedback:
    """The feedback for an answer's run, without what depends on the answer's source.

    A mistake is recognised where the answer agrees with it on every input on which the mistake differs
    from the reference. One that explains at least half of what is wrong comes before all else; one that
    explains less comes last, for a constant answer may agree with a mistake on its one pinned input; and
    one that shows on pinned inputs alone does not come at all where most of the drawn ones are wrong.
    """
    return replace(_Diagnosis(cases, run).feedback(seconds), printed=run.printed)


class _Diagnosis:
    def __init__(self, cases: Cases, run: Run) -> None:
        self.cases, self.exercise, self.run = cases, cases.exercise, run
        self.got = [outcome.value for outcome in run.outcomes]
        faults = self.exercise.faults
        self.exposure = Exposure(faults, cases.expected, self.got) if faults else None

    def feedback(self, seconds: float) -> Feedback:
        if self.run.called:
            return self._say(
                "write it yourself",
                f"WriteItYourself: it calls `{self.run.called[0]}`.",
                "That does this exercise's job; while a check runs, it is out of reach.",
            )
        if self.run.out_of_time is not None:
            return self._say(
                "too slow",
                f"stopped after {seconds:g} s.",
                "The whole check takes well under a second: is there a loop without an end?",
                self._call(self.run.out_of_time),
                self._seed(),
            )
        self.wrong = self.cases.differing(self.cases.expected, self.got)
        if not self.wrong:
            return self._right()
        steps: Sequence[Callable[[], Feedback | None]] = (
            self._not_done, lambda: self._mistake(0.5), self._raises, self._type_or_shape, self._constant,
            self._echo, self._int_for_float, self._only_the_example, lambda: self._mistake(0.0),
        )  # fmt: skip
        for step in steps:
            if found := step():
                return found
        hint = self.exposure.question if self.exposure else ""
        return self._at("wrong", "not yet.", hint, self._clearest(self.wrong))

    def _right(self) -> Feedback:
        changed = [i for i, outcome in enumerate(self.run.outcomes) if outcome.changed]
        if not changed:
            return self._say("passed", f"passed ({len(self.got)} inputs).")
        place = self._smallest(changed)
        names = " and ".join(f"`{name}`" for name in self.run.outcomes[place].changed)
        return self._say(
            "changed inputs",
            f"the results are right, but it changes {names}.",
            "Whoever passed it in still needs it: work on a copy, or compute a new value.",
            self._call(place),
            self._seed(),
        )

    def _not_done(self) -> Feedback | None:
        if all(isinstance(v, Raised) and isinstance(v.error, NotImplementedError) for v in self.got):
            return self._say("not done", "not done yet.", "It raises NotImplementedError.")
        if all(map(_nothing, self.got)) and not any(o.changed for o in self.run.outcomes):
            if all(isinstance(value, dict) for value in self.got) and not self._left_alone():
                return None
            return self._say("not done", "not done yet.", "It returns None: is there a `return`?")
        return None

    def _left_alone(self) -> bool:
        """Whether the arguments that the answer should have changed are as they were, everywhere."""
        return all(
            same(inputs[name], value[f"{name} afterwards"])
            for inputs, value in zip(self.cases.inputs, self.got, strict=True)
            for name in self.exercise.in_place
        )

    def _mistake(self, least: float) -> Feedback | None:
        matches: list[tuple[int, Mistake, list[int]]] = []
        for mistake in self.exercise.mistakes:
            telling, values = self.cases.telling[mistake.name], self.cases.mistaken[mistake.name]
            tolerance = self.exercise.tolerance
            if least == 0 and self._most_draws_are_wrong() and min(telling, default=0) >= self.cases.drawn:
                continue
            if telling and all(outcomes_agree(values[i], self.got[i], tolerance) for i in telling):
                matches.append((len(telling), mistake, telling))
        if not matches:
            return None
        explained, mistake, telling = max(matches, key=lambda match: match[0])
        if explained < least * len(self.wrong):
            return None
        found = self._at(
            "mistake",
            f'this looks like "{mistake.name}".',
            mistake.hint,
            self._clearest(telling),
        )
        return replace(found, mistake=mistake.name)

    def _most_draws_are_wrong(self) -> bool:
        return 2 * sum(place < self.cases.drawn for place in self.wrong) > self.cases.drawn

    def _raises(self) -> Feedback | None:
        raised = [i for i in self.wrong if isinstance(self.got[i], Raised)]
        if not raised:
            return None
        place = self._smallest(raised)
        error = self.got[place]
        if isinstance(error.error, MemlessonsError) and not error.line:
            # Raised by the exercise's `outcome`, which could do nothing with the answer, and says why.
            said, hint = "what it returns cannot be used.", _sentence(clipped(str(error.error)))
            return self._say("type", said, hint, self._call(place), self._closing())
        found = self._say(
            "raises", f"it raises {clipped(str(error))}", error.line, self._call(place), self._closing()
        )
        return replace(found, trace=error.trace)

    def _type_or_shape(self) -> Feedback | None:
        kinds = {self._difference(i).kind for i in self.wrong}
        if len(kinds) > 1 or kinds == {"value"}:
            return None
        place = self._smallest(self.wrong)
        asked = f" The exercise asks for {self.exercise.outputs}." if self.exercise.outputs else ""
        hint = f"{_sentence(self._difference(place).words)}{asked}"
        if kinds == {"type"}:
            return self._at("type", "the wrong type comes back.", hint, place)
        return self._at("shape", "the wrong shape comes back.", hint, place)

    def _constant(self) -> Feedback | None:
        first = self.got[0]
        if len(self.got) < 3 or not all(same(first, value) for value in self.got[1:]):
            return None
        if all(outcomes_agree(self.cases.expected[0], value, 0.0) for value in self.cases.expected[1:]):
            return None  # the right answer is one value, and this is another
        return self._at(
            "constant",
            f"it gives {compact(first, 50)} whatever comes in.",
            "The inputs are drawn anew each time; the answer has to be computed from them.",
            self._smallest(self.wrong),
        )

    def _echo(self) -> Feedback | None:
        for name in self.exercise.parameters if self.exercise.outcome is None else ():
            if all(same(i[name], value) for i, value in zip(self.cases.inputs, self.got, strict=True)):
                place = self._smallest(self.wrong)
                return self._at("echo", f"it gives back `{name}` as it came in.", "", place)
        return None

    def _int_for_float(self) -> Feedback | None:
        """An int may stand for a float, but not where it has lost what stood behind the point."""
        pairs = [(self.cases.expected[i], self.got[i]) for i in self.wrong]
        if not all(isinstance(one, float) and type(other) is int for one, other in pairs):
            return None
        broken = [i for i in self.wrong if not self.cases.expected[i].is_integer()]
        if not broken:
            return None
        asked = f" The exercise asks for {self.exercise.outputs}." if self.exercise.outputs else ""
        hint = f"Expected a float, got an int: is it rounded, or a division left out?{asked}"
        return self._at("type", "the wrong type comes back.", hint, self._smallest(broken))

    def _only_the_example(self) -> Feedback | None:
        shown, drawn = set(self.cases.shown), range(self.cases.drawn)
        if not shown or shown & set(self.wrong) or not set(drawn) <= set(self.wrong):
            return None
        return self._at(
            "only the example",
            "right for the prompt's example, and for no other input.",
            "Does a number of the example stand in your lines where an argument belongs? If not, the example "
            "is too simple to show the mistake.",
            self._smallest(list(drawn)),
        )

    def _at(self, verdict: Verdict, said: str, hint: str, place: int) -> Feedback:
        """Feedback that shows one input, what was expected there and what came."""
        expected, got = self.cases.expected[place], self.got[place]
        words = self._difference(place).words
        if self.exposure:
            return self._say(verdict, said, hint, self.exposure.lines(), self._closing())
        lines = list(self._call(place))
        if self.exercise.in_place and isinstance(expected, dict) and isinstance(got, dict):
            name = next(
                k for k in expected if not outcomes_agree(expected[k], got[k], self.exercise.tolerance)
            )
            expected, got = expected[name], got[name]
            lines.append(f"{name}:")
        one, other = _shown(expected), _shown(got)
        lines += [f"expected  {one}", f"got       {other}"]
        # In words where the two lines do not show it: clipped, rounded alike, or one part of several.
        if one == other or "…" in one + other or words.split()[0] in ("first", "second", "third"):
            lines.append(words)
        if changed := self.run.outcomes[place].changed:
            lines.append(f"it also changes its input {' and '.join(changed)}")
        return self._say(verdict, said, hint, tuple(lines), self._closing())

    def _say(
        self, verdict: Verdict, said: str, hint: str = "", case: tuple[str, ...] = (), closing: str = ""
    ) -> Feedback:
        return Feedback(self.exercise.id, self.exercise.title, verdict, said, hint, case, closing)

    def _call(self, place: int) -> tuple[str, ...]:
        given = self.exercise.given(self.cases.inputs[place])
        return call_lines(self.exercise.name, given)

    def _difference(self, place: int) -> Any:
        return outcome_difference(self.cases.expected[place], self.got[place], self.exercise.tolerance)

    def _smallest(self, places: Sequence[int]) -> int:
        among = set(places)
        return next(i for i in self.cases.by_size if i in among)

    def _clearest(self, places: Sequence[int]) -> int:
        """The smallest input where numbers are to be seen on both sides, if there is one."""
        clear = [i for i in places if finite(self.cases.expected[i]) and finite(self.got[i])]
        return self._smallest(clear or places)

    def _closing(self) -> str:
        helps = f'`hint("{self.exercise.id}")` helps.'
        if self.exposure:
            return f"{self._seed()} {helps}"
        return f"Wrong for {len(self.wrong)} of {len(self.got)} inputs; {self._seed()} {helps}"

    def _seed(self) -> str:
        again = f"`{repeated_with(self.exercise.id, self.cases.seed)}`"
        if self.exercise.faults:
            return (
                f"{again} takes the same {self.exercise.faults.tried} again, but not the random numbers of "
                "your own lines: give those a seed, too."
            )
        return f"{again} draws the same again."


def _nothing(value: Any) -> bool:
    """Whether an outcome is None, or None beside arguments that were to be changed."""
    return value is None or (isinstance(value, dict) and value.get("what it returns", 0) is None)


def _shown(value: Any) -> str:
    if isinstance(value, Raised):
        return clipped(str(value))
    return compact(value)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}".rstrip(".") + "."
