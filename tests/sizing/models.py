"""Small models for these tests, sizes chosen so that every number can be done by hand."""

from memlessons.cost import Accelerator
from memlessons.sizing.models import Model, of_config

CONFIG = {"model_type": "llama", "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
          "head_dim": 64, "max_position_embeddings": 8192}  # fmt: skip
WINDOWED = CONFIG | {"sliding_window": 1024, "sliding_window_pattern": 2}
LATENT = {"model_type": "deepseek_v3", "num_hidden_layers": 4, "num_attention_heads": 8,
          "num_key_value_heads": 8, "kv_lora_rank": 96, "qk_rope_head_dim": 32,
          "max_position_embeddings": 8192}  # fmt: skip

A_TOKEN = 4 * 2 * 64 * 2 * 2
"""Bytes of a token of CONFIG: layers x heads x width x (K and V) x 16 bits."""


def model(config: dict = CONFIG, weights: int | None = 100 * 2**20) -> Model:
    """The model of that configuration, with so many bytes of 16-bit weights."""
    made = of_config(config, "toy", "a configuration", weigh=False)
    return made if weights is None else made.with_weights(weights, weights // 2)


CARD = Accelerator(
    name="toy card", kind="desktop", memory_bytes=200 * 2**20, visible_bytes=190 * 2**20, bandwidth=1e9,
    matmul_flops=1e12, fp8_flops=None, l2_bytes=None, host_link=None, source="made up", confidence="assumed",
)  # fmt: skip
