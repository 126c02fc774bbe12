"""What-if edits: what a model keeps is changed step by step, and each step says by what factor it shrank."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Literal, get_args

from memlessons.errors import MemlessonsError
from memlessons.plan import MemoryPlan
from memlessons.plan.errors import InvalidPlan
from memlessons.plan.formats import formats_named
from memlessons.sizing.question import Question
from memlessons.sizing.reshaped import fewer_kv_heads, windows

Kind = Literal["fewer_kv_heads", "one_kv_head", "latent", "format", "window", "share"]

ROPE_WIDTH = 64
"""Numbers beside a latent that carry the position, as in DeepSeek-V2, arXiv:2405.04434."""
_LEAST = {"fewer_kv_heads": 2, "latent": 1, "window": 1, "share": 2}
_MOST = 2**40


class CannotEdit(MemlessonsError, ValueError):
    """An edit that cannot be, or that this plan cannot take; the message names it and what is in its way."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One change to what a model keeps; what `number` means depends on `kind`.

    "fewer_kv_heads": KV heads divided by `number`. "one_kv_head": one for all query heads. "latent":
    `number` numbers and 64 for RoPE in place of K and V. "format": K and V in `format`, or K/V. "window":
    the last `number` tokens, beside the first `sinks`, in all layers that attend but every `every`-th (in
    all if 0). "share": of the layers that keep the same, runs of `number` share one cache. Raises
    CannotEdit.
    """

    kind: Kind
    number: int = 0
    format: str = ""
    every: int = 0
    sinks: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise CannotEdit(f"Edit.kind={str(self.kind)[:40]!r}: must be one of {', '.join(get_args(Kind))}")
        least = _LEAST.get(self.kind, 0)
        for name, lowest in (("number", least), ("every", 0), ("sinks", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= _MOST:
                raise CannotEdit(f"Edit({self.kind!r}).{name}={str(value)[:40]}: must be {lowest} or more")
        if self.every == 1:
            raise CannotEdit("Edit('window').every=1: no layer gets a window; give 2 or more, or 0 for all")
        if self.kind == "format":
            try:
                formats_named(self.format)
            except InvalidPlan as error:
                raise CannotEdit(f"Edit('format'): {error}") from None

    @property
    def name(self) -> str:
        """The edit in a few words."""
        if self.kind == "window":
            where = f" but in every {_ordinal(self.every)}" if self.every else ""
            first = f" + {self.sinks} sinks" if self.sinks else ""
            return f"windows of {self.number:,}{first}{where}"
        return {
            "fewer_kv_heads": f"KV heads divided by {self.number}",
            "one_kv_head": "one KV head",
            "latent": f"latent of {self.number:,} + {ROPE_WIDTH}",
            "format": f"K and V in {self.format}",
            "share": f"{self.number} neighbours share",
        }[self.kind]

    @property
    def code(self) -> str:
        """The edit as Python, without what is at its default."""
        given = [repr(self.kind)]
        given += [
            f"{field.name}={value!r}"
            for field in fields(self)[1:]
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"Edit({', '.join(given)})"


@dataclass(frozen=True, slots=True)
class WaterfallStep:
    """One sequence after an edit: its bytes, how many times less that is than before, and than published.

    `refused` says, where the plan could not take the edit, why; nothing changed then.
    """

    name: str
    bytes: int
    factor: float
    running: float
    refused: str = ""


def edited(question: Question, edits: Sequence[Edit]) -> Question:
    """The same question after these edits, in their order; CannotEdit for the first that fails."""
    for edit in edits:
        question = _edited(question, edit)
    return question


def possible(question: Question, edits: Sequence[Edit]) -> tuple[Question, tuple[str, ...]]:
    """As `edited`, but an edit that fails is left out; and for each edit "" or why it failed."""
    refused = []
    for edit in edits:
        why = ""
        try:
            question = _edited(question, edit)
        except CannotEdit as error:
            why = str(error)
        refused.append(why)
    return question, tuple(refused)


def waterfall(question: Question, edits: Sequence[Edit]) -> tuple[WaterfallStep, ...]:
    """Bytes of one sequence at the asked context: as published, then after each edit."""
    published = before = _bytes(question)
    steps = [WaterfallStep("as published", published, 1.0, 1.0)]
    for edit in edits:
        question, (refused,) = possible(question, [edit])
        after = _bytes(question)
        steps.append(
            WaterfallStep(
                edit.name, after, _times_less(before, after), _times_less(published, after), refused
            )
        )
        before = after
    return tuple(steps)


def _bytes(question: Question) -> int:
    return question.plan.bytes(question.context, encoder_tokens=question.encoder)


def _times_less(before: int, after: int) -> float:
    if after:
        return before / after
    return float("inf") if before else 1.0


def _edited(question: Question, edit: Edit) -> Question:
    model = question.model
    if edit.kind == "format":
        # The question says how K and V are stored, whatever their shape.
        if not any(s.grows_with != "nothing" for layer in model.plan.layers for s in layer.stores):
            raise CannotEdit(f"{edit.name}: this model keeps a state and no K and V")
        return question.with_(kv_dtype=edit.format)
    # A configuration describes the model as published, and its rules made that.
    return question.with_(model=replace(model, plan=_changed(model.plan, edit), config=None, rules=()))


# Moving a control asks for the same edits of the same plan again and again.
@lru_cache(maxsize=256)
def _changed(plan: MemoryPlan, edit: Edit) -> MemoryPlan:
    try:
        if edit.kind == "fewer_kv_heads":
            return fewer_kv_heads(plan, edit.number)
        if edit.kind == "one_kv_head":
            return plan.with_kv_heads(1)
        if edit.kind == "latent":
            return plan.with_latent(edit.number, ROPE_WIDTH)
        if edit.kind == "window":
            return windows(plan, edit.number, edit.every, edit.sinks)
        return plan.with_sharing(edit.number)
    except InvalidPlan as error:
        raise CannotEdit(f"{edit.name}: {error}") from None


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 not in (11, 12, 13) else 0, "th")
    return f"{number}{ending}"
