"""An oracle in numpy that shares no line with the kernels: one query head at a time, plain sums."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def attention(
    q: Tensor, k: Tensor, v: Tensor | None, lengths: Tensor, **options: Any
) -> tuple[Tensor, Tensor]:
    """o float64 [B, HQ, DV] and lse float64 [B, HQ] by the textbook's formula, shifted by the maximum."""
    queries = q.double().numpy()
    batch, heads, width = queries.shape
    share = heads // k.shape[1]
    factor = options.get("scale") or 1 / np.sqrt(width)
    wide = options["value_width"] if v is None else v.shape[-1]
    o, lse = np.zeros((batch, heads, wide)), np.full((batch, heads), -np.inf)
    for b in range(batch):
        seen = [t for t in range(int(lengths[b])) if _sees(t, int(lengths[b]), options)]
        for h in range(heads if seen else 0):
            memory = (h - h % share) // share
            keys = [_entry(k, options.get("k_scale"), b, memory, t, options) for t in seen]
            values = [key[:wide] for key in keys]
            if v is not None:
                values = [_entry(v, options.get("v_scale"), b, memory, t, options) for t in seen]
            scores = np.array([np.sum(queries[b, h] * key) for key in keys]) * factor
            if options.get("softcap"):
                scores = options["softcap"] * np.tanh(scores / options["softcap"])
            lse[b, h] = scores.max() + np.log(np.exp(scores - scores.max()).sum())
            whole = lse[b, h]
            if options.get("sink_logits") is not None:
                whole = np.logaddexp(whole, float(options["sink_logits"][h]))
            for score, value in zip(scores, values, strict=True):
                o[b, h] += np.exp(score - whole) * value
    return torch.from_numpy(o), torch.from_numpy(lse)


def _sees(t: int, length: int, options: dict[str, Any]) -> bool:
    window = options.get("window")
    return window is None or t < options.get("sink_tokens", 0) or t > length - 1 - window


def _entry(
    pool: Tensor, scale: Tensor | None, b: int, memory: int, t: int, options: dict[str, Any]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    table = options.get("table")
    page, slot = (b, t) if table is None else (int(table[b][t // pool.shape[2]]), t % pool.shape[2])
    factor = 1.0 if scale is None else float(scale[page][memory][slot])
    return pool[page][memory][slot].double().numpy() * factor
