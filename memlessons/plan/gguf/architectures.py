"""What llama.cpp knows of an architecture and no file says: window patterns, kinds of state.

Facts from llama.cpp, src/models/*.cpp and before 2026 src/llama-model.cpp (`load_hparams`), read in
November 2026. Names are compared without "-" and "_", which writers of files spell differently.
"""

from typing import NamedTuple


class Windows(NamedTuple):
    """Which layers see a window: all but one of each `period` layers, 0 for all.

    The layer that sees everything is the last of its run, or the first with `full_first`. A file's own
    `sliding_window_pattern` goes before `period`. Without a `sliding_window` in the file the window is of
    `default` tokens, none if that is None, and an error if the key is `needed`; with one it is what the
    file says, or `fixed`. `layers` limits the rule to models of so many layers.
    """

    period: int
    full_first: bool = False
    kind: str = "sliding_attention"
    default: int | None = None
    fixed: int | None = None
    needed: bool = False
    layers: int | None = None


_WINDOWS = {
    "gemma2": Windows(2, default=4096),
    "gemma3": Windows(6, needed=True),
    "gemma3n": Windows(5, needed=True),
    "cohere2": Windows(4, needed=True),
    "cohere2moe": Windows(4, full_first=True, needed=True),
    "olmo2": Windows(4),
    "gptoss": Windows(2, needed=True),
    "exaone4": Windows(4, default=4096, layers=64),
    "exaonemoe": Windows(4, needed=True),
    "afmoe": Windows(4),
    "plamo3": Windows(8),
    "mellum": Windows(4),
    "museglimmer": Windows(4, needed=True),
    "laguna": Windows(4, full_first=True),
    "smallthinker": Windows(4, full_first=True, fixed=4096),
    # Files of one writer state attention.chunk_size, which goes before the 8192 of llama.cpp.
    "llama4": Windows(4, kind="chunked_attention", default=8192, fixed=8192),
    # llama.cpp has these windows switched off (its pull request 13676); the model has them in all layers.
    "phi3": Windows(0),
}

# Layers with a state: what the layers that do not attend keep. "both": every layer attends and has a state.
_STATES = {
    "qwen3next": "delta", "qwen35": "delta", "qwen35moe": "delta", "kimilinear": "kda",
    "mamba": "mamba", "jamba": "mamba", "mamba2": "mamba2", "plamo2": "mamba", "nemotronh": "mamba2",
    "nemotronhmoe": "mamba2", "granitehybrid": "mamba2", "falconh1": "mamba2", "lfm2": "conv",
    "lfm2moe": "conv", "rwkv6": "rwkv", "rwkv6qwen2": "rwkv", "rwkv7": "rwkv", "arwkv7": "rwkv",
}  # fmt: skip
_EVERY_LAYER_BOTH = {"falconh1"}
_NO_ATTENTION = {"mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"}
# A layer of these without key and value heads has a state only if it has no feed-forward part either.
_STATE_OR_FEED_FORWARD = {"nemotronh", "nemotronhmoe"}

# For these llama.cpp creates no memory at all (llama_model::create_memory).
_KEEP_NOTHING = {
    "bert", "jinabertv2", "jinabertv3", "nomicbert", "nomicbertmoe", "neobert", "modernbert", "eurobert",
    "gemmaembedding", "llamaembed", "t5encoder", "wavtokenizerdec", "dream", "llada", "lladamoe", "rnd1",
}  # fmt: skip


def plain(arch: str) -> str:
    """An architecture's name as it is looked up here."""
    return arch.lower().replace("-", "").replace("_", "")


def windows(arch: str) -> Windows | None:
    """The window pattern that the architecture's code has, None if it has none that we know."""
    return _WINDOWS.get(plain(arch))


def state(arch: str) -> str | None:
    """The kind of state: "delta", "kda", "mamba", "mamba2", "conv", "rwkv"; None for none that we know."""
    return _STATES.get(plain(arch))


def both_in_every_layer(arch: str) -> bool:
    """Whether every layer attends and has a state."""
    return plain(arch) in _EVERY_LAYER_BOTH


def never_attends(arch: str) -> bool:
    """Whether no layer attends."""
    return plain(arch) in _NO_ATTENTION


def may_be_feed_forward(arch: str) -> bool:
    """Whether layers of the architecture are a state, an attention or a feed-forward part, one each."""
    return plain(arch) in _STATE_OR_FEED_FORWARD


def keeps_nothing(arch: str) -> bool:
    """Whether a model of this architecture reads a text as a whole and keeps nothing between tokens."""
    return plain(arch) in _KEEP_NOTHING
