"""Fixtures of the model's tests: a tiny GGUF file, an empty cache, and SmolLM2 where a test needs it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.model.tiny_gguf import Tiny

if TYPE_CHECKING:
    from memlessons.model.load import LanguageModel


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of this test alone, and no other models: the reader's own are not touched."""
    monkeypatch.setenv("MEMLESSONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MEMLESSONS_MODELS", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def tiny(tmp_path: Path, empty_cache: Path) -> Path:
    """A tiny random llama in a GGUF file, all float32."""
    return Tiny().write(tmp_path / "tiny.gguf")


@pytest.fixture(scope="session")
def smollm2() -> Iterator["LanguageModel"]:
    """SmolLM2, float32, from the reader's own models; fetched if it is not there."""
    from memlessons.model.fetch import fetch
    from memlessons.model.load import load

    fetch("smollm2", progress=False)
    yield load("smollm2")


def leftovers(folder: Path) -> list[str]:
    """Every file below a folder, as relative paths: what an interrupted piece of work left."""
    return (
        sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
        if folder.exists()
        else []
    )
