"""What the sizer is asked: a model, how many sequences how long, in which formats, on which cards."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from memlessons.cost import Accelerator, Lengths
from memlessons.errors import MemlessonsError
from memlessons.plan import MemoryPlan, Weights
from memlessons.plan.engines import ENGINES, UnknownEngine
from memlessons.plan.engines.packed import formats_asked, in_formats
from memlessons.sizing.models import Model
from memlessons.units import GIB, KIB, MIB

LONGEST = 2**40
MOST_SEQUENCES = 2**30
MOST_DEVICES = 2**16


class BadQuestion(MemlessonsError, ValueError):
    """The sizer was asked for something that cannot be; the message names the field and the value."""


@dataclass(frozen=True, slots=True)
class Question:
    """`batch` sequences of `context` tokens each on `tp` devices of one kind.

    `kv_dtype` is a format or "K/V" where they differ. `engine` is whose reservation counts for what fits;
    "ideal" counts what is kept and nothing more. `reserve_bytes` of each device are for other things (the
    driver's context, activations, graphs); `visible_bytes` is what a program sees of it, where it is known.
    `lengths`, if given, are how requests vary. `encoder_tokens` is what cross-attention keeps. Raises
    BadQuestion, UnknownEngine, or InvalidPlan for a format.
    """

    model: Model
    context: int = 4096
    batch: int = 1
    kv_dtype: str = "bf16"
    card: Accelerator | None = None
    tp: int = 1
    engine: str = "ideal"
    reserve_bytes: int = 0
    visible_bytes: int | None = None
    encoder_tokens: int | None = None
    lengths: Lengths | None = None
    draft: bool = False

    def __post_init__(self) -> None:
        limits = (("context", 1, LONGEST), ("batch", 1, MOST_SEQUENCES), ("tp", 1, MOST_DEVICES))
        for name, least, most in (*limits, ("reserve_bytes", 0, 2**60)):
            _whole(name, getattr(self, name), least, most)
        for name in ("visible_bytes", "encoder_tokens"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 0, 2**60)
        if not isinstance(self.engine, str) or self.engine not in ENGINES:
            named = str(self.engine)[:40]
            raise UnknownEngine(f"engine {named!r} is not known; known are {', '.join(ENGINES)}")
        kinds = (("model", Model), ("card", Accelerator), ("lengths", Lengths))
        for name, kind in kinds:
            value = getattr(self, name)
            if not isinstance(value, kind) and (value is not None or name == "model"):
                raise BadQuestion(f"{name}={str(value)[:40]!r}: must be a {kind.__name__}")
        formats_asked(self.kv_dtype)

    def with_(self, **changed: Any) -> "Question":
        """The same question with these fields changed."""
        return replace(self, **changed)

    @property
    def plan(self) -> MemoryPlan:
        """What the model keeps, in the formats asked for."""
        return _in_formats(self.model.plan, self.kv_dtype)

    @property
    def weights(self) -> Weights | None:
        """The model's weights; None where they are not known."""
        return self.model.weights

    @property
    def encoder(self) -> int:
        """Tokens that cross-attention keeps: asked for, else the encoder's whole reach, else the context."""
        if self.encoder_tokens is not None:
            return self.encoder_tokens
        return self.model.encoder_tokens or self.context

    @property
    def card_bytes(self) -> int | None:
        """Bytes of one device before the reserve; None without a card."""
        if self.visible_bytes is not None:
            return self.visible_bytes
        return None if self.card is None else self.card.usable_bytes


# An answer asks for its plan again and again, and a widget for an answer at each move of a control.
@lru_cache(maxsize=64)
def _in_formats(plan: MemoryPlan, kv_dtype: str) -> MemoryPlan:
    return in_formats(plan, kv_dtype)


def _whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        said = str(value)[:40] if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
        raise BadQuestion(f"{name}={said}: must be a whole number from {least:,} to {most:,}")


_SIZES = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": KIB, "mib": MIB, "gib": GIB, "tib": 1024 * GIB,
}  # fmt: skip
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


def length(text: str) -> int:
    """A number of tokens from "131072", "131,072", "128k" or "1m"; k is 1,024 of them, m 1,024 k."""
    return _scaled("a length", text, {"": 1, "k": 1024, "m": 1024**2})


def size(text: str) -> int:
    """Bytes from "4.9GB" (10^9), "8GiB" (2^30) or a plain number."""
    return _scaled("a size", text, _SIZES)


def count(text: str) -> int:
    """A count from "8B", "135M" or a plain number; B is 10^9."""
    return _scaled("a count", text, _COUNTS)


def _scaled(what: str, text: str, units: dict[str, int]) -> int:
    match = re.fullmatch(r"\s*([0-9][0-9_,]{0,20}(?:\.[0-9]{1,9})?)\s*([A-Za-z]{0,3})\s*", text)
    unit = units.get(match.group(2).lower()) if match else None
    if match is None or unit is None or ("." in text and unit == 1):
        known = ", ".join(name for name in units if name)
        raise BadQuestion(f"{text[:40]!r} is not {what}: give a number, and one of {known} if you like")
    whole, _, fraction = match.group(1).replace(",", "").replace("_", "").partition(".")
    # Exactly: a float has no room for the last tokens of a long number.
    value = int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)
    if value < 1:
        raise BadQuestion(f"{text[:40]!r} is not {what}: must be at least 1")
    return value
