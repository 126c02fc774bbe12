"""An oracle in numpy that shares no line with the kernels: one query head at a time, plain sums."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def attention(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
    """o float64 [B, HQ, DV] and lse float64 [B, HQ] by the textbook's formula, shifted by the maximum."""
    queries, keys, values = (t.double().numpy() for t in (q, k, v))
    batch, heads, width = queries.shape
    share = heads // keys.shape[1]
    factor = options.get("scale") or 1 / np.sqrt(width)
    o, lse = np.zeros((batch, heads, values.shape[-1])), np.full((batch, heads), -np.inf)
    for b in range(batch):
        count = int(lengths[b])
        for h in range(heads if count else 0):
            memory = (h - h % share) // share
            scores = np.array([np.sum(queries[b, h] * keys[b, memory, t]) for t in range(count)]) * factor
            if options.get("softcap"):
                scores = options["softcap"] * np.tanh(scores / options["softcap"])
            weights = np.exp(scores - scores.max())
            for t in range(count):
                o[b, h] += weights[t] / weights.sum() * values[b, memory, t]
            lse[b, h] = scores.max() + np.log(weights.sum())
    return torch.from_numpy(o), torch.from_numpy(lse)
