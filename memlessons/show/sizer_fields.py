"""One widget for each field of a sizer's state, in reading order."""

from collections.abc import Sequence
from typing import Any

import ipywidgets

from memlessons.cost import accelerators
from memlessons.plan import FORMATS, Format, presets
from memlessons.plan.engines import ENGINES
from memlessons.show.sizer_machine import THIS_MACHINE, this_machine
from memlessons.show.sizer_state import SizerState

MOST_SEQUENCES = 1024
MOST_TOKENS = 2**20
"""How far a slider goes where nobody says how far a model reads."""
OWN = ""
"""In the list of models: the reader's own configuration."""
_STEPS_AN_OCTAVE = 8
_CARDS = (1, 2, 4, 8, 16, 32, 64)


def fields_of(state: SizerState) -> dict[str, Any]:
    """The widgets by the field's name, standing at this state."""
    formats = [(_format_name(f), f.name) for f in FORMATS.values()]
    models = [*((name, name) for name in presets.names()), ("your own config.json", OWN)]
    return {
        "preset": _dropdown("model", models, state.preset),
        "context": _slider("context", contexts(state), state.context_read),
        "batch": _slider("sequences", stops(MOST_SEQUENCES, state.batch), state.batch),
        "key_format": _dropdown("K stored as", formats, state.key_format),
        "value_format": _dropdown("V stored as", formats, state.value_format),
        "card": _dropdown("card", _cards(), state.card),
        "tp": _dropdown("cards", sorted({*_CARDS, state.tp}), state.tp),
        "engine": _dropdown("engine", list(ENGINES), state.engine),
        "reserve_gib": _number("reserve, GiB", state.reserve_gib),
    }


def stops(most: int, also: int) -> list[int]:
    """Where a log slider stops: from 1 to `most`, powers of two and eighths between them, and at `also`."""
    found = {most, also}
    power = 1
    while power <= most:
        eighths = (power + power * i // _STEPS_AN_OCTAVE for i in range(_STEPS_AN_OCTAVE))
        found |= {n for n in eighths if n <= most}
        power *= 2
    return sorted(found)


def contexts(state: SizerState) -> list[int]:
    """Where the slider of the context stops."""
    return stops(state.model.longest_context or max(MOST_TOKENS, state.context), state.context_read)


def _cards() -> list[tuple[str, str]]:
    """This machine first, if it is known, then the table."""
    here = this_machine()
    known = [(card.name, card.name) for card in accelerators()]
    return known if here is None else [(f"{THIS_MACHINE}: {here.accelerator.name}", THIS_MACHINE), *known]


def labelled(values: Sequence[int]) -> list[tuple[str, int]]:
    """Stops of a slider with what stands beside it."""
    return [(f"{value:,}", value) for value in values]


def _dropdown(name: str, options: Sequence[Any], value: Any) -> Any:
    return ipywidgets.Dropdown(description=name, options=options, value=value, **_look())


def _slider(name: str, values: Sequence[int], value: int) -> Any:
    options = labelled(values)
    return ipywidgets.SelectionSlider(description=name, options=options, value=value, **_look())


def _number(name: str, value: float) -> Any:
    return ipywidgets.BoundedFloatText(
        description=name, value=value, min=0, max=2**20 - 1, step=0.5, **_look()
    )  # fmt: skip


def _look() -> dict[str, Any]:
    return {"style": {"description_width": "84px"}, "layout": {"width": "330px"}}


def _format_name(format: Format) -> str:
    """A format with what a number takes, scales included where they come with so many numbers."""
    if format.scale_bits and format.group is None:
        return f"{format.name}: {format.bits} bits and a scale a row"
    bits = format.bits + (format.scale_bits / format.group if format.group else 0)
    return f"{format.name}: {bits:g} bits"
