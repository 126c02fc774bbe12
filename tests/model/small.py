"""Small random decoders, and the same mathematics written plainly, one position and one head at a time."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from memlessons.model.config import DecoderConfig
from memlessons.model.decoder import Decoder
from memlessons.plan import F64, MemoryPlan, full_attention


def config(query_heads: int = 4, kv_heads: int = 2, head_width: int = 8, layers: int = 2, longest: int = 64):
    return DecoderConfig(
        layers=layers, hidden=24, query_heads=query_heads, kv_heads=kv_heads, head_width=head_width,
        intermediate=40, vocabulary=50, rope_base=10_000.0, norm_eps=1e-5, context_tokens=longest, tied=True,
    )  # fmt: skip


def untied(c: DecoderConfig) -> DecoderConfig:
    return replace(c, tied=False)


def plan(c: DecoderConfig | None = None) -> MemoryPlan:
    c = c or config()
    return full_attention(c.layers, c.query_heads, c.kv_heads, c.head_width, F64)


def weights(c: DecoderConfig, seed: int = 0) -> dict[str, Tensor]:
    stream = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(shape, generator=stream, dtype=torch.float64) * 0.3
        + (1.0 if len(shape) == 1 else 0.0)
        for name, shape in c.weight_shapes().items()
    }


def decoder(
    c: DecoderConfig, remembers: MemoryPlan | None = None, seed: int = 0, dtype: torch.dtype = torch.float64,
    int8: bool = False,
) -> Decoder:  # fmt: skip
    return Decoder(c, remembers or plan(c)).load_weights(weights(c, seed), dtype, int8=int8)


def plain_logits(d: Decoder, tokens: list[int]) -> Tensor:
    """Logits `[T, vocabulary]` by the formulas, with loops: shares no code with the decoder."""
    c, w = d.config, d.weights
    width, group = c.head_width, c.query_heads // c.kv_heads
    xs = [w["embed"][t].clone() for t in tokens]

    def norm(x, weight):
        return x / torch.sqrt((x * x).mean() + c.norm_eps) * weight

    def turn(x, position):
        out = x.clone()
        for i in range(width // 2):
            angle = position * c.rope_base ** (-2 * i / width)
            a, b = x[i], x[i + width // 2]
            out[i] = a * math.cos(angle) - b * math.sin(angle)
            out[i + width // 2] = a * math.sin(angle) + b * math.cos(angle)
        return out

    for i in range(c.layers):
        p = f"layers.{i}."
        projected = [w[p + "qkv"] @ norm(x, w[p + "attn_norm"]) for x in xs]
        heads = [
            [f[h * width : (h + 1) * width] for h in range(c.query_heads + 2 * c.kv_heads)] for f in projected
        ]
        new = []
        for t, x in enumerate(xs):
            outs = []
            for h in range(c.query_heads):
                query = turn(heads[t][h], t)
                keys = [turn(heads[s][c.query_heads + h // group], s) for s in range(t + 1)]
                scores = torch.stack([query @ key for key in keys]) / math.sqrt(width)
                share = torch.exp(scores - scores.max())
                share = share / share.sum()
                values = [heads[s][c.query_heads + c.kv_heads + h // group] for s in range(t + 1)]
                outs.append(sum(a * v for a, v in zip(share, values, strict=True)))
            x = x + w[p + "out"] @ torch.cat(outs)
            gated = w[p + "gate_up"] @ norm(x, w[p + "ffn_norm"])
            gate, up = gated[: c.intermediate], gated[c.intermediate :]
            new.append(x + w[p + "down"] @ (gate / (1 + torch.exp(-gate)) * up))
        xs = new
    return torch.stack([w["embed"] @ norm(x, w["final_norm"]) for x in xs])
