"""Kinds of layers by a period, by a number, or by the class alone: where no list names them."""

from collections.abc import Callable

from memlessons.plan.huggingface.fields import LONGEST, Fields
from memlessons.plan.huggingface.patterns import SPELLINGS, WINDOWS, Kinds, among_bits
from memlessons.plan.huggingface.recurrent import RWKV
from memlessons.plan.huggingface.source import class_pattern


def period(fields: Fields) -> Kinds | None:
    """Every so many layers attend, counted from an offset; the others keep a state."""
    n, period = fields.layers, fields.whole("attn_layer_period")
    if n is None or period is None:
        return None
    offset = fields.whole("attn_layer_offset", least=0) or 0

    def of(attending: str, count: int) -> Kinds:
        return [attending if i % period == offset % period else "linear" for i in range(count)]

    # Zamba's shared block attends beside a state, first in layer 2; the period counts from layer 3 on.
    if fields.has("attention_hidden_size"):
        return ["linear", "linear", "parallel", *of("parallel", n - 3)]
    return of("full", n)


def plamo_steps(fields: Fields) -> Kinds | None:
    """PLaMo 2: one layer of each step attends, the middle one, or the last of a model shorter than that.

    A window is off in the layers that full_attention_idx names.
    """
    n, step = fields.layers, fields.whole("mamba_step", least=2)
    if n is None or step is None or fields.flag("mamba_enabled") is False:
        return None
    near = "sliding" if fields.raw("attention_window_size") is not None else "full"
    wide = [
        *(fields.numbers("full_attention_idx", below=n) or ()),
        *(fields.numbers("full_attn_idx", below=n) or ()),
    ]
    attend = {n - 1} if n <= step // 2 else set(range(step // 2, n, step))
    return [("full" if i in wide else near) if i in attend else "linear" for i in range(n)]


def interval(name: str, other: str) -> Callable[[Fields], Kinds | None]:
    """Every so many layers attend to everything: layer i where (i + 1) is a multiple."""

    def kinds(fields: Fields) -> Kinds | None:
        n, interval = fields.layers, fields.whole(name)
        if n is None or interval is None:
            return None
        return ["full" if (i + 1) % interval == 0 else other for i in range(n)]

    return kinds


def counted_from_0(fields: Fields) -> Kinds | None:
    """ModernBERT's spelling: layer i sees everything where i itself is a multiple."""
    n, interval = fields.layers, fields.whole("global_attn_every_n_layers")
    if n is None or interval is None or not fields.has("local_attention"):
        return None
    return ["sliding" if i % interval else "full" for i in range(n)]


def sparse_freq(fields: Fields) -> Kinds | None:
    """Ones where an indexer thins out a layer, in an object of their own."""
    inner = fields.inner("sparse_attention_config")
    bits = None if inner is None else inner.items("sparse_attention_freq")
    if bits is None:
        return None
    return among_bits("sparse_attention_freq", bits, "indexed", "full")


def chunks(fields: Fields) -> Kinds | None:
    """Chunked attention where positions are rotated, and everything where they are not."""
    n = fields.layers
    if n is None or fields.whole("attention_chunk_size", most=LONGEST) is None:
        return None
    rope = fields.items("no_rope_layers")
    if rope:
        return ["chunked" if bit else "full" for bit in fields.one_a_layer("no_rope_layers") or ()]
    # An empty list asks for the class's own, as published files have it.
    interval = fields.whole("no_rope_layer_interval") or (None if rope is None else 4)
    if interval is None:
        return None
    return ["full" if (i + 1) % interval == 0 else "chunked" for i in range(n)]


def above_max_window(fields: Fields) -> Kinds | None:
    """Windows in the layers from a given one on, where windows are on at all."""
    n, start = fields.layers, fields.whole("max_window_layers", least=0)
    if n is None or start is None or not fields.flag("use_sliding_window"):
        return None
    return ["sliding" if i >= start else "full" for i in range(n)]


def of_class(fields: Fields) -> Kinds | None:
    """The pattern that a class fills in where its file names none; no window where no size is given."""
    words = None if fields.layers is None else class_pattern(fields.model_type, fields.layers)
    if words is None:
        return None
    kinds = [SPELLINGS[word] for word in words]
    windowed = any(kind in ("sliding", "chunked") for kind in kinds)
    return None if windowed and not _has_window(fields) else kinds


def _has_window(fields: Fields) -> bool:
    return fields.whole(*WINDOWS, "attention_chunk_size", least=-1, most=LONGEST) is not None


def all_state(fields: Fields) -> Kinds | None:
    """A state in each layer, where no field speaks of attention heads or the state is a matrix."""
    n = fields.layers
    own = fields.has("qk_dim_factor") or fields.model_type in RWKV or fields.inner("ssm_cfg") is not None
    if n is not None and own:
        return ["linear"] * n
    heads = ("num_attention_heads", "n_head", "n_heads", "decoder_attention_heads", "num_query_heads")
    if n is None or any(fields.raw(name) is not None for name in heads):
        return None
    return ["linear"] * n if fields.has("state_size") or fields.has("attention_hidden_size") else None


def all_sliding(fields: Fields) -> Kinds | None:
    """A window in each layer, where one is given and nothing says which layers have it."""
    window = fields.whole(*WINDOWS, least=-1, most=LONGEST)
    return ["sliding"] * fields.layers if (window or 0) > 0 and fields.layers is not None else None


def all_full(fields: Fields) -> Kinds | None:
    """Attention to everything in each layer, where nothing else is said."""
    return None if fields.layers is None else ["full"] * fields.layers


def in_every_layer(fields: Fields) -> Kinds | None:
    """Attention and a state in each layer."""
    return ["parallel"] * fields.layers if fields.layers and fields.has("mamba_d_ssm") else None
