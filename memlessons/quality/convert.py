"""Fewer heads of keys and values on a loaded checkpoint: new weights and a new plan, and what was lost."""

from dataclasses import replace

import torch
from torch import Tensor

from memlessons.errors import MemlessonsError
from memlessons.model.config import DecoderConfig
from memlessons.model.decoder import Decoder
from memlessons.model.load import LanguageModel


class CannotPool(MemlessonsError, ValueError):
    """The heads of a checkpoint cannot be pooled into so many."""


def pool_heads(
    model: LanguageModel, kv_heads: int, *, keys: bool = True, values: bool = True
) -> LanguageModel:
    """The same model with its heads of keys and values averaged into `kv_heads`, not trained again.

    Neighbouring heads are pooled: new head j is the mean of old heads j·n ... (j+1)·n - 1, as in
    J. Ainslie et al., "GQA", arXiv:2305.13245, section 2.1. Pooling weights pools what they produce, as
    projection and RoPE are linear. With only `keys` or only `values`, the other half keeps its heads, and
    the pooled half stands in memory once for each of them: a study of quality, which saves no byte.

    The weights of all but the pooled rows are shared with `model`. CannotPool if `kv_heads` does not
    divide the heads there are, or nothing is to be pooled.
    """
    c = model.config
    if not isinstance(kv_heads, int) or kv_heads < 1 or c.kv_heads % kv_heads:
        raise CannotPool(f"kv_heads={kv_heads!r}: must divide the {c.kv_heads} heads of {model.name}")
    if not (keys or values):
        raise CannotPool("keys=False, values=False: choose at least one of them to pool")
    if "embed.scale" in model.decoder.weights:
        raise CannotPool(
            f"{model.name} keeps its weights in eight bits: pool it before, load it without int8_weights"
        )
    stored = kv_heads if keys and values else c.kv_heads
    weights = dict(model.decoder.weights)
    for i in range(c.layers):
        name = f"layers.{i}.qkv"
        weights[name] = _pooled(weights[name], c, kv_heads, stored, keys, values)
    config = replace(c, kv_heads=stored)
    plan = model.plan.with_kv_heads(stored)
    decoder = Decoder(config, plan).load_weights(weights, model.decoder.dtype, model.decoder.device)
    decoder.kernels = model.decoder.kernels
    fewer = 2 * (c.kv_heads - stored) * c.head_width * c.hidden * c.layers
    have = model.weights
    sizes = replace(
        have,
        stored_bytes=have.stored_bytes - fewer * have.stored_bytes // have.parameters,
        parameters=have.parameters - fewer,
        active_parameters=have.active_parameters - fewer,
        source=f"{have.source}; heads of keys and values pooled",
    )
    return replace(model, config=config, plan=plan, weights=sizes, decoder=decoder)


def _pooled(qkv: Tensor, c: DecoderConfig, kv_heads: int, stored: int, keys: bool, values: bool) -> Tensor:
    """Rows of one layer's `qkv` `[(HQ + 2 HKV) * D, hidden]` with K and V averaged over `kv_heads` groups."""
    q, k, v = qkv.split([c.query_heads * c.head_width, *[c.kv_heads * c.head_width] * 2])

    def mean(rows: Tensor) -> Tensor:
        heads = rows.view(kv_heads, c.kv_heads // kv_heads, c.head_width, c.hidden).mean(1)
        # Where the other half keeps its heads, each of them meets a copy of the mean.
        return heads.repeat_interleave(stored // kv_heads, dim=0).reshape(-1, c.hidden)

    return torch.cat((q, mean(k) if keys else k, mean(v) if values else v))
