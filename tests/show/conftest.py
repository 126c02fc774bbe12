"""Every test of this folder has a work folder of its own, and its own memory of guesses."""

import pytest


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    from memlessons.show import guesses

    folder = tmp_path / "work"
    monkeypatch.setenv("MEMLESSONS_WORK", str(folder))
    monkeypatch.setattr(guesses, "_here", {})
    return folder
