"""The peer: `transformers` with the very same weights, as an oracle for tests and a rival in races."""

from typing import Any

import torch
from torch import Tensor

from memlessons.errors import MemlessonsError
from memlessons.model.decoder import Decoder


class PeerMissing(MemlessonsError, ImportError):
    """`transformers` is not installed."""


def llama_peer(decoder: Decoder) -> Any:
    """A `transformers.LlamaForCausalLM` in evaluation mode that computes with this decoder's weights."""
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        raise PeerMissing("transformers is not installed: pip install transformers") from None
    c = decoder.config
    config = LlamaConfig(
        vocab_size=c.vocabulary, hidden_size=c.hidden, intermediate_size=c.intermediate,
        num_hidden_layers=c.layers, num_attention_heads=c.query_heads, num_key_value_heads=c.kv_heads,
        head_dim=c.head_width, rms_norm_eps=c.norm_eps, max_position_embeddings=c.context_tokens,
        tie_word_embeddings=c.tied, rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
        attn_implementation="sdpa",
    )  # fmt: skip
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.to_empty(device=decoder.device).to(decoder.dtype)
    # Its rotary frequencies are not weights: they were lost with the meta device and are made again.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config).to(decoder.device)
    model.load_state_dict(_hf_names(decoder), assign=True, strict=not c.tied)
    model.tie_weights()
    return model.eval()


def _hf_names(decoder: Decoder) -> dict[str, Tensor]:
    c, w = decoder.config, decoder.weights
    q, kv = c.query_heads * c.head_width, c.kv_heads * c.head_width
    out = {"model.embed_tokens.weight": w["embed"], "model.norm.weight": w["final_norm"]}
    if not c.tied:
        out["lm_head.weight"] = w["unembed"]
    for i in range(c.layers):
        theirs, ours = f"model.layers.{i}.", f"layers.{i}."
        parts = w[ours + "qkv"].split([q, kv, kv])
        for name, part in zip(("q_proj", "k_proj", "v_proj"), parts, strict=True):
            out[f"{theirs}self_attn.{name}.weight"] = part
        gate, up = w[ours + "gate_up"].chunk(2)
        out |= {
            f"{theirs}self_attn.o_proj.weight": w[ours + "out"],
            f"{theirs}input_layernorm.weight": w[ours + "attn_norm"],
            f"{theirs}post_attention_layernorm.weight": w[ours + "ffn_norm"],
            f"{theirs}mlp.gate_proj.weight": gate,
            f"{theirs}mlp.up_proj.weight": up,
            f"{theirs}mlp.down_proj.weight": w[ours + "down"],
        }
    return out
