"""What the sizer is asked: a model, how many readers at which context, in which formats, on which card.

The state is a value; the plan follows from it in one place, `SizerState.plan`. A new control of the sizer
is one field here, one line there, and one widget in `sizer_controls`.
"""

from dataclasses import dataclass, replace
from typing import Any

from memlessons.cost import Accelerator
from memlessons.cost import get as accelerator
from memlessons.errors import MemlessonsError
from memlessons.plan import MemoryPlan, presets
from memlessons.plan.formats import format_named
from memlessons.plan.presets import Preset


class ImpossibleState(MemlessonsError, ValueError):
    """The sizer was asked for no tokens or no readers, or by a field that it does not have."""


@dataclass(frozen=True, slots=True)
class SizerState:
    """One question to the sizer: `batch` readers (sequences) of `context` tokens each, on one `card`.

    `preset` and `card` are names in any case (`presets.names()`, `cost.accelerators()`), the formats names
    of `plan.FORMATS`. Raises UnknownPreset, UnknownAccelerator, InvalidPlan for an unknown format and
    ImpossibleState for a context or batch below 1.

    `context` is what was asked, and may be longer than the model was trained to read: then
    `context_read` is as far as it goes, and the sizing says so in a note. So the wish survives a look at
    a model with a shorter memory.
    """

    preset: str = "llama-3.1-8b"
    context: int = 4096
    batch: int = 1
    key_format: str = "bf16"
    value_format: str = "bf16"
    card: str = "RTX 4090"

    def __post_init__(self) -> None:
        # One spelling for each name, so that equal questions are equal values.
        object.__setattr__(self, "preset", presets.get(self.preset).name)
        object.__setattr__(self, "card", accelerator(self.card).name)
        format_named(self.key_format)
        format_named(self.value_format)
        for name in ("context", "batch"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                unit = "tokens" if name == "context" else "readers"
                raise ImpossibleState(f"{name}={value!r}: give a whole number of {unit}, at least 1")

    def with_(self, **changed: Any) -> "SizerState":
        """The same question with these fields changed; ImpossibleState for a field that does not exist."""
        unknown = changed.keys() - set(self.__slots__)
        if unknown:
            raise ImpossibleState(
                f"{', '.join(sorted(unknown))}: not a field of the sizer; it has {', '.join(self.__slots__)}"
            )
        return replace(self, **changed)

    @property
    def model(self) -> Preset:
        """The preset: its own plan, its weights and how far it was trained to read."""
        return presets.get(self.preset)

    @property
    def accelerator(self) -> Accelerator:
        """The card's figures."""
        return accelerator(self.card)

    @property
    def context_read(self) -> int:
        """Tokens of one reader, at most as many as the model was trained to read."""
        return min(self.context, self.model.longest_context)

    def plan(self) -> MemoryPlan:
        """What the model remembers, once everything that the state says is applied to it."""
        return self.model.plan.with_format(format_named(self.key_format), format_named(self.value_format))
