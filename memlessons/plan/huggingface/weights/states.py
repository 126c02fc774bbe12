"""The weights of layers with a state instead of keys and values: Mamba, gated delta, convolutions."""

from collections.abc import Callable, Mapping

from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.attention import hidden
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import Flag

PART = "state layers"
_WHY = "layers are said to keep a state"
_MAMBA_BIAS = ("use_bias", "add_bias_linear", "mamba_proj_bias")
_CONV_BIAS = ("mamba_conv_bias", "use_conv_bias")


def _either(fields: Fields, names: tuple[str, ...], default: bool) -> bool:
    said = fields.flag(*names)
    return default if said is None else said


def mamba1(fields: Fields, ledger: Ledger) -> None:
    """Mamba (arXiv:2312.00752): in, a convolution, what the state depends on, and out."""
    wide = hidden(fields)
    state = fields.need("mamba_d_state", "state_size", why=_WHY)
    kernel = fields.need("mamba_d_conv", "conv_kernel", why=_WHY)
    expand = fields.whole("mamba_expand", "expand") or 2
    # Mamba's own configuration calls the inner width intermediate_size; a hybrid's is that of its MLP.
    own = fields.whole("intermediate_size") if fields.has("state_size") else None
    inner = own or expand * wide
    rank = fields.raw("mamba_dt_rank") if fields.has("mamba_dt_rank") else fields.raw("time_step_rank")
    steps = (
        -(-wide // 16) if rank in (None, "auto") else fields.need("mamba_dt_rank", "time_step_rank", why=_WHY)
    )
    bias = _either(fields, _MAMBA_BIAS, False)
    ledger.linear(PART, 2 * inner, wide, bias=bias)
    ledger.vector(PART, inner * (kernel + _either(fields, _CONV_BIAS, True)))
    ledger.linear(PART, steps + 2 * state, inner)
    ledger.linear(PART, inner, steps, bias=True)
    ledger.vector(PART, inner * (state + 1))
    ledger.linear(PART, wide, inner, bias=bias)


def mamba1_normed(fields: Fields, ledger: Ledger) -> None:
    """Jamba's Mamba: with norms over the step, the input and the output of the state."""
    mamba1(fields, ledger)
    wide, state = hidden(fields), fields.need("mamba_d_state", why=_WHY)
    rank = fields.raw("mamba_dt_rank")
    ledger.vector(
        "norms", (-(-wide // 16) if rank in (None, "auto") else fields.need("mamba_dt_rank", why=_WHY))
    )
    ledger.vector("norms", 2 * state)


def mamba2(fields: Fields, ledger: Ledger) -> None:
    """Mamba-2 (arXiv:2405.21060): one projection in, a convolution, a number a head for step and decay."""
    _mamba2(fields, ledger, norm=True)


def mamba2_in_parallel(fields: Fields, ledger: Ledger) -> None:
    """Falcon-H1's Mamba-2, which has a norm only where mamba_rms_norm says so."""
    _mamba2(
        fields, ledger, norm=Flag("mamba_rms_norm").of(fields), out_bias=Flag("projectors_bias").of(fields)
    )


def _mamba2(fields: Fields, ledger: Ledger, *, norm: bool, out_bias: bool | None = None) -> None:
    wide = hidden(fields)
    heads = fields.need("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads", why=_WHY)
    state = fields.need("mamba_d_state", "ssm_state_size", "state_size", why=_WHY)
    kernel = fields.need("mamba_d_conv", "conv_kernel", why=_WHY)
    groups = fields.need("mamba_n_groups", "mamba_ngroups", "n_groups", why=_WHY)
    inner = fields.whole("mamba_d_ssm")
    if inner is None and fields.has("mamba_num_heads"):
        inner = heads * fields.need("mamba_head_dim", why=_WHY)
    if inner is None:
        inner = wide * (fields.whole("mamba_expand", "expand") or 2)
    mixed = inner + 2 * groups * state
    bias = _either(fields, _MAMBA_BIAS, False)
    ledger.linear(PART, inner + mixed + heads, wide, bias=bias)
    ledger.vector(PART, mixed * (kernel + _either(fields, _CONV_BIAS, True)))
    ledger.vector(PART, 3 * heads)
    ledger.vector("norms", inner if norm else 0)
    ledger.linear(PART, wide, inner, bias=bias if out_bias is None else out_bias)


def gated_delta(fields: Fields, ledger: Ledger) -> None:
    """Gated delta (Qwen3-Next): queries, keys, values and a gate, two numbers a head, a convolution."""
    wide = hidden(fields)
    heads, keys = (
        fields.need("linear_num_value_heads", why=_WHY),
        fields.need("linear_num_key_heads", why=_WHY),
    )
    key_width = fields.need("linear_key_head_dim", why=_WHY)
    width = fields.need("linear_value_head_dim", why=_WHY)
    kernel = fields.need("linear_conv_kernel_dim", why=_WHY)
    mixed = 2 * keys * key_width + heads * width
    ledger.linear(PART, mixed + heads * width, wide)
    ledger.linear("state gates", 2 * heads, wide)
    ledger.vector(PART, mixed * kernel + 2 * heads)
    ledger.vector("norms", width)
    ledger.linear(PART, wide, heads * width)


def delta_of_channels(fields: Fields, ledger: Ledger) -> None:
    """Kimi's delta attention: decay for each channel and a gate, both through a small width."""
    heads, width = _delta(fields, ledger)
    inner = heads * width
    for _ in range(2):
        ledger.linear(PART, width, hidden(fields))
        ledger.linear(PART, inner, width)


def delta_of_channels_wide(fields: Fields, ledger: Ledger) -> None:
    """Ling's delta attention: decay for each channel and a gate, both at full width."""
    heads, width = _delta(fields, ledger)
    ledger.linear(PART, heads * width, hidden(fields), times=2)


def _delta(fields: Fields, ledger: Ledger) -> tuple[int, int]:
    inner = fields.inner("linear_attn_config")
    if inner is not None:
        heads, width = inner.need("num_heads", why=_WHY), inner.need("head_dim", why=_WHY)
        kernel = inner.need("short_conv_kernel_size", why=_WHY)
    else:
        heads, width = fields.need("linear_num_heads", why=_WHY), fields.need("linear_head_dim", why=_WHY)
        kernel = fields.need("linear_conv_kernel_dim", "short_conv_kernel_size", why=_WHY)
    ledger.linear(PART, heads * width, hidden(fields), times=3)
    ledger.vector(PART, 3 * heads * width * kernel + heads * width + heads)
    ledger.linear(PART, heads, hidden(fields))
    ledger.vector("norms", width)
    ledger.linear(PART, hidden(fields), heads * width)
    return heads, width


def short_conv(fields: Fields, ledger: Ledger) -> None:
    """LFM2's short convolution: three projections in, a convolution of each channel, and out."""
    wide, kernel = hidden(fields), fields.need("conv_L_cache", why=_WHY)
    bias = Flag("conv_bias").of(fields)
    ledger.linear(PART, 3 * wide, wide, bias=bias)
    ledger.vector(PART, wide * (kernel + bias))
    ledger.linear(PART, wide, wide, bias=bias)


def lightning(fields: Fields, ledger: Ledger) -> None:
    """Lightning attention (arXiv:2501.08313): queries, keys, values, a gate, a norm, and out."""
    heads = fields.need("num_attention_heads", why=_WHY)
    inner = heads * (fields.whole("head_dim") or hidden(fields) // heads)
    ledger.linear(PART, 3 * inner, hidden(fields))
    ledger.vector("norms", inner)
    ledger.linear(PART, inner, hidden(fields))
    ledger.linear(PART, hidden(fields), inner)


def rg_lru(fields: Fields, ledger: Ledger) -> None:
    """The recurrent block of Griffin (arXiv:2402.19427): gate and input, a convolution, two gates a head."""
    wide = hidden(fields)
    inner = fields.whole("lru_width") or wide
    heads, kernel = fields.need("num_attention_heads", why=_WHY), fields.need("conv1d_width", why=_WHY)
    ledger.linear(PART, inner, wide, bias=True, times=2)
    ledger.vector(PART, inner * (kernel + 1))
    ledger.vector(PART, inner)
    ledger.linear(PART, inner // heads, inner // heads, bias=True, times=2 * heads)
    ledger.linear(PART, wide, inner, bias=True)


STATES: Mapping[str, Callable[[Fields, Ledger], None]] = {
    "mamba": mamba1, "mamba, normed": mamba1_normed, "mamba2": mamba2, "mamba2, parallel": mamba2_in_parallel,
    "gated delta": gated_delta, "delta": delta_of_channels, "delta, wide": delta_of_channels_wide,
    "lightning": lightning, "rg-lru": rg_lru,
}  # fmt: skip
