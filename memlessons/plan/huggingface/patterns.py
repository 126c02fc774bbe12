"""Kinds of layers in lists and letters, one a layer or those of one kind by number."""

from collections.abc import Callable
from typing import Any

from memlessons.plan.huggingface import names
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields, short

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


def ones(name: str, one: str, zero: str) -> Callable[[Fields], Kinds | None]:
    """A list of ones and zeros, one a layer."""

    def kinds(fields: Fields) -> Kinds | None:
        bits = fields.items(name)
        if bits is None:
            return None
        return among_bits(name, bits, one, zero)

    return kinds


def among_bits(name: str, bits: list[Any], one: str, zero: str) -> Kinds:
    """A kind for each bit; BadConfig where a list holds something else."""
    for bit in bits:
        if not isinstance(bit, int) or bit not in (0, 1):
            raise BadConfig(f"{name} holds {short(bit)}: must be ones and zeros")
    return [one if bit else zero for bit in bits]


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
    for ratio in found:
        if ratio not in kinds:
            raise UnknownArchitecture(f"compress_ratios names runs of {short(ratio)}: known are 0, 4, 128")
    # Where the count of draft layers is left out, all that is over is theirs.
    named = found if fields.whole("num_nextn_predict_layers", least=0) else found[:n]
    return [kinds[ratio] for ratio in named]


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


def pattern_text(fields: Fields) -> Kinds | None:
    """A unit of letters that repeats: L has a window, G sees everything."""
    n = fields.layers
    if n is None or not isinstance(fields.raw("sliding_window_pattern"), str):
        return None
    unit = (fields.text("sliding_window_pattern") or "").upper()
    if not unit or set(unit) - set("LG"):
        raise BadConfig(f"sliding_window_pattern={unit[:40]!r}: must be a number, or letters L and G")
    return ["sliding" if unit[i % len(unit)] == "L" else "full" for i in range(n)]
