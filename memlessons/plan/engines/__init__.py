"""What engines reserve for a model, which is never what it needs: cells, blocks, pools, slots, padding."""

import inspect
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from memlessons.plan.engines import llama_cpp as _llama_cpp
from memlessons.plan.engines import sglang as _sglang
from memlessons.plan.engines import vllm as _vllm
from memlessons.plan.engines import whisper_cpp as _whisper_cpp
from memlessons.plan.engines.asked import (
    Allocation,
    Asked,
    BadEngineArgument,
    CannotDivide,
    Part,
    UnknownEngine,
)
from memlessons.plan.engines.ideal import ideal, lmcache_all_layers, naive_mla
from memlessons.plan.engines.packed import DS_MLA, formats_asked
from memlessons.plan.errors import whole
from memlessons.plan.huggingface import BadConfig, from_huggingface
from memlessons.plan.memory_plan import MemoryPlan

ENGINES: Mapping[str, Callable[..., Allocation]] = {
    "ideal": ideal,
    "llama.cpp": _llama_cpp.llama_cpp,
    "vllm": _vllm.vllm,
    "sglang": _sglang.sglang,
    "whisper.cpp": _whisper_cpp.whisper_cpp,
    "naive_mla": naive_mla,
    "lmcache_all_layers": lmcache_all_layers,
}
RULES: Mapping[str, str] = {**_llama_cpp.RULES, **_vllm.RULES, **_sglang.RULES, **_whisper_cpp.RULES}
"""Every named rule of an engine with its source."""

LARGEST = 2**60
"""No count of tokens, sequences or devices is larger, and sums of such fit a float."""

__all__ = [
    "ENGINES", "RULES", "Allocation", "BadEngineArgument", "CannotDivide", "Part", "UnknownEngine",
    "allocation",
]  # fmt: skip


def allocation(
    config_or_plan: str | Path | Mapping[str, Any] | MemoryPlan,
    *,
    engine: str,
    context_tokens: int,
    batch: int = 1,
    kv_dtype: str = "f16",
    tp: int = 1,
    encoder_tokens: int | None = None,
    draft: bool = False,
    unknown_state: Any = "refuse",
    without: frozenset[str] = frozenset(),
    **engine_args: Any,
) -> Allocation:
    """What `engine` reserves on the fullest of `tp` devices, in bytes by part, or in tokens that fit.

    `kv_dtype` is a format, or "K/V" where they differ ("q8_0/f16"). `engine_args` are the keywords of the
    engine's own function (`ENGINES[engine]`). `draft` counts a draft head's layers; `without` leaves named
    rules out, the parser's or the engine's. Raises UnknownArchitecture, UnknownEngine, BadEngineArgument,
    CannotDivide where heads do not come out even, or InvalidPlan for a format or number that cannot be.
    """
    reserve = ENGINES.get(engine) if isinstance(engine, str) else None
    if reserve is None:
        raise UnknownEngine(f"engine {str(engine)[:40]!r} is not known; known are {', '.join(ENGINES)}")
    for name, value in (("context_tokens", context_tokens), ("batch", batch), ("tp", tp)):
        whole(name, value, least=1)
        _bounded(name, value)
    if encoder_tokens is not None:
        whole("encoder_tokens", encoder_tokens)
    _check_switches(draft, unknown_state, without)
    kv_dtype = str(kv_dtype)
    key, value_format = formats_asked(kv_dtype)
    plan = _plan(config_or_plan, draft, unknown_state, without)
    latents = any(store.role == "latent" for layer in plan.layers for store in layer.stores)
    if kv_dtype.lower() == DS_MLA and not latents:
        raise BadEngineArgument(f"kv_dtype={kv_dtype!r}: packs latents, and this model has none; ask for fp8")
    asked = Asked(
        plan, context_tokens, batch, key, value_format, tp, encoder_tokens,
        expanded=_expanded(config_or_plan, draft, without), without=without, kv_dtype=kv_dtype,
    )  # fmt: skip
    _check(engine, reserve, engine_args)
    found = reserve(asked, **engine_args)
    assumed = tuple(option for option in found.assumed if option[0] not in engine_args)
    return replace(found, engine=engine, assumed=assumed)


def _check_switches(draft: Any, unknown_state: Any, without: Any) -> None:
    if not isinstance(draft, bool):
        raise BadEngineArgument(f"draft={str(draft)[:40]!r}: must be True or False")
    if not isinstance(unknown_state, str) or unknown_state not in ("refuse", "leave out"):
        raise BadEngineArgument(f"unknown_state={str(unknown_state)[:40]!r}: must be 'refuse' or 'leave out'")
    if not isinstance(without, Set):
        raise BadEngineArgument(f"without={str(without)[:40]!r}: must be a set of names of rules")


def _bounded(name: str, value: float) -> None:
    if value > LARGEST:
        raise BadEngineArgument(f"{name} is a huge number: must be at most {LARGEST:,}")


def _plan(config: Any, draft: bool, unknown_state: Any, without: frozenset[str]) -> MemoryPlan:
    if isinstance(config, MemoryPlan):
        return config
    return from_huggingface(config, draft=draft, unknown_state=unknown_state, without=without)


def _expanded(config: Any, draft: bool, without: frozenset[str]) -> MemoryPlan | None:
    """The plan with its latents expanded, None where the configuration does not say how."""
    if isinstance(config, MemoryPlan):
        return None
    try:
        return from_huggingface(
            config, draft=draft, expand_latent=True, unknown_state="leave out", without=without
        )
    except BadConfig:
        return None


def _check(engine: str, reserve: Callable[..., Allocation], given: Mapping[str, Any]) -> None:
    """Refuse arguments that the engine does not have, and values of another kind than it takes."""
    known = list(inspect.signature(reserve).parameters.values())[1:]
    by_name = {parameter.name: parameter for parameter in known}
    for name, value in given.items():
        if name not in by_name:
            raise BadEngineArgument(
                f"{engine} has no argument {name!r}; it has {', '.join(by_name) or 'none'}"
            )
        kind = str(by_name[name].annotation)
        if value is None and "None" in kind:
            continue
        if "bool" in kind and not isinstance(value, bool):
            raise BadEngineArgument(f"{name}={str(value)[:40]!r}: must be True or False")
        if "int" not in kind and "float" not in kind:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadEngineArgument(f"{name}={str(value)[:40]!r}: must be a number")
        # A float may be nan, which compares with nothing.
        if "float" in kind and not 0 < value < 1e9:
            raise BadEngineArgument(f"{name}={str(value)[:40]}: must be a number above 0, below 10^9")
        _bounded(name, value)
