"""Published configurations, damaged; `python -m tests.plan.huggingface.fuzz 100000` counts the outcomes."""

import copy
import random
import sys
from collections.abc import Callable, Mapping
from typing import Any

from memlessons.plan.huggingface import BadConfig, UnknownArchitecture, from_huggingface
from tests.plan.fuzzing import fuzz
from tests.plan.huggingface import witnesses

Config = dict[Any, Any]
TOKENS, ENCODER_TOKENS = 300_000, 64
CONFIGS: list[Config] = list(witnesses.configurations().values())
NAMES = sorted(
    {name for config in CONFIGS for level in (config, config.get("text_config") or {}) for name in level}
)


def _holds_itself() -> Config:
    config: Config = {"model_type": "llama", "num_hidden_layers": 4}
    config["text_config"] = config["attn_config"] = config["linear_attn_config"] = config
    return config


def _list_in_itself() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


def _deep() -> Any:
    found: Any = {}
    for _ in range(3000):
        found = {"text_config": found, "decoder": [found]}
    return found


_ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, 3, 7, 64, 128, -1, -128, 2**24, 2**24 + 1, 2**40, 10**30, -(10**30), 100_000,
    0.0, 0.5, 2.0, 128.0, -0.0, 1e308, float("nan"), float("inf"), float("-inf"),
    "", "128", "full_attention", "sliding_attention", "mamba", "LLLG", "M*-E",
    "x" * 100_000, "\x00", "\ud800", [], [0], [1], [None], [1, 2, 3], [[]], [{}],
    ["full_attention"], ["mamba", 3], [0, 1] * 16, [-1], [10**30],
    ["linear_attention"] * 100_000, {}, {"0": {}}, {"model_type": "llama"}, {"kv_n_heads": "8"}, {1: 2},
    b"128", (1, 2), object(), {"full_attn_layers": [0, 99]}, {"attention": {"n_heads_in_group": 3}},
)  # fmt: skip


def odd(rng: random.Random) -> Any:
    """A value that no configuration should have there."""
    made = rng.randrange(24)
    if made < 3:
        return (_holds_itself, _list_in_itself, _deep)[made]()
    return rng.choice(_ODD)


def damaged(rng: random.Random) -> Config:
    """One of the known configurations with one to four fields damaged, at any depth."""
    config = copy.deepcopy(rng.choice(CONFIGS))
    for _ in range(rng.randint(1, 4)):
        at: Any = config
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = rng.choice(keys) if keys else None
            inside = at[key] if key is not None else None
            if isinstance(inside, dict | list) and inside and rng.random() < 0.7:
                at = inside
                continue
            break
        _damage(rng, at, key)
    return config


def _damage(rng: random.Random, at: Any, key: Any) -> None:
    how = rng.randrange(6)
    if isinstance(at, list):
        if how < 3 and key is not None:
            at[key] = odd(rng)
        elif how < 4:
            del at[rng.randrange(len(at) + 1) :]
        else:
            at.append(at[key] if key is not None else odd(rng))
    elif how < 3 and key is not None:
        at[key] = odd(rng)
    elif how < 4 and key is not None:
        del at[key]
    elif how < 5:
        at[rng.choice(NAMES)] = odd(rng)
    else:
        # A field of another configuration, as it stands there.
        other = rng.choice(CONFIGS)
        name = rng.choice(list(other))
        at[name] = copy.deepcopy(other[name])


def outcome(config: Mapping[Any, Any], draft: bool = False) -> str:
    """What becomes of a configuration: a plan, or which refusal; anything else is raised."""
    try:
        plan = from_huggingface(config, draft=draft)
    except BadConfig:
        return "bad configuration"
    except UnknownArchitecture:
        return "unknown architecture"
    if plan.bytes(TOKENS, encoder_tokens=ENCODER_TOKENS) <= 0:
        raise AssertionError("a plan that keeps nothing")
    plan.explain(TOKENS)
    return "plan"


def main(examples: int, seed: int = 0) -> None:
    """Damage so many configurations, and print what became of them and the slowest."""

    def example(i: int) -> Callable[[], str]:
        config = damaged(random.Random(f"{seed} {i}"))
        return lambda: outcome(config, draft=i % 2 == 0)

    fuzz(examples, seed, example)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3] or ["1000"]))
