"""States of models with spellings of their own: PLaMo 2, Mamba's own package, RWKV from version 5 on."""

from memlessons.plan.huggingface.elements import Elements
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields, short
from memlessons.plan.huggingface.heads import hidden_size

RWKV = ("rwkv5", "rwkv6", "rwkv7")
"""Types that keep a matrix for each head; RWKV-4, type rwkv, keeps an average."""


def plamo2(f: Fields) -> Elements | None:
    """Heads as wide as those of attention, and a convolution over them alone: no groups pass through it."""
    if not f.has("mamba_step"):
        return None
    why = "mamba_step says that layers keep a Mamba-2 state"
    inner = f.need("mamba_num_heads", why=why) * f.need("hidden_size_per_head", why=why)
    state, kernel = f.need("mamba_d_state", why=why), f.need("mamba_d_conv", why=why)
    return Elements((kernel - 1) * inner, inner * state)


def mamba_package(f: Fields) -> Elements | None:
    """What the package fills in is that of its two classes: a state of 16 or 128 numbers, a kernel of 4."""
    cfg, hidden = f.inner("ssm_cfg"), hidden_size(f)
    if cfg is None or hidden is None:
        return None
    if f.items("attn_layer_idx"):
        raise UnknownArchitecture(
            "attn_layer_idx puts attention between Mamba layers: no rule knows its heads"
        )
    layer = cfg.text("layer") or "Mamba1"
    if layer not in ("Mamba1", "Mamba2"):
        raise UnknownArchitecture(f"ssm_cfg.layer={short(layer)}: known are Mamba1 and Mamba2")
    kernel, inner = cfg.whole("d_conv") or 4, (cfg.whole("expand") or 2) * hidden
    if layer == "Mamba1":
        return Elements((kernel - 1) * inner, inner * (cfg.whole("d_state") or 16))
    state, groups = cfg.whole("d_state") or 128, cfg.whole("ngroups") or 1
    inner = cfg.whole("d_ssm") or inner
    return Elements((kernel - 1) * (inner + 2 * groups * state), inner * state)


def rwkv_matrix(f: Fields) -> Elements | None:
    """A matrix as wide as a head for each head, and the token before for each of two mixes."""
    # Headers of GGUF files give the same sizes under Mamba's names, which count by themselves.
    if f.model_type not in RWKV or f.has("state_size"):
        return None
    if f.raw("attn"):
        raise UnknownArchitecture("attn puts attention between RWKV layers: no rule knows which")
    hidden = f.need("hidden_size", why="the configuration describes RWKV layers")
    inner = f.whole("attention_hidden_size") or hidden
    width = f.need("head_size", "head_dim", why="RWKV keeps a matrix as wide as a head")
    if inner % width:
        raise BadConfig(f"hidden_size={inner} is no multiple of heads of {width}")
    return Elements(2 * hidden, inner * width)
