"""A work folder of a test's own, and made-up exercises where the catalogue looks."""

import importlib
from pathlib import Path

import pytest

from memlessons.coursework import reader
from memlessons.coursework.catalogue import UnknownExercise
from tests.coursework.samples import in_place, pinned, sums


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    """An empty work folder, not made yet."""
    folder = tmp_path / "work"
    monkeypatch.setenv("MEMLESSONS_WORK", str(folder))
    monkeypatch.setattr(reader, "_hints", {})
    return folder


@pytest.fixture
def made_up(monkeypatch, work):
    """Exercises 98.1, 98.2 and 99.1 of the samples instead of those of the catalogue."""
    exercises = {"98.1": sums(), "98.2": in_place(), "99.1": pinned(id="99.1", title="Pinned")}
    names = {id: exercise.title.lower() for id, exercise in exercises.items()}

    def find(id):
        if id not in exercises:
            raise UnknownExercise(f"there is no exercise {id!r}")
        return exercises[id]

    for name in ("catalogue", "reader", "check_command", "progress"):
        module = importlib.import_module(f"memlessons.coursework.{name}")
        for attribute, value in (("find", find), ("exercise_names", lambda: names)):
            if hasattr(module, attribute):
                monkeypatch.setattr(module, attribute, value)
    return exercises
