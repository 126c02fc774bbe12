"""Rules are exact: turn a comparison or shift a number in them, and some configuration is read otherwise."""

from itertools import islice

import pytest

from memlessons import places
from tests.plan.huggingface import flips, witnesses
from tests.plan.huggingface.test_mutation import kept

MODULES = (
    "attention",
    "blocks",
    "compressed",
    "heads",
    "index",
    "kinds",
    "order",
    "patterns",
    "periods",
    "recurrent",
    "states",
    "windows",
)
# Types of the peer that say what no published or made-up configuration here says.
_PEERS = (
    "dory", "glm5_next", "hy_v4", "inkling2_loop_text", "mamba2", "mllama", "moonshine", "nemotron_h",
    "qwen4_exp", "rwkv", "t5", "t5gemma2", "trocr", "whisper", "xlstm", "zaya",
)  # fmt: skip
_STEP = 4 if places.pace() == "quick" else 1


def configurations() -> list[dict[str, object]]:
    """Configurations that differ in what they say, the shortest first."""
    every = witnesses.configurations()
    chosen = [config for name, config in every.items() if name.startswith(("derived", "legacy"))]
    chosen += [every[f"peer {name}"] for name in _PEERS]
    chosen += [every[f"truth {name}"] for name in ("exl2-nemotron-51b", "lcpp-glm52-dsa-indexer")]
    return sorted(chosen, key=lambda config: len(str(config)))


CONFIGS = configurations()


def is_noticed(order: list[int], plans: dict[int, object]) -> bool:
    """Whether a configuration is read otherwise than before; the one that noticed is asked first then."""
    for at, i in enumerate(order):
        try:
            same = kept(CONFIGS[i]) == plans[i]
        except Exception:  # a mutant may do anything
            same = False
        if not same:
            order.insert(0, order.pop(at))
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_a_flipped_rule_is_noticed(name: str):
    functions = flips.alive(name)
    plans: dict[int, object] = {i: kept(config) for i, config in enumerate(CONFIGS)}
    order = list(plans)
    mutants = list(flips.mutants(name))[::_STEP]
    survivors = []
    for where, code in mutants:
        with flips.damaged(functions, code):
            if not is_noticed(order, plans):
                survivors.append(where)
    print(f"{name}: {len(mutants) - len(survivors)} of {len(mutants)} noticed", *survivors, sep="\n  ")
    # What is left are bounds of fields and ways round that no configuration takes.
    assert len(survivors) <= 2 + len(mutants) // 6


def test_rules_are_whole_again_after_damage():
    functions = flips.alive("states")
    before = [function.__code__ for function in functions]
    for _, code in islice(flips.mutants("states"), 5):
        with flips.damaged(functions, code):
            assert [function.__code__ for function in functions] != before
        assert [function.__code__ for function in functions] == before
