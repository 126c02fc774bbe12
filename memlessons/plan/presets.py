"""A handful of known models, each as a plan and its weights, with the source of both."""

from typing import NamedTuple

from memlessons.errors import MemlessonsError
from memlessons.plan.formats import BF16, F16, Format
from memlessons.plan.layer import Layer
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.store import Store
from memlessons.plan.weights import Weights


class UnknownPreset(MemlessonsError, KeyError):
    """No preset of that name."""

    def __str__(self) -> str:
        return str(self.args[0])


class Preset(NamedTuple):
    """A named model: what it remembers, what its weights take, how far it was trained to read."""

    name: str
    plan: MemoryPlan
    weights: Weights
    longest_context: int
    source: str


def full_attention(
    layers: int, query_heads: int, kv_heads: int, head_width: int, format: Format = F16, rule: str = ""
) -> MemoryPlan:
    """A plan in which each layer keeps K and V of every token, the commonest design."""
    store = Store(
        "self", kv_heads, head_width, head_width, head_width, key_format=format, value_format=format
    )
    return MemoryPlan((Layer(query_heads, (store,), rule=rule),) * layers)


def _dense(parameters: int, bytes_per_parameter: int, source: str) -> Weights:
    return Weights(parameters * bytes_per_parameter, parameters, parameters, source)


_CARD = "configuration on the model's card"
_HERD = "The Llama 3 Herd of Models, arXiv:2407.21783"


def _presets() -> tuple[Preset, ...]:
    r1 = full_attention(61, 128, 128, 192, BF16).with_latent(512, 64)
    return (
        Preset("smollm2-135m", full_attention(30, 9, 3, 64, BF16), _dense(134_515_008, 2, _CARD), 8192,
               "SmolLM2-135M-Instruct, GGUF header and tensor shapes"),
        Preset("gemma-3-270m", full_attention(18, 4, 1, 256, BF16).with_window(6, 512),
               _dense(268_098_176, 2, _CARD), 32_768, "Gemma 3 270M, tensor shapes"),
        Preset("llama-2-7b", full_attention(32, 32, 32, 128), _dense(6_738_415_616, 2, _CARD), 4096,
               "Llama 2, arXiv:2307.09288"),
        Preset("mistral-7b-v0.1", full_attention(32, 32, 8, 128, BF16).with_window(None, 4096),
               _dense(7_241_732_096, 2, _CARD), 32_768, "Mistral 7B, arXiv:2310.06825"),
        Preset("llama-3.1-8b", full_attention(32, 32, 8, 128, BF16), _dense(8_030_261_248, 2, _CARD),
               131_072, _HERD),
        Preset("llama-3.1-70b", full_attention(80, 64, 8, 128, BF16), _dense(70_553_706_496, 2, _CARD),
               131_072, _HERD),
        Preset("gemma-3-27b", full_attention(62, 32, 16, 128, BF16).with_window(6, 1024),
               _dense(27_009_346_304, 2, _CARD), 131_072, "Gemma 3 Technical Report, arXiv:2503.19786"),
        Preset("deepseek-r1", r1, Weights(671_026_419_200, 671_026_419_200, 37_000_000_000,
               "8-bit weights as published; 37 billion active as reported, arXiv:2412.19437"), 163_840,
               "DeepSeek-V3 Technical Report, arXiv:2412.19437: a latent of 512 and 64 for RoPE"),
    )  # fmt: skip


_BY_NAME = {preset.name: preset for preset in _presets()}


def names() -> list[str]:
    """The presets' names."""
    return list(_BY_NAME)


def get(name: str) -> Preset:
    """The preset of that name (in any case); UnknownPreset lists the known ones."""
    try:
        return _BY_NAME[name.lower()]
    except (KeyError, AttributeError):
        raise UnknownPreset(f"no preset {name!r}; known are {', '.join(_BY_NAME)}") from None
