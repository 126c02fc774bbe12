"""Guesses are written down, shown beside the value, and never stop a run."""

import json

import numpy
import pytest

from memlessons.show import guesses
from memlessons.show.guesses import predict, reveal


def kept(work):
    return json.loads((work / "guesses.json").read_text())["guesses"]


def test_guess_and_value_stand_side_by_side_with_their_ratio(work, capsys):
    assert predict("00", 16, unit="times") == 16
    reveal("00", 1.8)
    out = capsys.readouterr().out
    assert out == (
        "Written down: 16 times.\n"
        "Your guess: 16 times · measured: 1.8 times · the guess is 8.89 times too high.\n"
    )
    assert kept(work)["00"]["guess"] == 16
    assert kept(work)["00"]["value"] == 1.8
    assert kept(work)["00"]["unit"] == "times"


@pytest.mark.parametrize(
    ("guess", "value", "words"),
    [
        (5, 5, "exactly"),
        (5, 5.2, "within a tenth of it"),
        (2, 10, "5 times too low"),
        (10, 2, "5 times too high"),
        (0, 3, "off by 3"),
        (-1, 2, "off by 3"),
        (3, 0, "off by 3"),
        (-8, -2, "4 times too high"),
    ],
)
def test_the_comparison_is_fair_at_any_sign(capsys, guess, value, words):
    predict("01", guess)
    reveal("01", value)
    assert words in capsys.readouterr().out


def test_without_a_guess_the_value_stands_alone(work, capsys):
    assert predict("07", None, unit="perplexity") is None
    assert not (work / "guesses.json").exists()
    reveal("07", 11.3)
    assert capsys.readouterr().out == "Measured: perplexity 11.3.\n"


def test_a_run_without_a_guess_keeps_an_earlier_one(work, capsys, monkeypatch):
    predict("07", 30, unit="perplexity")
    predict("07", None, unit="perplexity")
    reveal("07", 11.3)
    assert "Your guess" not in capsys.readouterr().out
    assert kept(work)["07"]["guess"] == 30
    # A new process that never asked shows what was written down earlier.
    monkeypatch.setattr(guesses, "_here", {})
    reveal("07", 11.3)
    assert "Your guess: perplexity 30 · measured: perplexity 11.3" in capsys.readouterr().out


def test_two_questions_of_a_chapter_and_two_chapters_are_kept_apart(work):
    predict("01a", 9, unit="layers")
    predict("01b", 256, unit="times")
    predict("02", 1)
    assert {k: v["guess"] for k, v in guesses.guesses().items()} == {"01a": 9, "01b": 256, "02": 1}


@pytest.mark.parametrize(
    "wrong", ["sixteen", "16", [16], {"a": 1}, float("nan"), float("inf"), True, object(), 3j]
)
def test_a_guess_that_is_no_number_gets_a_named_message_and_the_run_goes_on(work, capsys, wrong):
    assert predict("00", wrong, unit="times") is None
    out = capsys.readouterr().out
    assert out.startswith("GuessNotANumber: ")
    assert "goes on without a guess" in out
    assert ("leave out the quotes" in out) == (wrong == "16")
    reveal("00", 2.0)
    assert capsys.readouterr().out == "Measured: 2 times.\n"


@pytest.mark.parametrize("value", [numpy.float32(1.5), numpy.int64(3), 2, 0.25])
def test_numbers_of_other_libraries_are_numbers(work, value):
    assert predict("00", value) == value
    assert kept(work)["00"]["guess"] == float(value)


def test_a_corrupt_file_is_moved_aside_and_said(work, capsys):
    work.mkdir()
    (work / "guesses.json").write_text("{torn")
    predict("00", 4)
    assert "guesses.json is not JSON: moved aside to guesses.json.broken-1" in capsys.readouterr().out
    assert (work / "guesses.json.broken-1").read_text() == "{torn"
    assert kept(work)["00"]["guess"] == 4


def test_a_folder_that_cannot_be_written_does_not_stop_the_run(work, capsys):
    work.write_text("a file where the folder should be")
    predict("00", 4)
    reveal("00", 2)
    out = capsys.readouterr().out
    assert "this run remembers it all the same" in out
    assert "Your guess: 4 · measured: 2 · the guess is 2 times too high." in out


def test_a_value_that_is_no_number_is_shown_as_it_is(capsys):
    reveal("00", "a <b> word")
    assert capsys.readouterr().out == "Measured: a <b> word.\n"


def test_an_outcome_that_did_not_show_is_no_value(work, capsys):
    predict("01", 12, unit="layers")
    reveal("01", float("nan"))
    assert capsys.readouterr().out.endswith("on this machine it did not show.\n")
    assert "value" not in kept(work)["01"]


def test_a_value_that_was_not_measured_says_where_it_is_from(capsys: pytest.CaptureFixture[str]) -> None:
    predict("x1", None, unit="readers")
    reveal("x1", 30, how="counted")
    predict("x2", 10, unit="readers")
    reveal("x2", 30, how="counted")
    said = capsys.readouterr().out
    assert "Counted: 30 readers." in said and "counted: 30 readers" in said and "easured" not in said
