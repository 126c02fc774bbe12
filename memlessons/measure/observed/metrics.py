"""What a metrics page says of a server's cache. Pure functions of text, nothing is fetched here.

Names as of November 2026: vLLM's docs/usage/metrics and vllm/v1/metrics/loggers.py (`gpu_cache_usage_perc`
became `kv_cache_usage_perc` in 2025; both are 0 to 1, not percent); llama.cpp's tools/server/README
(`kv_cache_usage_ratio` and `kv_cache_tokens` until mid 2025, none since); SGLang's srt/metrics/collector.
"""

import math
from collections.abc import Sequence

from memlessons.errors import MemlessonsError
from memlessons.measure.observed.prometheus import Sample, samples
from memlessons.measure.observed.reported import Engine, Reported, Said

_PREFIXES: dict[str, Engine] = {"vllm": "vllm", "llamacpp": "llama.cpp", "sglang": "sglang"}


class NotAMetricsPage(MemlessonsError, ValueError):
    """An answer that is no metrics page of a known engine, or only part of one."""


def read_metrics(page: str, where: str = "the page") -> Reported:
    """What a metrics page says of its server's memory.

    NotAMetricsPage if it is HTML, was cut off (the last line has no end), or no known engine's.
    """
    start = page.lstrip("\ufeff \t\r\n")[:200].lower()
    if start.startswith(("<!doctype", "<html", "<?xml")):
        raise NotAMetricsPage(f"{where} is a page for people (HTML): give the address of /metrics")
    if page and not page.endswith("\n"):
        raise NotAMetricsPage(f"{where} ends in the middle of a line: it was cut off; ask again")
    by_engine: dict[str, list[Sample]] = {}
    for sample in samples(page):
        # A name may come with a colon or, renamed by a collector, with an underscore.
        prefix = next((p for p in _PREFIXES if sample.name.startswith((f"{p}:", f"{p}_"))), None)
        if prefix is not None:
            short = sample._replace(name=sample.name[len(prefix) + 1 :])
            by_engine.setdefault(prefix, []).append(short)
    if not by_engine:
        raise NotAMetricsPage(
            f"{where} has no figures of vllm:, llamacpp: or sglang: - is it such a server's? llama.cpp needs "
            "--metrics to show them, SGLang --enable-metrics"
        )
    prefix = max(by_engine, key=lambda p: len(by_engine[p]))
    return {"vllm": _vllm, "llamacpp": _llama_cpp, "sglang": _sglang}[prefix](by_engine[prefix])


def _vllm(found: Sequence[Sample]) -> Reported:
    configs = [s for s in found if s.name == "cache_config_info"]
    blocks, block = _label(configs, "num_gpu_blocks"), _label(configs, "block_size")
    tokens, notes = _label(configs, "kv_cache_size_tokens"), []
    if tokens is None and blocks is not None and block is not None:
        tokens = blocks * block
        notes.append("tokens are blocks times block size: right for models with one kind of layer only")
    if len(configs) > 1:
        notes.append(f"{len(configs)} engines answer together: capacity is the smallest one's")
    kind = next((s.labels["cache_dtype"] for s in configs if "cache_dtype" in s.labels), None)
    return Reported(
        engine="vllm",
        lines=_said(found, "cache_config_info", *_VLLM),
        model=_model(found),
        key_type=kind,
        value_type=kind,
        tokens=tokens,
        block_tokens=block,
        blocks=blocks,
        usage=_largest(found, "kv_cache_usage_perc", "gpu_cache_usage_perc"),
        running=_total(found, "num_requests_running"),
        notes=tuple(notes),
    )


_VLLM = ("kv_cache_usage_perc", "gpu_cache_usage_perc", "num_requests_running", "num_requests_waiting")
_LLAMA_CPP = ("kv_cache_usage_ratio", "kv_cache_tokens", "requests_processing", "requests_deferred")
_SGLANG = (
    "token_usage", "num_used_tokens", "max_total_num_tokens", "num_running_reqs", "page_size", "context_len",
)  # fmt: skip


def _llama_cpp(found: Sequence[Sample]) -> Reported:
    usage = _largest(found, "kv_cache_usage_ratio")
    notes = () if usage is not None else ("this build says nothing of its cache here: read its log",)
    return Reported(
        engine="llama.cpp",
        lines=_said(found, *_LLAMA_CPP),
        usage=usage,
        used_tokens=_count(_largest(found, "kv_cache_tokens")),
        running=_total(found, "requests_processing"),
        notes=notes,
    )


def _sglang(found: Sequence[Sample]) -> Reported:
    ranks = {s.labels["tp_rank"] for s in found if "tp_rank" in s.labels}
    # Tensor-parallel ranks hold the same tokens; each says so.
    return Reported(
        engine="sglang",
        lines=_said(found, *_SGLANG),
        model=_model(found),
        context_tokens=_count(_largest(found, "context_len")),
        tokens=_count(_largest(found, "max_total_num_tokens")),
        block_tokens=_count(_largest(found, "page_size")),
        ranks=len(ranks) or None,
        usage=_largest(found, "token_usage"),
        used_tokens=_count(_largest(found, "num_used_tokens")),
        running=_count(_largest(found, "num_running_reqs")),
    )


def _said(found: Sequence[Sample], *names: str) -> tuple[Said, ...]:
    return tuple(Said(s.name, s.value, "", s.line, s.text[:240]) for s in found if s.name in names)


def _model(found: Sequence[Sample]) -> str | None:
    return next((s.labels["model_name"] for s in found if s.labels.get("model_name")), None)


def _label(found: Sequence[Sample], name: str) -> int | None:
    """The smallest whole number that a label of these samples holds; "None" and "" are not said."""
    texts = [s.labels.get(name, "") for s in found]
    return min((int(t) for t in texts if t.isascii() and t.isdigit() and len(t) < 16), default=None)


def _largest(found: Sequence[Sample], *names: str) -> float | None:
    return max((s.value for s in found if s.name in names and math.isfinite(s.value)), default=None)


def _total(found: Sequence[Sample], name: str) -> int | None:
    values = [s.value for s in found if s.name == name and math.isfinite(s.value)]
    return round(sum(values)) if values else None


def _count(value: float | None) -> int | None:
    return None if value is None else round(value)
