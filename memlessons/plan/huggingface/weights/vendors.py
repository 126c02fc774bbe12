"""Methods of single makers' tools: NVIDIA's ModelOpt, Meta's FBGEMM, AMD's Quark, HQQ, AutoRound, and MLX."""

from collections.abc import Mapping
from fractions import Fraction

from memlessons.plan.huggingface.errors import BadConfig, UnknownQuantisation
from memlessons.plan.huggingface.fields import Fields, short
from memlessons.plan.huggingface.weights.ledger import Tensor
from memlessons.plan.huggingface.weights.left_out import all_but, without
from memlessons.plan.huggingface.weights.methods import (
    GIVE,
    Make,
    Method,
    Model,
    awq,
    bitsandbytes,
    compressed_tensors,
    fp8,
    gptq,
    grouped,
    integers,
    mxfp4,
)  # fmt: skip


def modelopt(settings: Fields, model: Model) -> Method:
    """ModelOpt's FP8, a 32-bit scale a matrix and one of its inputs, and NVFP4, 8-bit scales for each 16 too.

    Source: vLLM, model_executor/layers/quantization/modelopt.py.
    """
    inner = settings.inner("quantization") or settings
    algorithm = (inner.text("quant_algo") or "").upper()
    covers = all_but(inner, "ignore", "exclude_modules", layers_with=model.layers_with)
    if algorithm == "FP8":
        return Method(covers, lambda t: t.rows * t.columns + 8, "ModelOpt's fp8, two 32-bit scales a matrix")
    if algorithm == "NVFP4":
        group = inner.whole("group_size") or 16
        return Method(
            covers, grouped(4, group, 8, more=8), f"ModelOpt's nvfp4, 8-bit scales for each {group}"
        )
    raise UnknownQuantisation(f"modelopt, quant_algo={algorithm[:40]!r}: known are FP8 and NVFP4; {GIVE}")


def fbgemm_fp8(settings: Fields, model: Model) -> Method:
    """FBGEMM's 8-bit floats with a 32-bit scale a row (Llama 3.1 405B FP8, model card)."""
    covers = all_but(settings, "modules_to_not_convert", layers_with=model.layers_with)
    return Method(covers, lambda t: t.rows * t.columns + 4 * t.rows, "fp8 with a 32-bit scale a row")


def quark(settings: Fields, model: Model) -> Method:
    """Quark's fp8 with a scale a matrix or a row, and mxfp4 with 8-bit scales (quark.docs.amd.com)."""
    if settings.raw("layer_quant_config") or settings.raw("layer_type_quant_config"):
        raise UnknownQuantisation(f"quark with settings for chosen layers: no rule counts it; {GIVE}")
    whole = settings.inner("global_quant_config")
    weight = whole.inner("weight") if whole else None
    kind, scheme = (weight.text("dtype") or "", weight.text("qscheme") or "") if weight else ("", "")
    covers = all_but(settings, "exclude", layers_with=model.layers_with)
    if kind == "fp8_e4m3" and scheme in ("per_tensor", "per_channel"):
        a_row = scheme == "per_channel"
        return Method(
            covers, lambda t: t.rows * t.columns + 4 * (t.rows if a_row else 2),
            f"Quark's fp8, 32-bit scales {'a row' if a_row else 'a matrix'}",
        )  # fmt: skip
    if weight and kind == "fp4" and scheme == "per_group":
        group = weight.need("group_size", why="scales are for groups")
        return Method(covers, grouped(4, group, 8), f"Quark's mxfp4, 8-bit scales for each {group}")
    raise UnknownQuantisation(
        f"quark, dtype={kind[:40]!r}, qscheme={scheme[:40]!r}: no rule counts it; {GIVE}"
    )


