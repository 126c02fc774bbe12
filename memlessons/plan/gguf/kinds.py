"""Which layers of a GGUF file attend, to what, and which keep a state instead."""

from memlessons.plan.gguf import architectures
from memlessons.plan.gguf.architectures import Windows
from memlessons.plan.gguf.errors import UnknownMetadata
from memlessons.plan.gguf.metadata import LONGEST, Metadata

_STATE_KEYS = ("ssm.state_size", "ssm.conv_kernel", "kda.head_dim", "wkv.head_size", "shortconv.l_cache")
_WORD = {"conv": "conv", "mamba": "mamba", "mamba2": "mamba", "rwkv": "linear_attention"}


def layer_types(
    data: Metadata, layers: int, drafting: int, kv_heads: list[int]
) -> tuple[list[str], int | None]:
    """The kind of each layer in words of a config.json, and the tokens that a window or a chunk has.

    Raises UnknownMetadata where the file names a window or a state, and neither it nor the architecture
    says which layers have it.
    """
    seen, size = _windowed(data, layers, drafting)
    keeps = _states(data, layers, drafting, kv_heads)
    if architectures.both_in_every_layer(data.arch):
        if size is not None:
            raise UnknownMetadata(
                f"{data.header.path}: {data.arch} attends and has a state in every layer, and names a window "
                "too: no rule here knows both together"
            )
        return ["hybrid"] * layers, None
    return [keeps[i] or seen[i] for i in range(layers)], size


def _windowed(data: Metadata, layers: int, drafting: int) -> tuple[list[str], int | None]:
    """Full or windowed for each layer as if all attended, and the window's size."""
    rule = architectures.windows(data.arch)
    if rule is not None and rule.layers not in (None, layers):
        rule = Windows(1)
    size = _window_size(data, rule)
    if not size:
        return ["full_attention"] * layers, None
    kind = rule.kind if rule is not None else "sliding_attention"
    listed = data.flags("attention.sliding_window_pattern", layers, drafting)
    if listed is not None:
        return [kind if windowed else "full_attention" for windowed in listed], size
    period = data.whole("attention.sliding_window_pattern", most=LONGEST)
    if rule is None:
        # A period alone does not say whether the layer that sees everything comes first or last.
        raise UnknownMetadata(
            f"{data.header.path}: {data.arch}.attention.sliding_window={size}, but the file lists no pattern "
            f"and no rule here knows which layers of {data.arch!r} have the window"
        )
    period = rule.period if period is None else period
    if period == 0:
        return [kind] * layers, size
    whole = 0 if rule.full_first else period - 1
    return ["full_attention" if i % period == whole else kind for i in range(layers)], size


def _window_size(data: Metadata, rule: Windows | None) -> int | None:
    """Tokens of a window or a chunk, None for none."""
    size = data.whole("attention.sliding_window", most=LONGEST)
    chunk = data.whole("attention.chunk_size", most=LONGEST)
    if chunk and (rule is None or rule.kind != "chunked_attention"):
        raise UnknownMetadata(
            f"{data.header.path}: {data.arch}.attention.chunk_size={chunk}: no rule here knows which layers "
            f"of {data.arch!r} attend in chunks"
        )
    if size == 0:
        return None
    if size is None:
        if (rule is not None and rule.needed) or data.raw("attention.sliding_window_pattern") is not None:
            data.need("attention.sliding_window", most=LONGEST)
        return chunk or (rule.default if rule is not None else None)
    return chunk or (rule.fixed if rule is not None else None) or size


def _states(data: Metadata, layers: int, drafting: int, kv_heads: list[int]) -> list[str]:
    """For each layer that does not attend the word for what it keeps, "" for one that attends."""
    state = architectures.state(data.arch)
    stated = [key for key in _STATE_KEYS if data.whole(key)]
    if state is None and (
        stated or data.raw("full_attention_interval") or data.raw("attention.recurrent_layers")
    ):
        key = [*stated, "full_attention_interval or attention.recurrent_layers"][0]
        raise UnknownMetadata(
            f"{data.header.path}: {data.arch}.{key} says that layers keep a state, and no rule here knows "
            f"which layers of {data.arch!r} do, and what"
        )
    if architectures.never_attends(data.arch):
        return [_WORD[state or ""]] * layers
    if state == "delta":
        return _every_so_many(data, layers, drafting)
    words = []
    feeds = data.per_layer("feed_forward_length", layers, drafting) or [0] * layers
    for heads, feed in zip(kv_heads, feeds, strict=True):
        if heads:
            words.append("")
        elif state is None or (feed and architectures.may_be_feed_forward(data.arch)):
            words.append("none")
        else:
            words.append(_WORD.get(state, "linear_attention"))
    return words


def _every_so_many(data: Metadata, layers: int, drafting: int) -> list[str]:
    """Linear attention but in each last of `full_attention_interval` layers, unless the file has a list."""
    listed = data.flags("attention.recurrent_layers", layers, drafting)
    if listed is None:
        interval = data.whole("full_attention_interval", least=1) or 4
        listed = [(i + 1) % interval != 0 for i in range(layers)]
    return ["linear_attention" if recurrent else "" for recurrent in listed]
