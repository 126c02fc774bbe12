"""The ways in which configurations say which layers are of which kind: lists, letters, periods, numbers."""

from collections.abc import Callable
from typing import Any

from memlessons.plan.huggingface import names
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import LONGEST, MOST_LAYERS, Fields, short
from memlessons.plan.huggingface.source import class_pattern

Kinds = list[str]
# Fields that by themselves say that there is a window; a window_size counts only where kinds name its layers.
WINDOWS = names.WINDOWS[:3]

# As configurations spell them. What is not here is refused: a layer of an unknown kind has an unknown memory.
SPELLINGS = {
    "full_attention": "full", "attention": "full", "global": "full", "global_attention": "full",
    "full": "full", "softmax_attention": "full", "hybrid": "parallel", "hybrid_sliding": "parallel sliding",
    "sliding_attention": "sliding", "sliding_window_attention": "sliding", "local": "sliding",
    "local_attention": "sliding", "sliding": "sliding", "swa": "sliding", "chunked_attention": "chunked",
    "indexed_attention": "indexed", "sparse_attention": "indexed",
    "linear_attention": "linear", "linear": "linear", "lightning_attention": "linear",
    "gated_delta": "linear", "kda": "linear",
    "mamba": "linear", "mamba1": "linear", "mamba2": "linear", "recurrent": "linear", "conv": "conv",
    "cross_attention": "cross", "mlp": "none", "moe": "none", "none": "none", "no_op": "none",
    "dense": "none",
    "heavily_compressed_attention": "heavy", "compressed_sparse_attention": "sparse",
    "minimax_m3_sparse": "indexed",
}  # fmt: skip
_LETTERS = {"M": "linear", "*": "full", "-": "none", "E": "none"}


def spelled(name: str) -> Callable[[Fields], Kinds | None]:
    """A list of kinds in words, one a layer."""

    def kinds(fields: Fields) -> Kinds | None:
        words = fields.items(name)
        if words is None:
            return None
        return [_kind(name, word) for word in words]

    return kinds


def _kind(name: str, word: object) -> str:
    kind = SPELLINGS.get(word) if isinstance(word, str) else None
    if kind is None:
        raise UnknownArchitecture(f"{name} names a layer {short(word)}: no rule knows what it keeps")
    return kind


def letters(fields: Fields) -> Kinds | None:
    """A letter a layer: M a Mamba state, * attention, - and E only an MLP or experts."""
    pattern = fields.text("hybrid_override_pattern")
    if pattern is None:
        return None
    for letter in pattern:
        if letter not in _LETTERS:
            raise UnknownArchitecture(
                f"hybrid_override_pattern has a layer {letter!r}: known are {', '.join(_LETTERS)}"
            )
    return [_LETTERS[letter] for letter in pattern]


def repeated(fields: Fields) -> Kinds | None:
    """A short list of kinds that repeats until there are enough layers."""
    words = fields.items("block_types") or fields.items("_block_types")
    n = fields.layers
    if not words or n is None:
        return None
    unit = [_kind("block_types", word) for word in words]
    # RecurrentGemma's attention sees a window.
    unit = ["sliding" if kind == "full" and fields.has("attention_window_size") else kind for kind in unit]
    return [unit[i % len(unit)] for i in range(n)]


def numbered(name: str, other: str, attending: str = "full") -> Callable[[Fields], Kinds | None]:
    """A list of the layers that attend; the others are `other`."""

    def kinds(fields: Fields) -> Kinds | None:
        n = fields.layers
        if n is None:
            return None
        attend = fields.numbers(name, below=n)
        return None if attend is None else _among(attend, attending, other, n)

    return kinds


def _among(named: list[int], one: str, other: str, n: int) -> Kinds:
    chosen = set(named)
    return [one if i in chosen else other for i in range(n)]


def period(fields: Fields) -> Kinds | None:
    """Every so many layers attend, counted from an offset; the others keep a state."""
    n, period = fields.layers, fields.whole("attn_layer_period")
    if n is None or period is None:
        return None
    offset = fields.whole("attn_layer_offset", least=0) or 0
    # Zamba's shared block attends beside a state, Jamba's layers attend in its place.
    attending = "parallel" if fields.has("attention_hidden_size") else "full"
    return [attending if i % period == offset % period else "linear" for i in range(n)]


def interval(name: str, other: str) -> Callable[[Fields], Kinds | None]:
    """Every so many layers attend to everything: layer i where (i + 1) is a multiple."""

    def kinds(fields: Fields) -> Kinds | None:
        n, interval = fields.layers, fields.whole(name)
        if n is None or interval is None:
            return None
        return ["full" if (i + 1) % interval == 0 else other for i in range(n)]

    return kinds


def ones(name: str, one: str, zero: str) -> Callable[[Fields], Kinds | None]:
    """A list of ones and zeros, one a layer."""

    def kinds(fields: Fields) -> Kinds | None:
        bits = fields.items(name)
        if bits is None:
            return None
        return _bits(name, bits, one, zero)

    return kinds


def _bits(name: str, bits: list[Any], one: str, zero: str) -> Kinds:
    for bit in bits:
        if not isinstance(bit, int) or bit not in (0, 1):
            raise BadConfig(f"{name} holds {short(bit)}: must be ones and zeros")
    return [one if bit else zero for bit in bits]


def counted_from_0(fields: Fields) -> Kinds | None:
    """ModernBERT's spelling: layer i sees everything where i itself is a multiple."""
    n, interval = fields.layers, fields.whole("global_attn_every_n_layers")
    if n is None or interval is None or not fields.has("local_attention"):
        return None
    return ["sliding" if i % interval else "full" for i in range(n)]