def hqq(settings: Fields, model: Model) -> Method:
    """HQQ: codes with a 16-bit scale and a 16-bit zero for each group (github.com/mobiusml/hqq)."""
    inner = settings.inner("quant_config")
    weights = inner.inner("weight_quant_params") if inner else None
    if weights is None or weights.flag("quant_zero", "quant_scale"):
        raise UnknownQuantisation(f"hqq for chosen layers, or of scales too: no rule counts it; {GIVE}")
    bits = weights.need("nbits", most=8, why="HQQ says how wide a code is")
    group = weights.need("group_size", why="HQQ has scales for groups")
    covers = all_but(settings, "skip_modules", layers_with=model.layers_with)

    def size(t: Tensor) -> int:
        return -(-t.rows * t.columns * bits // 8) + 4 * -(-t.rows * t.columns // group)

    return Method(covers, size, f"HQQ of {bits} bits, 16-bit scales and zeros for each {group}")


def auto_round(settings: Fields, model: Model) -> Method:
    """AutoRound, which packs like AWQ or like GPTQ without an index (github.com/intel/auto-round)."""
    packing = settings.text("packing_format") or ""
    if model.has_experts or settings.raw("extra_config") or settings.text("data_type") not in (None, "int"):
        raise UnknownQuantisation(
            f"auto-round of experts, of chosen modules, or not of integers: no rule; {GIVE}"
        )
    return integers(settings, model, "bits", "AutoRound", index=0, packs_inputs="awq" not in packing)


_MLX_PARTS = (
    ("embed_tokens", "embeddings"), ("embed_tokens_per_layer", "embeddings of layers"), ("lm_head", "head"),
    (".gate", "router"), (".router", "router"),
)  # fmt: skip
_MLX_OWN = frozenset(("group_size", "bits", "mode", "quant_method", "linear_class", "quantization_mode"))
# How many bits of scales, and of zeros, a group has in each mode; and its size where none is said.
_MLX_MODES = {"affine": (32, 64), "mxfp4": (8, 32), "nvfp4": (8, 16), "mxfp8": (8, 32)}


def mlx(settings: Fields, model: Model) -> Method:
    """MLX: every matrix whose rows are whole groups, the embedding too, in groups with scale and bias.

    Source: mlx-lm, mlx_lm/utils.py (quantize_model), and mlx.core.quantize.
    """
    mode = settings.text("mode") or "affine"
    if mode not in _MLX_MODES:
        raise UnknownQuantisation(f"MLX, mode={mode[:40]!r}: known are {', '.join(_MLX_MODES)}; {GIVE}")
    more, usual = _MLX_MODES[mode]
    bits = settings.need("bits", most=8, why="MLX says how wide a code is")
    group = settings.whole("group_size") or usual
    plain, routers = _mlx_modules(settings, bits, group)
    layers = without(plain, "quantization", model.layers_with)
    kept = {part for name in plain for ending, part in _MLX_PARTS if name.endswith(ending)}

    def size(t: Tensor) -> int:
        width = routers if t.part == "router" else bits
        numbers = t.rows * t.columns
        return -(-numbers * width // 8) + -(-numbers // group) * more // 8

    return Method(
        lambda part: Fraction(0) if part in kept else layers(part),
        size,
        f"MLX of {bits} bits, {more} bits more for each {group}, the embedding too",
        True,
    )


def _mlx_modules(settings: Fields, bits: int, group: int) -> tuple[list[str], int]:
    """The modules left plain, and the bits of routers; refused where others have bits of their own."""
    plain, routers = [], bits
    for name, value in settings.levels[0].items():
        if name in _MLX_OWN or value is True:
            continue
        if value is False:
            plain.append(name)
            continue
        if not isinstance(value, Mapping):
            raise BadConfig(f"quantization.{str(name)[:60]}={short(value)}: must be false or an object")
        own = Fields((value,)).whole("bits", most=8) or bits
        if str(name).endswith((".gate", ".router", "shared_expert_gate")):
            routers = own
        elif own != bits or (value.get("group_size") or group) != group:
            raise UnknownQuantisation(f"MLX with {own} bits in {str(name)[:60]!r} alone: no rule; {GIVE}")
    return plain, routers


def method_of(settings: Fields, model: Model) -> Method:
    """The method that these settings name, or have the form of; UnknownQuantisation where none is known."""
    name = settings.text("quant_method") or _unnamed(settings)
    make = METHODS.get(name.lower())
    if make is None:
        raise UnknownQuantisation(
            f"quantization_config.quant_method={name[:40]!r}: known are {', '.join(METHODS)}; {GIVE}"
        )
    return make(settings, model)


def _unnamed(settings: Fields) -> str:
    """Older files of bitsandbytes, and all of MLX, do not name the method."""
    if settings.flag("load_in_4bit", "load_in_8bit") is not None:
        return "bitsandbytes"
    if settings.has("quant_algo") or settings.has("quantization"):
        return "modelopt"
    whole = settings.raw("bits") is not None
    return "mlx" if whole and (settings.has("group_size") or settings.has("mode")) else ""


METHODS: Mapping[str, Make] = {
    "fp8": fp8, "mxfp4": mxfp4, "gptq": gptq, "awq": awq, "bitsandbytes": bitsandbytes,
    "compressed-tensors": compressed_tensors, "modelopt": modelopt, "fbgemm_fp8": fbgemm_fp8, "quark": quark,
    "hqq": hqq, "auto-round": auto_round, "mlx": mlx, "modelopt_fp4": modelopt,
}  # fmt: skip
