"""What whisper.cpp reserves (src/whisper.cpp): cells for the text being written, and for the sound once."""

from collections.abc import Iterator

from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, gathered, kept, rows
from memlessons.plan.errors import whole

RULES = {
    "whisper.cpp: cells are padded": "whisper_kv_cache_init: GGML_PAD(n_ctx, 256) since 2024; before, none",
}


def whisper_cpp(asked: Asked, *, pad: int = 1) -> Allocation:
    """Bytes of its self and cross caches, both at `context_tokens` unless `encoder_tokens` is given."""
    whole("pad", pad, least=1)
    step = pad if asked.on("whisper.cpp: cells are padded") else 1
    encoder = asked.context_tokens if asked.encoder_tokens is None else asked.encoder_tokens
    if all(name != "cross" for name, _ in kept(asked.plan)):
        raise BadEngineArgument("engine='whisper.cpp': this model has no encoder to listen with")

    def pieces() -> Iterator[tuple[str, int, int, int, str]]:
        for name, store in kept(asked.plan):
            cells = -(-(encoder if name == "cross" else asked.context_tokens) // step) * step * asked.batch
            keys = rows(asked.key_format, store.kv_heads, store.key_width)
            values = rows(asked.value_format, store.kv_heads, store.value_width)
            yield name, cells, cells * keys, cells * values, f"cells in {step}"

    return gathered("whisper.cpp", pieces())
