"""What the sizer is asked: a model, sequences, formats, cards, an engine, and what-if edits.

The state is a value, and a question follows from it in one place: every number comes from
`answer(state.question())`, as on the command line. A new control of the sizer is one field here, one
line in `published`, and one widget in `sizer_controls`.
"""

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from memlessons.cost import get as accelerator
from memlessons.errors import MemlessonsError
from memlessons.plan import presets
from memlessons.plan.formats import format_named
from memlessons.show.sizer_machine import THIS_MACHINE, this_machine
from memlessons.sizing import Answer, Model, Question, answer, resolve
from memlessons.sizing.models import of_text
from memlessons.sizing.reserved import reserved_bytes
from memlessons.sizing.whatif import Edit, WaterfallStep, possible, waterfall
from memlessons.units import GIB


class ImpossibleState(MemlessonsError, ValueError):
    """The sizer was asked for something that cannot be, or by a field that it does not have."""


@dataclass(frozen=True, slots=True)
class SizerState:
    """One question to the sizer: `batch` sequences of `context` tokens each, on `tp` cards of one kind.

    `preset` and `card` are names in any case (`presets.names()`, `cost.accelerators()`, "this machine"), the
    formats names of `plan.FORMATS`, `engine` one of `plan.engines.ENGINES`. `config`, the text of a
    config.json, takes the preset's place. `edits` change the model, in their order; one that the model cannot
    take is left out, and its waterfall step says why. `reserve_gib` of each card are kept free. Raises
    UnknownPreset, UnknownAccelerator, UnknownEngine, BadConfig, UnknownArchitecture, ImpossibleState,
    BadEngineArgument where the engine does not store these formats, and InvalidPlan for an unknown one.

    `context` is what was asked, and may be longer than the model was made to read: then `context_read` is
    as far as it goes, and a note says so. So the wish survives a look at a model with a shorter memory.
    """

    preset: str = "llama-3.1-8b"
    context: int = 4096
    batch: int = 1
    key_format: str = "bf16"
    value_format: str = "bf16"
    card: str = "RTX 4090"
    tp: int = 1
    engine: str = "ideal"
    config: str | None = field(default=None, repr=False)
    edits: tuple[Edit, ...] = ()
    reserve_gib: float = 0

    def __post_init__(self) -> None:
        # One spelling for each name, so that equal questions are equal values.
        object.__setattr__(self, "preset", presets.get(self.preset).name)
        object.__setattr__(self, "card", _card_name(self.card))
        object.__setattr__(self, "edits", tuple(self.edits))
        format_named(self.key_format)
        format_named(self.value_format)
        for name, unit in (("context", "tokens"), ("batch", "sequences"), ("tp", "cards")):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ImpossibleState(f"{name}={value!r}: give a whole number of {unit}, at least 1")
        free = self.reserve_gib
        if not isinstance(free, int | float) or not (math.isfinite(free) and 0 <= free < 2**20):
            raise ImpossibleState(f"reserve_gib={free!r}: give the GiB kept free of each card, 0 or more")
        asked = self.question()
        reserved_bytes(asked, asked.context, asked.batch)  # refuses what the engine does not store

    def with_(self, **changed: Any) -> "SizerState":
        """The same question with these fields changed; ImpossibleState for a field that does not exist."""
        unknown = changed.keys() - set(self.__slots__)
        if unknown:
            raise ImpossibleState(
                f"{', '.join(sorted(unknown))}: not a field of the sizer; it has {', '.join(self.__slots__)}"
            )
        return replace(self, **changed)

    @property
    def model(self) -> Model:
        """The model as published: the preset, or what `config` describes."""
        return _model(self.preset, self.config)

    @property
    def context_read(self) -> int:
        """Tokens of one sequence, at most as many as the model was made to read."""
        return min(self.context, self.model.longest_context or self.context)

    def published(self) -> Question:
        """The question about the model as published."""
        formats = (self.key_format, self.value_format)
        found = this_machine() if self.card == THIS_MACHINE else None
        return Question(
            self.model,
            context=self.context_read,
            batch=self.batch,
            kv_dtype=formats[0] if formats[0] == formats[1] else "/".join(formats),
            card=accelerator(self.card) if found is None else found.accelerator,
            tp=self.tp,
            engine=self.engine,
            reserve_bytes=round(self.reserve_gib * GIB),
            visible_bytes=None if found is None else found.visible_bytes,
        )

    def question(self) -> Question:
        """The question about the model with the edits that it can take."""
        return possible(self.published(), self.edits)[0]

    def answer(self) -> Answer:
        """All numbers of this state."""
        return answer(self.question())

    def waterfall(self) -> tuple[WaterfallStep, ...]:
        """One sequence's bytes as published, and after each edit."""
        return waterfall(self.published(), self.edits)


@lru_cache(maxsize=32)
def _model(preset: str, config: str | None) -> Model:
    return resolve(preset) if config is None else of_text(config)


def _card_name(name: str) -> str:
    if str(name).strip().lower() != THIS_MACHINE:
        return accelerator(name).name
    if this_machine() is None:
        raise ImpossibleState(
            "card='this machine': nothing is known of it yet; `memlessons.measure.machine()` measures it"
        )
    return THIS_MACHINE
