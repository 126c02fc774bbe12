"""Methods of quantisation: which parts each covers, and the bytes of a linear layer with its scales."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from memlessons.plan.huggingface.errors import BadConfig, UnknownQuantisation
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.ledger import Tensor
from memlessons.plan.huggingface.weights.left_out import LayersWith, Share, all_but

GIVE = "give the bytes of the weights instead"


class Method(NamedTuple):
    """A quantisation: which share of a part it covers, the bytes of a matrix of such a part, and it in words.

    `everything` says that embeddings, head and router are quantised like all matrices.
    """

    covers: Share
    bytes_of: Callable[[Tensor], int]
    text: str
    everything: bool = False


class Model(NamedTuple):
    """What a method asks of the model: whether it has experts, and which layers have which part."""

    has_experts: bool
    layers_with: LayersWith


Make = Callable[[Fields, Model], Method]


def fp8(settings: Fields, model: Model) -> Method:
    """8-bit floats with a 32-bit scale a block (DeepSeek-V3's config.json), or one a matrix."""
    block = settings.items("weight_block_size")
    covers = all_but(settings, "modules_to_not_convert", "ignored_layers", layers_with=model.layers_with)
    if block is None:
        return Method(covers, lambda t: t.rows * t.columns + 4, "fp8 with a 32-bit scale a matrix")
    rows, columns = pair("weight_block_size", block)

    def size(t: Tensor) -> int:
        return t.rows * t.columns + 4 * -(-t.rows // rows) * -(-t.columns // columns)

    return Method(covers, size, f"fp8 with a 32-bit scale for each {rows} x {columns}")


def mxfp4(settings: Fields, model: Model) -> Method:
    """4-bit floats with an 8-bit scale for each 32 (OCP microscaling), in the experts alone (gpt-oss)."""
    if not model.has_experts:
        raise UnknownQuantisation(
            f"quant_method='mxfp4' without experts: no rule says what it covers; {GIVE}"
        )
    return Method(
        lambda part: Fraction(part == "experts"),
        grouped(4, 32, 8),
        "experts in mxfp4, 8-bit scales for each 32",
    )


def gptq(settings: Fields, model: Model) -> Method:
    """GPTQ: integers in words of 32 bits, 16-bit scales and packed zeros a group, an index for each input."""
    if model.has_experts or settings.flag("lm_head") or settings.raw("dynamic"):
        raise UnknownQuantisation(
            f"gptq of experts, of the head or of chosen modules: no rule counts it; {GIVE}"
        )
    return integers(settings, model, "bits", "GPTQ", index=4, packs_inputs=True)


def awq(settings: Fields, model: Model) -> Method:
    """AWQ: integers in words of 32 bits, 16-bit scales and packed zeros a group."""
    return integers(settings, model, "bits", "AWQ", index=0, packs_inputs=False)


def integers(
    settings: Fields, model: Model, name: str, title: str, *, index: int, packs_inputs: bool
) -> Method:
    """Integers in words of 32 bits, 16-bit scales and packed zeros a group, `index` bytes for each input."""
    bits = settings.need(name, "w_bit", most=8, why=f"{title} packs integers")
    group = settings.whole("group_size", "q_group_size", least=-1)
    covers = all_but(settings, "modules_to_not_convert", layers_with=model.layers_with)

    def size(t: Tensor) -> int:
        groups = 1 if group is None or group < 1 else -(-t.columns // group)
        words = _words(t.columns, bits) * t.rows if packs_inputs else _words(t.rows, bits) * t.columns
        return 4 * words + groups * (2 * t.rows + 4 * _words(t.rows, bits)) + index * t.columns

    each = "a row" if group is None or group < 1 else f"each {group}"
    return Method(covers, size, f"{title} of {bits} bits, 16-bit scales and zeros for {each}")


def bitsandbytes(settings: Fields, model: Model) -> Method:
    """bitsandbytes: 4 bits with a scale for each 64, maybe quantised again, or 8 bits with one a row."""
    if model.has_experts:
        raise UnknownQuantisation(f"bitsandbytes with experts: versions differ in what they quantise; {GIVE}")
    covers = all_but(settings, "llm_int8_skip_modules", layers_with=model.layers_with)
    if settings.flag("load_in_4bit", "_load_in_4bit"):
        if not settings.flag("bnb_4bit_use_double_quant"):
            return Method(covers, _flat(64, 32, 64), "bitsandbytes' 4 bits, a 32-bit scale for each 64")
        return Method(covers, _flat(64, 8, 64 + 1024, nested=256),
                      "bitsandbytes' 4 bits, scales for each 64 in 8 bits")  # fmt: skip
    return Method(
        covers, lambda t: t.rows * t.columns + 4 * t.rows, "bitsandbytes' 8 bits, a 32-bit scale a row"
    )


def compressed_tensors(settings: Fields, model: Model) -> Method:
    """compressed-tensors with one group of settings for all linear layers, symmetric."""
    groups = settings.inner("config_groups")
    found = list(groups.levels[0].values()) if groups else []
    sparsity = settings.inner("sparsity_config")
    if len(found) != 1 or not isinstance(found[0], Mapping) or (sparsity is not None and sparsity.levels[0]):
        raise UnknownQuantisation(
            f"compressed-tensors of several groups, or sparse: no rule counts it; {GIVE}"
        )
    group = replace(settings, levels=(found[0],))
    weights = group.inner("weights")
    if group.items("targets") != ["Linear"] or weights is None or weights.flag("symmetric") is False:
        raise UnknownQuantisation(
            f"compressed-tensors of chosen modules, or with zero points: no rule; {GIVE}"
        )
    bits = weights.need("num_bits", most=8, why="compressed-tensors says how wide a weight is")
    strategy = weights.text("strategy") or ""
    covers = all_but(settings, "ignore", layers_with=model.layers_with)
    shape = 16 if "pack-quantized" in (settings.text("format") or "") else 0
    if strategy == "tensor_group" and bits == 4:
        size = grouped(4, weights.need("group_size", why="scales are for groups"), 8, more=4)
    elif strategy == "group":
        size = grouped(bits, weights.need("group_size", why="scales are for groups"), 16, more=shape)
    elif strategy in ("channel", "tensor"):
        size = _rows(bits, strategy == "channel", shape)
    elif strategy == "block":
        size = _blocks(bits, *pair("block_structure", weights.items("block_structure") or []))
    else:
        raise UnknownQuantisation(
            f"compressed-tensors, strategy={strategy[:40]!r}: no rule counts it; {GIVE}"
        )
    return Method(covers, size, f"compressed-tensors of {bits} bits, scales by {strategy.replace('_', ' ')}")


def grouped(bits: int, group: int, scale_bits: int, more: int = 0) -> Callable[[Tensor], int]:
    """Codes of each row, and a scale for each `group` of them."""

    def size(t: Tensor) -> int:
        return t.rows * (-(-t.columns * bits // 8) + -(-(-(-t.columns // group) * scale_bits) // 8)) + more

    return size


def _flat(group: int, scale_bits: int, more: int, nested: int = 0) -> Callable[[Tensor], int]:
    """4-bit codes and scales over the whole matrix; `nested` scales share another, of 32 bits."""

    def size(t: Tensor) -> int:
        numbers = t.rows * t.columns
        scales = -(-numbers // group)
        return (
            -(-numbers // 2) + scales * scale_bits // 8 + (4 * -(-scales // nested) if nested else 0) + more
        )

    return size


def _rows(bits: int, a_row: bool, more: int) -> Callable[[Tensor], int]:
    return lambda t: t.rows * -(-t.columns * bits // 8) + 2 * (t.rows if a_row else 1) + more


def _blocks(bits: int, rows: int, columns: int) -> Callable[[Tensor], int]:
    return lambda t: -(-t.rows * t.columns * bits // 8) + 2 * -(-t.rows // rows) * -(-t.columns // columns)


def _words(numbers: int, bits: int) -> int:
    return -(-numbers * bits // 32)


def pair(name: str, found: list[object]) -> tuple[int, int]:
    """Rows and columns of a block, as a list gives them; BadConfig for another length."""
    sizes = [Fields(({name: size},)).need(name, why="a block has rows and columns") for size in found]
    if len(sizes) != 2:
        raise BadConfig(f"{name} has {len(sizes)} entries: a block has rows and columns")
    return sizes[0], sizes[1]
