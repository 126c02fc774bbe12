"""One row of the ledger: what a design stores, moves and computes, how well it does, and who paid."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Literal, get_args

from memlessons.cost.roofline import attention_flops
from memlessons.errors import MemlessonsError
from memlessons.plan import MemoryPlan, Weights

Corner = Literal["compute", "memory", "communication", "quality", "none"]

MEASURED = ("tokens_per_second", "time_to_first_token_seconds", "perplexity")
"""What `row_of` takes from a record's values; each may be missing."""


class UnusableRow(MemlessonsError, ValueError):
    """A row of the ledger misses something, or holds a value that is no measurement."""


@dataclass(frozen=True, slots=True)
class Row:
    """One design in the ledger: what it stores and moves, how fast and how well it does, and who paid.

    Bytes and FLOP are of one sequence at `context` tokens; None is "not measured". `corner` is where the
    saving was paid for: with more arithmetic, more device memory, more communication, or with quality.
    """

    name: str
    chapter: str
    context: int
    stored_bytes_per_token: float
    bytes_read_per_step: int
    flop_per_token: float | None = None
    bytes_sent_per_token: float = 0.0
    tokens_per_second: float | None = None
    time_to_first_token_seconds: float | None = None
    perplexity: float | None = None
    perplexity_spread: float | None = None
    corner: Corner = "none"
    device: str = ""
    date: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise UnusableRow(f"Row.name={self.name!r}: give the design a name, such as 'full attention'")
        if self.corner not in get_args(Corner):
            raise UnusableRow(
                f"Row.corner={self.corner!r}: which corner paid? One of {', '.join(get_args(Corner))}"
            )
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in _NUMBERS and not _is_amount(value) and not (value is None and one.default is None):
                raise UnusableRow(f"Row.{one.name}={value!r}: a number of at least 0 is needed")


_NUMBERS = {
    "context", "stored_bytes_per_token", "bytes_read_per_step", "flop_per_token", "bytes_sent_per_token",
    "tokens_per_second", "time_to_first_token_seconds", "perplexity", "perplexity_spread",
}  # fmt: skip


def row_of(
    name: str,
    plan: MemoryPlan,
    record: Any = None,
    *,
    chapter: str = "",
    context: int | None = None,
    weights: Weights | None = None,
    corner: Corner | None = None,
    bytes_sent: float | None = None,
) -> Row:
    """A row for a plan and what was measured of it.

    Bytes come from `plan` at `context` tokens (or the record's value of that name), FLOP from `weights`
    and the plan's attention, the rest from `record`: a `measure.Record`, or a mapping of values (see
    MEASURED; "provenance" in it is taken too). Raises UnusableRow.
    """
    values, provenance = _of(record)
    tokens = _whole(values.get("context")) if context is None else context
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        raise UnusableRow(
            f"{name!r}: context={tokens!r}; say at how many tokens it was measured, context=2048"
        )
    flops = values.get("flop_per_token")
    if weights is not None:
        flops = 2 * weights.multiplied_parameters + attention_flops(plan, [tokens])
    sent = values.get("bytes_sent_per_token", 0.0) if bytes_sent is None else bytes_sent
    return Row(
        name=name,
        chapter=str(chapter or values.get("chapter", "")),
        context=tokens,
        stored_bytes_per_token=plan.slope(tokens),
        bytes_read_per_step=plan.bytes_read([tokens]),
        flop_per_token=_plain(flops),
        bytes_sent_per_token=_plain(sent),
        perplexity_spread=_spread(values),
        corner=corner or values.get("corner", "none"),
        device=str(provenance.get("device", "")),
        date=str(provenance.get("date") or date.today().isoformat()),
        provenance=provenance,
        **{key: _plain(values.get(key)) for key in MEASURED},
    )


def _of(record: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if record is None:
        return {}, {}
    if isinstance(record, Mapping):
        values = dict(record)
        return values, dict(values.pop("provenance", None) or {})
    return dict(record.values), dict(record.provenance)


def _plain(value: Any) -> Any:
    """A measured value as its median, a number of numpy or torch as Python's own; the rest as it is."""
    value = value.median if hasattr(value, "repetitions") else value
    return value.item() if hasattr(value, "item") else value


def _whole(value: Any) -> Any:
    value = _plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _spread(values: Mapping[str, Any]) -> Any:
    """The given spread of the perplexity, or half the middle half of its repetitions; None from one run."""
    quality = values.get("perplexity")
    if quality is None or "perplexity_spread" in values or getattr(quality, "repetitions", 1) < 2:
        return _plain(values.get("perplexity_spread"))
    return (quality.high - quality.low) / 2


def _is_amount(value: Any) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and math.isfinite(value) and value >= 0
