"""What layers keep that do not look back: convolution and recurrent states, of constant size a sequence.

Each rule gives elements of the convolution's inputs and of the state. A convolution of kernel k needs the
k - 1 inputs before the current one. Engines keep convolution inputs in 16 bits and states in 32 unless the
configuration says otherwise (vLLM's default, and that of transformers); llama.cpp keeps both in 32.
"""

from memlessons.plan.formats import BF16, F16, F32, Format
from memlessons.plan.huggingface.elements import Elements
from memlessons.plan.huggingface.errors import BadConfig
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.heads import hidden_size, key_width, kv_heads, query_heads
from memlessons.plan.huggingface.recurrent import mamba_package, plamo2, rwkv_matrix
from memlessons.plan.huggingface.rules import Fired, Rule, first

_HF = "transformers 5.24, modeling of the class"
_FORMATS = {"float32": F32, "bfloat16": BF16, "float16": F16}


def elements(fields: Fields) -> Fired[Elements] | None:
    """What a layer with a state keeps; None where the configuration has none of the known fields."""
    return first(STATES, fields)


def formats(fields: Fields, sizes: Elements) -> tuple[tuple[int, Format], ...]:
    """Elements with the format of each part."""
    name = fields.text("mamba_ssm_cache_dtype", "mamba_ssm_dtype", "ssm_dtype") or "float32"
    if name not in _FORMATS:
        raise BadConfig(f"mamba_ssm_cache_dtype={name[:40]!r}: known are {', '.join(_FORMATS)}")
    return tuple(
        (count, format) for count, format in ((sizes.conv, BF16), (sizes.state, _FORMATS[name])) if count
    )


def _gated_delta(f: Fields) -> Elements | None:
    values = f.whole("linear_num_value_heads")
    if values is None:
        return None
    why = "linear_num_value_heads says that layers keep a gated delta state"
    keys = f.need("linear_num_key_heads", why=why)
    key_width, width = f.need("linear_key_head_dim", why=why), f.need("linear_value_head_dim", why=why)
    kernel = f.need("linear_conv_kernel_dim", why=why)
    return Elements((kernel - 1) * (2 * keys * key_width + values * width), values * width * key_width)


def _kda(f: Fields) -> Elements | None:
    inner = f.inner("linear_attn_config")
    if inner is not None:
        why = "linear_attn_config describes layers with a state"
        heads, width = inner.need("num_heads", why=why), inner.need("head_dim", why=why)
        kernel = inner.whole("short_conv_kernel_size") or 1
    else:
        found = f.whole("linear_num_heads")
        if found is None:
            return None
        heads, width = found, f.need("linear_head_dim", why="linear_num_heads describes layers with a state")
        kernel = f.whole("linear_conv_kernel_dim") or 1
    # Queries, keys and values pass a convolution each.
    return Elements((kernel - 1) * 3 * heads * width, heads * width * width)


