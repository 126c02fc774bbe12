"""Rules with names: every decision about a configuration is the first rule of a table that applies.

That a decision is a row of a table has three uses. `explain()` can say which row fired. A test can leave
any row out and see a published figure go wrong. And a reader can ask what a calculator that does not know
a row would say: `from_huggingface(config, without={"kv_heads: multi_query"})`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from memlessons.plan.huggingface.fields import Fields

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """One row: `apply` returns what the rule says of a configuration, or None where it does not apply.

    `name` is "decision: rule", `source` where the rule is from.
    """

    name: str
    source: str
    apply: Callable[[Fields], T | None]


@dataclass(frozen=True, slots=True)
class Fired(Generic[T]):
    """What a table decided, and by which rule."""

    value: T
    rule: Rule[T]


def first(table: Iterable[Rule[T]], fields: Fields) -> Fired[T] | None:
    """The first rule of the table that applies, but for those that `fields.without` names."""
    for rule in table:
        if rule.name in fields.without:
            continue
        value = rule.apply(fields)
        if value is not None:
            return Fired(value, rule)
    return None
