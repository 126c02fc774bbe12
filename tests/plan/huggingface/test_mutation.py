"""Every rule is needed: leave any of them out, and some configuration is read otherwise or not at all."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

import memlessons.plan.huggingface as package
from memlessons.plan import InvalidPlan
from memlessons.plan.huggingface import Rule, from_huggingface
from memlessons.plan.layer import Layer
from tests.plan.huggingface import witnesses
from tests.plan.huggingface.differences import REFUSED


def tables() -> Iterator[tuple[Rule[Any], ...]]:
    """Each table of rules that a module of the package holds; a single rule is a table of one."""
    seen: set[int] = set()
    for module in pkgutil.iter_modules(package.__path__):
        if module.ispkg:
            continue
        for value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            rules = (value,) if isinstance(value, Rule) else value
            of_rules = isinstance(rules, tuple) and rules and all(isinstance(r, Rule) for r in rules)
            if of_rules and id(value) not in seen:
                seen.add(id(value))
                yield rules


TABLES = list(tables())
RULES = [rule for table in TABLES for rule in table]
NEXT = {rule.name: after.name for table in TABLES for rule, after in pairwise(table)}
CONFIGS = witnesses.configurations()
Kept = tuple[Layer, ...] | None


class Asked(frozenset[str]):
    """Leaves nothing out, and remembers which rules were asked."""

    names: list[str]

    def __contains__(self, name: object) -> bool:
        self.names.append(str(name))
        return False


def kept(config: Mapping[str, Any], without: frozenset[str] = frozenset()) -> Kept:
    """What a configuration is read as, but for the names of rules; None if it is refused."""
    try:
        layers = from_huggingface(config, draft=True, unknown_state="leave out", without=without).layers
    except InvalidPlan:
        return None
    return tuple(replace(layer, rule="") for layer in layers)


def asked(config: Mapping[str, Any]) -> list[str]:
    """The rules that were asked of a configuration, in order."""
    listening = Asked()
    listening.names = []
    kept(config, listening)
    return listening.names


def fired(names: list[str]) -> set[str]:
    """The rules that are likely to have decided something: the next of their table was not asked then."""
    return {name for name, after in zip(names, [*names[1:], ""], strict=True) if NEXT.get(name) != after}


ASKED = {name: asked(config) for name, config in CONFIGS.items()}
FIRED = {name: fired(names) for name, names in ASKED.items()}
PLANS = {name: kept(config) for name, config in CONFIGS.items()}


def test_every_configuration_is_read():
    assert [name for name, plan in PLANS.items() if plan is None] == [f"peer {name}" for name in REFUSED]


def test_rules_have_names_of_their_own_and_sources():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names) > 80
    assert all(": " in rule.name and rule.source for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_without_this_rule_some_configuration_is_read_otherwise(rule: Rule[Any]):
    out = frozenset({rule.name})
    likely = [name for name, names in FIRED.items() if rule.name in names]
    others = [name for name, names in ASKED.items() if rule.name in names and name not in likely]
    changed = (name for name in likely + others if kept(CONFIGS[name], out) != PLANS[name])
    assert next(changed, None) is not None, f"{rule.name!r} has no witness"