def local_ids(fields: Fields) -> Kinds | None:
    """A list of the layers with a window, in models whose layers all have convolutions beside attention."""
    n = fields.layers
    if n is None:
        return None
    near = fields.numbers("local_layer_ids", below=n)
    if near is None:
        return None
    state = "parallel" if fields.has("conv_kernel_size") else None
    return _among(near, f"{state} sliding" if state else "sliding", state or "full", n)


def units(fields: Fields) -> Kinds | None:
    """GPT-Neo's spelling: a list of units, each with how often it is repeated."""
    found = fields.items("attention_types")
    if found is None:
        return None
    kinds: Kinds = []
    for part in found:
        words, count = part if isinstance(part, list) and len(part) == 2 else (None, None)
        if not isinstance(words, list) or isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BadConfig("attention_types must be a list of [[kinds], count]")
        if len(kinds) + len(words) * count > MOST_LAYERS:
            raise BadConfig(f"attention_types describes more than {MOST_LAYERS:,} layers")
        kinds += [_kind("attention_types", word) for word in words] * count
    return kinds


def ratios(fields: Fields) -> Kinds | None:
    """Tokens for which an entry stands, one number a layer, those of draft layers after them."""
    found, n = fields.items("compress_ratios"), fields.layers
    if found is None or n is None:
        return None
    if len(found) < n or any(isinstance(ratio, bool) or not isinstance(ratio, int) for ratio in found):
        raise BadConfig(f"compress_ratios must be a list of {n} whole numbers or more")
    kinds = {0: "sliding", 4: "sparse", 128: "heavy"}
    for ratio in found[:n]:
        if ratio not in kinds:
            raise UnknownArchitecture(f"compress_ratios names runs of {short(ratio)}: known are 0, 4, 128")
    return [kinds[ratio] for ratio in found[:n]]


def sparse_freq(fields: Fields) -> Kinds | None:
    """Ones where an indexer thins out a layer, in an object of their own."""
    inner = fields.inner("sparse_attention_config")
    bits = None if inner is None else inner.items("sparse_attention_freq")
    if bits is None:
        return None
    return _bits("sparse_attention_freq", bits, "indexed", "full")


def kimi_linear(fields: Fields) -> Kinds | None:
    """The layers that attend, in an object of their own and counted from 1."""
    inner, n = fields.inner("linear_attn_config"), fields.layers
    if inner is None or n is None:
        return None
    attend = inner.numbers("full_attn_layers", below=n + 1)
    if attend is None:
        return None
    return _among([i - 1 for i in attend], "full", "linear", n)


def call_sites(fields: Fields) -> Kinds | None:
    """The layers at which a shared attention block is called beside the state."""
    n = fields.layers
    if n is None:
        return None
    shared = fields.numbers("hybrid_layer_ids", below=n)
    return None if shared is None else _among(shared, "parallel", "linear", n)


def nas(fields: Fields) -> Kinds | None:
    """An object a layer, which says whether its attention was left out."""
    blocks = fields.items("block_configs")
    if blocks is None:
        return None
    kinds = []
    for i, block in enumerate(blocks):
        attention = block.get("attention") if isinstance(block, dict) else None
        if not isinstance(attention, dict):
            raise BadConfig(f"block_configs[{i}].attention is missing")
        gone = attention.get("no_op") or attention.get("replace_with_linear")
        kinds.append("none" if gone else "full")
    return kinds


def pattern_text(fields: Fields) -> Kinds | None:
    """A unit of letters that repeats: L has a window, G sees everything."""
    n = fields.layers
    if n is None or not isinstance(fields.raw("sliding_window_pattern"), str):
        return None
    unit = (fields.text("sliding_window_pattern") or "").upper()
    if not unit or set(unit) - set("LG"):
        raise BadConfig(f"sliding_window_pattern={unit[:40]!r}: must be a number, or letters L and G")
    return ["sliding" if unit[i % len(unit)] == "L" else "full" for i in range(n)]


def chunks(fields: Fields) -> Kinds | None:
    """Chunked attention where positions are rotated, and everything where they are not."""
    n = fields.layers
    if n is None or fields.whole("attention_chunk_size", most=LONGEST) is None:
        return None
    rope = fields.one_a_layer("no_rope_layers")
    if rope:
        return ["chunked" if bit else "full" for bit in rope]
    interval = fields.whole("no_rope_layer_interval")
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
    return fields.whole(*WINDOWS, "attention_chunk_size", least=0, most=LONGEST) is not None


def all_state(fields: Fields) -> Kinds | None:
    """A state in each layer, where no field speaks of attention heads or the state is a matrix."""
    n = fields.layers
    if n is not None and fields.has("qk_dim_factor"):
        return ["linear"] * n
    heads = ("num_attention_heads", "n_head", "n_heads", "decoder_attention_heads", "num_query_heads")
    if n is None or any(fields.raw(name) is not None for name in heads):
        return None
    return ["linear"] * n if fields.has("state_size") or fields.has("attention_hidden_size") else None


def all_sliding(fields: Fields) -> Kinds | None:
    """A window in each layer, where one is given and nothing says which layers have it."""
    window = fields.whole(*WINDOWS, least=0, most=LONGEST)
    return ["sliding"] * fields.layers if window and fields.layers is not None else None


def all_full(fields: Fields) -> Kinds | None:
    """Attention to everything in each layer, where nothing else is said."""
    return None if fields.layers is None else ["full"] * fields.layers


def in_every_layer(fields: Fields) -> Kinds | None:
    """Attention and a state in each layer."""
    return ["parallel"] * fields.layers if fields.layers and fields.has("mamba_d_ssm") else None