def _mamba2(f: Fields) -> Elements | None:
    heads = f.whole("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    width = f.whole("mamba_d_head", "mamba_head_dim", "mamba_headdim")
    if heads is None or (width is None and not f.has("mamba_d_head")):
        return None
    why = "the configuration describes Mamba-2 layers"
    state = f.need("mamba_d_state", "ssm_state_size", why=why)
    kernel = f.need("mamba_d_conv", "conv_kernel", why=why)
    groups = f.whole("mamba_n_groups", "mamba_ngroups", "n_groups") or 1
    inner = f.whole("mamba_d_ssm") or (heads * width if width is not None else None)
    if inner is None:
        raise BadConfig("mamba_d_head is missing: the configuration describes Mamba-2 layers")
    return Elements((kernel - 1) * (inner + 2 * groups * state), inner * state)


def _pure_mamba2(f: Fields) -> Elements | None:
    heads, width = f.whole("num_heads"), f.whole("head_dim")
    if heads is None or width is None or not f.has("state_size") or not f.has("n_groups"):
        return None
    state = f.need("state_size", why="the configuration describes Mamba-2 layers")
    kernel = f.need("conv_kernel", why="the configuration describes Mamba-2 layers")
    groups = f.whole("n_groups") or 1
    return Elements((kernel - 1) * (heads * width + 2 * groups * state), heads * width * state)


def _mamba1(f: Fields) -> Elements | None:
    state = f.whole("mamba_d_state", "state_size")
    hidden = hidden_size(f)
    if state is None or hidden is None:
        return None
    kernel = f.need("mamba_d_conv", "conv_kernel", why="the configuration describes Mamba layers")
    # Mamba's own configuration calls the inner width intermediate_size.
    own = f.whole("intermediate_size") if f.has("state_size") else None
    inner = own or hidden * (f.whole("mamba_expand", "expand") or 2)
    return Elements((kernel - 1) * inner, inner * state)


def _short_conv(f: Fields) -> Elements | None:
    kernel, hidden = f.whole("conv_L_cache"), hidden_size(f)
    return None if kernel is None or hidden is None else Elements((kernel - 1) * hidden, 0)


def _rg_lru(f: Fields) -> Elements | None:
    kernel, width = f.whole("conv1d_width"), f.whole("lru_width") or hidden_size(f)
    return None if kernel is None or width is None else Elements((kernel - 1) * width, width)


def _lightning(f: Fields) -> Elements | None:
    if not f.has("attn_type_list") and not f.has("linear_attn_alpha_factor"):
        return None
    heads, hidden = query_heads(f), hidden_size(f)
    if heads is None or hidden is None:
        return None
    width = f.whole("head_dim") or hidden // heads
    return Elements(0, heads * width * width)


def _four_convolutions(f: Fields) -> Elements | None:
    kernel, hidden = f.whole("conv_kernel_size"), hidden_size(f)
    if kernel is None or hidden is None or not f.kind:
        return None
    # Over keys, over values, and over what goes into attention and into the experts; in 32 bits.
    kept = kv_heads(f).value * key_width(f).value
    return Elements(0, (kernel - 1) * (2 * kept + 2 * hidden))


def _compressed_convolution(f: Fields) -> Elements | None:
    kernels = [f.whole("cca_time0"), f.whole("cca_time1")]
    queries, hidden = query_heads(f), hidden_size(f)
    if None in kernels or queries is None or hidden is None:
        return None
    width = key_width(f).value
    # Queries and keys pass both convolutions; half of the values come from the token before.
    steps = sum(kernel - 1 for kernel in kernels if kernel is not None)
    kept = kv_heads(f).value
    return Elements(steps * (queries + kept) * width + kept * width // 2, 0)


def _rwkv(f: Fields) -> Elements | None:
    if not f.has("attention_hidden_size") or f.has("mamba_d_state"):
        return None
    hidden = hidden_size(f)
    width = f.whole("attention_hidden_size") or hidden
    # The last token of two mixes, and numerator, denominator and maximum of the average.
    return None if hidden is None or width is None else Elements(0, 2 * hidden + 3 * width)


def _xlstm(f: Fields) -> Elements | None:
    keys, values = f.fraction("qk_dim_factor"), f.fraction("v_dim_factor")
    heads, hidden = query_heads(f), hidden_size(f)
    if keys is None or values is None or heads is None or hidden is None:
        return None
    # All heads together are rounded up to a multiple of 64.
    key_width, width = (-(-int(hidden * part) // 64) * 64 // heads for part in (keys, values))
    # A matrix, its normaliser, and the largest exponent met.
    return Elements(0, heads * (key_width * width + key_width + 1))


STATES: tuple[Rule[Elements], ...] = (
    Rule("state: gated delta", f"{_HF} (Qwen3-Next): values x keys a head", _gated_delta),
    Rule("state: delta attention with a convolution each", f"{_HF} (Kimi-Linear)", _kda),
    Rule("state: PLaMo 2", "vLLM, models/plamo2.py: a convolution without groups", plamo2),
    Rule("state: ssm_cfg", "arXiv:2312.00752 and 2405.21060; defaults of their package's classes",
         mamba_package),
    Rule("state: Mamba-2", "arXiv:2405.21060; llama.cpp, llama-hparams.cpp", _mamba2),
    Rule("state: Mamba-2 without attention", "arXiv:2405.21060", _pure_mamba2),
    Rule("state: a short convolution", f"{_HF} (LFM2)", _short_conv),
    Rule("state: four short convolutions", f"{_HF} (Inkling)", _four_convolutions),
    Rule("state: compressed convolutional attention", f"{_HF} (Zaya)", _compressed_convolution),
    Rule("state: RG-LRU", "arXiv:2402.19427 (RecurrentGemma)", _rg_lru),
    Rule("state: lightning attention", "arXiv:2501.08313: width x width a head", _lightning),
    Rule("state: RWKV, a matrix a head", "arXiv:2404.05892, 2503.14456; llama.cpp, llama-hparams.cpp",
         rwkv_matrix),
    Rule("state: RWKV", f"{_HF} (RWKV-4)", _rwkv),
    Rule("state: xLSTM", "arXiv:2405.04517: a matrix of keys x values a head", _xlstm),
    Rule("state: Mamba", "arXiv:2312.00752", _mamba1),
)  # fmt: skip
