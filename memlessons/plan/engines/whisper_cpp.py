"""What whisper.cpp reserves (src/whisper.cpp): cells for the text being written, and for the sound once."""

from collections.abc import Iterator

from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, Piece, gathered, kept, rows
from memlessons.plan.engines.reasons import in_steps
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

    def pieces() -> Iterator[Piece]:
        for name, store in kept(asked.plan):
            tokens, what = (encoder, "sound") if name == "cross" else (asked.context_tokens, "text")
            each = -(-tokens // step) * step
            cells = each * asked.batch
            keys = rows(asked.key_format, store.kv_heads, store.key_width)
            values = rows(asked.value_format, store.kv_heads, store.value_width)
            rule, reason = f"{each:,} cells a sequence", f"{tokens:,} of {what}{in_steps(step)}"
            yield Piece(name, cells, cells * keys, cells * values, rule, reason)

    return gathered("whisper.cpp", pieces(), assumed=(("pad", pad),))
