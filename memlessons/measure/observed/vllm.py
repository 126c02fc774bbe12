"""vLLM's log, versions 0.2 (2023) to 0.2x (2026).

Its "GB" (until 2025) and its "GiB" are both 2^30: the model runner divides by `float(2**30)` and printed
the result as "Loading model weights took ... GB", later as "Model loading took ... GiB" (vllm-project/vllm,
worker/model_runner.py and v1/worker/gpu_worker.py; read 2026-11).
Thousands are separated by commas in token counts and nowhere else.
"""

from collections.abc import Sequence

from memlessons.measure.observed.figures import BINARY, NUMBER, WHOLE, Size
from memlessons.measure.observed.reported import Reported, Said
from memlessons.measure.observed.sentences import bytes_said, last, sentence

# What makes a text a vLLM log; the rest alone does not.
TELLING = frozenset({"available", "tokens", "blocks", "concurrency", "block"})
LOOKED_FOR = "'Available KV cache memory', 'GPU KV cache size', '# GPU blocks'"


def _size(quantity: str) -> str:
    return rf"(?P<{quantity}_s>{NUMBER}) ?(?P<{quantity}_u>GiB|GB)"


SENTENCES = (
    sentence(
        "LLM engine (",
        r"LLM engine \(v?(?P<version_t>[^)\s]{1,80})",
        r"with config: .{0,40}?\bmodel='?(?P<model_t>[^',]{1,300})",
        rf"\bmax_seq_len=(?P<context_n>{WHOLE})",
        rf"\btensor_parallel_size=(?P<ranks_n>{WHOLE})",
        rf"\bpipeline_parallel_size=(?P<stages_n>{WHOLE})",
        r"\bkv_cache_dtype=(?P<kv_type_t>[\w.]{1,40})",
    ),
    sentence(
        "non-default args",
        rf"'block_size': (?P<asked_block_n>{WHOLE})",
        rf"'tensor_parallel_size': (?P<ranks_n>{WHOLE})",
        r"'model': '(?P<model_t>[^']{1,300})'",
        r"'kv_cache_dtype': '(?P<kv_type_t>[\w.]{1,40})'",
    ),
    sentence("max model len", rf"Using max model len (?P<context_n>{WHOLE})"),
    sentence("Loading model weights took", rf"weights took {_size('weights')}"),
    sentence("Model loading took", rf"loading took {_size('weights')}"),
    sentence("model weights take", rf"model weights take {_size('weights_in_short')}"),
    sentence("attention block size", rf"Setting attention block size to (?P<block_n>{WHOLE}) tokens"),
    sentence("mamba page size by", rf"Padding mamba page size by (?P<padding_x>{NUMBER})%"),
    # 0.5 to 0.6.4, one line of key=value pairs.
    sentence("kv_cache_size=", rf"\bkv_cache_size={_size('available')}"),
    # 0.6.5 to 0.9, V0 engine.
    sentence("reserved for KV Cache", rf"reserved for KV Cache is {_size('available')}"),
    # V1 engine, 0.8 on; the second when not even one request fits.
    sentence(
        "KV cache memory",
        rf"Available KV cache memory: {_size('available')}",
        rf"available KV cache memory \({_size('available')}\)",
    ),
    sentence(
        "KV cache is needed",
        rf"\({_size('needed')} KV cache is needed",
    ),
    sentence("GPU KV cache size", rf"GPU KV cache size: (?P<tokens_n>{WHOLE}) tokens"),
    sentence(
        "Maximum concurrency",
        rf"Maximum concurrency for (?P<concurrency_tokens_n>{WHOLE}) tokens per request: "
        rf"(?P<concurrency_x>{NUMBER})x",
    ),
    sentence(
        " blocks: ",
        rf"(?<!\w)(?:GPU|gpu|CUDA|cuda|rocm|hip|xpu|hpu|cpu) blocks: (?P<blocks_n>{WHOLE})",
        rf"# CPU blocks: (?P<cpu_blocks_n>{WHOLE})",
    ),
    sentence(
        "stored in KV cache",
        rf"max seq len \((?P<context_n>{WHOLE})\) is larger than the maximum number of tokens that can be "
        rf"stored in KV cache \((?P<tokens_n>{WHOLE})\)",
    ),
    sentence(
        "num_gpu_blocks_override",
        rf"Overriding num_gpu_blocks=\d+ with num_gpu_blocks_override=(?P<blocks_n>{WHOLE})",
    ),
)
RANK = r"\((?:VllmWorker[^)]*rank=|Worker[^)]*_?TP)(?P<rank_n>\d{1,4})"


def gather(lines: Sequence[Said]) -> Reported:
    """What these figures of a vLLM log add up to."""
    ranks = last(lines, "ranks")
    seen = {said.value for said in lines if said.quantity == "rank"}
    weights = next((s for q in ("weights", "weights in short") for s in lines if s.quantity == q), None)
    held = bytes_said(weights, BINARY)
    block, asked = last(lines, "block"), last(lines, "asked block")
    kv_type = last(lines, "kv type")
    notes = []
    if block is not None:
        notes.append(
            f"several kinds of layer share blocks of {block:,} tokens: the tokens said to fit are "
            "concurrency times context, not a pool of slots"
        )
    available = _available(lines)
    if available is not None and available.bytes < 0:
        notes.append("less than nothing was left for the cache: the engine could not start")
    return Reported(
        engine="vllm",
        lines=tuple(lines),
        model=last(lines, "model"),
        context_tokens=last(lines, "context", "concurrency tokens"),
        key_type=kv_type,
        value_type=kv_type,
        available_bytes=available.bytes if available else None,
        available_within_bytes=available.within if available else None,
        tokens=last(lines, "tokens"),
        concurrency=last(lines, "concurrency"),
        concurrency_tokens=last(lines, "concurrency tokens"),
        block_tokens=block if block is not None else asked,
        blocks=last(lines, "blocks"),
        weights_bytes=held.bytes if held else None,
        ranks=ranks if ranks is not None else (len(seen) or None),
        notes=tuple(notes),
    )


def _available(lines: Sequence[Said]) -> Size | None:
    """Bytes on the poorest device of the last start: the engine gives all of them as many blocks."""
    last_start: list[Size] = []
    closed = False
    for said in lines:
        if said.quantity == "available":
            if closed:
                last_start, closed = [], False
            found = bytes_said(said, BINARY)
            if found is not None:
                last_start.append(found)
        elif said.quantity in ("tokens", "blocks"):
            closed = True
    return min(last_start, default=None)
