"""The state of layers that do not look back, in fields of a config.json.

llama.cpp (llama-hparams.cpp) keeps (conv_kernel - 1) * (inner + 2 * groups * state) inputs of the
convolution and state * inner numbers a layer, for Mamba-1 (groups 0), Mamba-2 and gated delta alike.
"""

from typing import Any

from memlessons.plan.gguf import architectures
from memlessons.plan.gguf.metadata import Metadata


def state_fields(data: Metadata, heads: list[int]) -> dict[str, Any]:
    """The fields that give the size of the state, none for an architecture without one."""
    state = architectures.state(data.arch)
    if state is None:
        return {}
    if state == "conv":
        return {"conv_L_cache": data.need("shortconv.l_cache")}
    if state == "kda":
        return {
            "linear_attn_config": {
                "num_heads": max(heads),
                "head_dim": data.need("kda.head_dim"),
                "short_conv_kernel_size": data.need("ssm.conv_kernel"),
            }
        }
    if state == "rwkv":
        return _rwkv(data)
    kernel, width = data.need("ssm.conv_kernel"), data.need("ssm.state_size")
    inner, groups = data.need("ssm.inner_size"), data.whole("ssm.group_count") or 0
    if state == "mamba":
        if groups:
            raise data.error("ssm.group_count", groups, "Mamba-1 layers have no groups")
        return {"state_size": width, "conv_kernel": kernel, "intermediate_size": inner}
    ranks = data.need("ssm.time_step_rank")
    if inner % ranks:
        raise data.error("ssm.inner_size", inner, f"no multiple of ssm.time_step_rank={ranks}, the heads")
    if state == "delta":
        return {
            "linear_num_key_heads": data.need("ssm.group_count"),
            "linear_num_value_heads": ranks,
            "linear_key_head_dim": width,
            "linear_value_head_dim": inner // ranks,
            "linear_conv_kernel_dim": kernel,
        }
    return {
        "mamba_d_state": width,
        "mamba_d_conv": kernel,
        "mamba_n_heads": ranks,
        "mamba_d_head": inner // ranks,
        "mamba_n_groups": data.need("ssm.group_count"),
    }


def _rwkv(data: Metadata) -> dict[str, Any]:
    """RWKV 6 and 7 keep `token_shift_count` last inputs and a square a head: as wide as a Mamba layer's.

    A Mamba layer of inner width hidden, state head_size and kernel token_shift_count + 1 keeps as much.
    """
    shifts = data.whole("token_shift_count", least=1) or 2
    return {
        "state_size": data.need("wkv.head_size"),
        "conv_kernel": shifts + 1,
        "intermediate_size": data.need("embedding_length"),
    }
