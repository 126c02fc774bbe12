"""Commit first: a guess is written down before the measurement, and shown beside it. Never graded."""

import json
import math
from datetime import date
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.places import work_folder
from memlessons.show.keep import NotKept, read_json, update_json
from memlessons.show.shell import code_span, say
from memlessons.show.values import number_text, value_text

# What this process was told: a guess of None means "show me the value alone", whatever was kept earlier.
_here: dict[str, tuple[float | None, str]] = {}


class GuessNotANumber(MemlessonsError, TypeError):
    """A guess is something else than a number or None; shown to the reader, never raised at them."""


def predict(chapter: str, value: float | None, *, unit: str = "") -> float | None:
    """Write down a guess for `chapter` ("07", or "01b" for its second question); returns it.

    None is no guess: the chapter goes on and an earlier guess in the work folder stays. Anything but a
    number is answered with a message, and counts as None; it never stops the run.
    """
    guess, complaint = _number(value)
    if complaint:
        say(f"**{GuessNotANumber.__name__}**: {complaint}. The page goes on without a guess.")
    _here[chapter] = (guess, unit)
    if guess is not None:
        say(f"Written down: **{value_text(guess, unit)}**.")
        _keep(chapter, {"guess": guess, "unit": unit, "guessed": date.today().isoformat()})
    return guess


def reveal(chapter: str, value: float, *, unit: str | None = None, how: str = "measured") -> None:
    """Show the measured `value` beside the guess for `chapter`, with their ratio; alone without a guess.

    `unit` is the one given to `predict` unless stated here; `how` says where the value is from, such as
    "counted". The value is kept beside the guess; NaN
    stands for an outcome that did not show.
    """
    guess, unit = _guess(chapter, unit)
    measured, _ = _number(value)
    if isinstance(value, float) and math.isnan(value):
        say("Nothing to hold a guess against: on this machine it did not show.")
        return
    if measured is None:
        say(f"{how.capitalize()}: **{code_span(str(value))}**.")
        return
    shown = value_text(measured, unit)
    if guess is None:
        say(f"{how.capitalize()}: **{shown}**.")
    else:
        guessed = value_text(guess, unit)
        say(f"Your guess: **{guessed}** · {how}: **{shown}** · {_compare(guess, measured)}.")
    _keep(chapter, {"value": measured, "unit": unit, "measured": date.today().isoformat()})


def guesses() -> dict[str, dict[str, Any]]:
    """All guesses and values kept so far, by chapter: {"07": {"guess": 30.0, "value": 11.3, "unit": ...}}."""
    data, _ = read_json(work_folder() / "guesses.json", _ours)
    return {} if data is None else dict(data["guesses"])


def _compare(guess: float, value: float) -> str:
    if guess == value:
        return "exactly"
    if guess * value <= 0:
        return f"off by {number_text(abs(guess - value))}"
    ratio = guess / value
    factor, word = (ratio, "high") if abs(guess) > abs(value) else (1 / ratio, "low")
    if factor < 1.1:
        return "within a tenth of it"
    return f"the guess is {number_text(factor)} times too {word}"


def _guess(chapter: str, unit: str | None) -> tuple[float | None, str]:
    if chapter in _here:
        guess, stored = _here[chapter]
    else:
        entry = guesses().get(chapter, {})
        guess, stored = _number(entry.get("guess"))[0], str(entry.get("unit", ""))
    return guess, stored if unit is None else unit


def _number(value: Any) -> tuple[float | None, str]:
    """A finite number and "", or None and what is wrong with it."""
    if value is None:
        return None, ""
    if isinstance(value, str):
        try:
            float(value.replace(",", ""))
        except ValueError:
            return None, f"a guess is a number, you wrote the text {code_span(value)}"
        return None, f"a guess is a number, you wrote the text {code_span(value)}: leave out the quotes"
    try:
        if isinstance(value, bool):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None, f"a guess is a number, you gave {code_span(f'{type(value).__name__} {value!r}'[:80])}"
    if not math.isfinite(number):
        return None, f"a guess is a finite number, you gave {code_span(repr(value))}"
    return int(value) if isinstance(value, int) else number, ""


def _keep(chapter: str, entry: dict[str, Any]) -> None:
    def change(data: dict[str, Any]) -> None:
        data["guesses"].setdefault(chapter, {}).update(json.loads(json.dumps(entry)))

    try:
        note = update_json(work_folder() / "guesses.json", change, _ours, {"format": 1, "guesses": {}})
    except NotKept as error:
        note = f"{error} (this run remembers it all the same)"
    if note:
        say(f"Note: {note}.")


def _ours(data: Any) -> bool:
    kept = data.get("guesses") if isinstance(data, dict) else None
    return isinstance(kept, dict) and all(isinstance(entry, dict) for entry in kept.values())
