"""The cases that every backend must pass, for tests and for the check before any clock is started.

Each builds its tensors from a seed, with NaN in all slots beyond a row's length: a kernel that reads there,
even with weight 0, shows it.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Inputs(NamedTuple):
    """Arguments of one decode call."""

    q: Tensor
    k: Tensor
    v: Tensor
    lengths: Tensor
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One call that has gone wrong somewhere: sizes, lengths and options by name."""

    name: str
    HQ: int = 4
    HKV: int = 2
    DK: int = 32
    DV: int = 0  # 0: as DK
    lengths: tuple[int, ...] = (50,)
    T: int = 64
    scale: float = 1.0  # of the numbers in q: large ones drive softmax into its corners
    options: dict[str, Any] = field(default_factory=dict)

    def inputs(self, dtype: torch.dtype, device: str | torch.device = "cpu", seed: int = 0) -> Inputs:
        """q, k, v and lengths, the same for every backend; slots beyond a length are NaN."""
        g = torch.Generator().manual_seed(seed)
        B, DV = len(self.lengths), self.DV or self.DK
        q = torch.randn(B, self.HQ, self.DK, generator=g) * self.scale
        k = torch.randn(B, self.HKV, self.T, self.DK, generator=g)
        v = torch.randn(B, self.HKV, self.T, DV, generator=g)
        for b, length in enumerate(self.lengths):
            k[b, :, length:], v[b, :, length:] = float("nan"), float("nan")
        lengths = torch.tensor(self.lengths, dtype=torch.int32)
        q, k, v = (t.to(device, dtype) for t in (q, k, v))
        return Inputs(q, k, v, lengths.to(device), dict(self.options))


GATES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 6e-3}
"""The largest ||o - truth|| / ||truth||, against float64 on the same rounded inputs."""


def cases() -> tuple[Case, ...]:
    """All cases of contiguous memory; each is small enough for Triton's interpreter."""
    found = [
        Case("full rows", lengths=(64, 64)),
        Case("ragged rows", lengths=(1, 17, 64, 33), options={"splits": 2}),
        Case("one token", lengths=(1,), T=1),
        Case("some rows empty", lengths=(0, 33, 0), options={"splits": 3}),
        Case("all rows empty", lengths=(0, 0)),
        Case("all rows empty, split", lengths=(0, 0), options={"splits": 4}),
        Case("no slots at all", lengths=(0,), T=0),
        Case("more splits than tiles", lengths=(20, 3), options={"splits": 11}),
        Case("multi-head", HQ=4, HKV=4, lengths=(41, 9), options={"splits": 2}),
        Case("multi-query", HQ=8, HKV=1, lengths=(41, 9), options={"splits": 2}),
        Case("K narrower than V", DK=24, DV=40),
        Case("K wider than V", DK=96, DV=64, options={"splits": 2}),
        Case("logits of hundreds", scale=200.0, options={"splits": 3}),
        Case("vanishing logits", scale=1e-6),
        Case("softcap", scale=10.0, options={"softcap": 5.0, "splits": 2}),
        Case("scale given", options={"scale": 0.3}),
        Case("deterministic", lengths=(64, 5), options={"deterministic": True}),
    ]
    found += [
        Case(f"head width {d}", DK=d, lengths=(37,), options={"splits": 2}) for d in (1, 8, 80, 100, 160)
    ]
    found += [
        Case(f"{g} heads share one", HQ=2 * g, HKV=2, DK=16, lengths=(37,), options={"splits": 2})
        for g in (3, 5, 6, 7, 12, 24, 48, 65)
    ]
    return tuple(found)


class Worst(NamedTuple):
    """How far an answer is from the truth: relative error of o, largest error of lse, numbers not finite."""

    o: float
    lse: float
    not_finite: int


def distance(o: Tensor, lse: Tensor, truth: Tensor, truth_lse: Tensor) -> Worst:
    """Compare in float64; rows that are empty must be exactly (0, -inf), or all counts are infinite."""
    o, truth, lse, truth_lse = (t.detach().double().cpu() for t in (o, truth, lse, truth_lse))
    empty = torch.isneginf(truth_lse)
    if not torch.equal(torch.isneginf(lse), empty) or bool(o[empty].ne(0).any()):
        return Worst(float("inf"), float("inf"), int((~torch.isfinite(o)).sum()))
    error = float((o - truth).norm() / max(float(truth.norm()), 1e-300))
    worst = (
        float((lse - truth_lse)[~empty].abs().sub(1e-6 * truth_lse[~empty].abs()).max())
        if (~empty).any()
        else 0.0
    )
    return Worst(error, worst, int((~torch.isfinite(o)).sum()))
