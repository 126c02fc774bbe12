"""Inputs for a check, drawn by Hypothesis: another hundred each time, the same again for a given seed."""

import secrets
from typing import Any

from memlessons.coursework.copies import plain_key
from memlessons.coursework.exercise import Exercise, Inputs

_BACKEND = "memlessons"


def fresh_seed() -> int:
    """A seed that nobody can know before: six digits, short enough to be typed again."""
    return secrets.randbelow(900_000) + 100_000


def draw_inputs(exercise: Exercise, seed: int, count: int | None = None) -> tuple[Inputs, ...]:
    """`count` inputs (`exercise.draws` if None), the simplest one first, the same for the same seed.

    Fewer where plain inputs repeat. Hypothesis only generates here: no database, no file, no deadline, no
    shrinking. The caller passes copies on, so that nobody changes an input for the next one.
    """
    # Imported on first use: a reader who reads pays nothing for it.
    import hypothesis

    _register()
    drawn: list[Inputs] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        backend=_BACKEND,
        max_examples=exercise.draws if count is None else count,
        phases=[hypothesis.Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    @hypothesis.given(exercise.draw())
    def collect(inputs: Inputs) -> None:
        drawn.append(inputs)

    collect()
    return tuple(_distinct(drawn))


def _distinct(drawn: list[Inputs]) -> list[Inputs]:
    """Each plain input once: where there are few to draw from, a check need not repeat itself."""
    first: dict[str, Inputs] = {}
    for place, inputs in enumerate(drawn):
        first.setdefault(plain_key(inputs) or str(place), inputs)
    return list(first.values())


def _register() -> None:
    """Hypothesis's own generator without constants found in the sources that happen to be loaded.

    Those would make draws depend on what was imported before, and are kept in a `.hypothesis` folder
    wherever the reader happens to be.
    """
    from hypothesis.internal.conjecture import providers

    if _BACKEND in providers.AVAILABLE_PROVIDERS:
        return

    class WithoutConstants(providers.HypothesisProvider):
        def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
            return None

    providers.AVAILABLE_PROVIDERS[_BACKEND] = WithoutConstants
