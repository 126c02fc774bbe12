"""The cases that every backend must pass, for tests and for the check before any clock is started.

Each builds its tensors from a seed, with NaN in all slots that a row does not see, and in all pages that it
does not own: a kernel that reads there, even with weight 0, shows it.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Inputs(NamedTuple):
    """Arguments of one decode call."""

    q: Tensor
    k: Tensor
    v: Tensor | None
    lengths: Tensor
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One call that has gone wrong somewhere: sizes, lengths, form of memory and options by name."""

    name: str
    HQ: int = 4
    HKV: int = 2
    DK: int = 32
    DV: int = 0  # 0: as DK
    lengths: tuple[int, ...] = (50,)
    T: int = 64
    scale: float = 1.0  # of the numbers in q: large ones drive softmax into its corners
    page: int = 0  # slots of a page; 0: contiguous
    int8: bool = False
    latent: bool = False
    sinks: tuple[float, ...] = ()  # sink logits, repeated over the heads
    dominant: tuple[float, float] | None = None  # the lead of a first token that all look at; size of values
    options: dict[str, Any] = field(default_factory=dict)

    def inputs(self, dtype: torch.dtype, device: str | torch.device = "cpu", seed: int = 0) -> Inputs:
        """The arguments of a call, the same for every backend; what is not seen is NaN."""
        g = torch.Generator().manual_seed(seed)
        B, DV = len(self.lengths), self.DV or self.DK
        options = dict(self.options)
        q = torch.randn(B, self.HQ, self.DK, generator=g) * self.scale
        memories = {"k": torch.randn(B, self.HKV, self.T, self.DK, generator=g)}
        if self.latent:
            options |= {"value_width": DV, "scale": options.get("scale", 0.2)}
        else:
            memories["v"] = torch.randn(B, self.HKV, self.T, DV, generator=g)
        if self.dominant:
            lead, size = self.dominant
            q[...], memories["k"][:, :, 0] = q / 8, 0.0
            q[..., 0], memories["k"][:, :, 0, 0] = 1.0, lead * self.DK**0.5
            memories["v"] *= size
            memories["v"][:, :, 0] = 0.0  # as trained models have it: looked at by all, and saying nothing
        n = torch.arange(self.T)
        L = torch.tensor(self.lengths)[:, None]
        seen = (n < L) & ((n >= L - options.get("window", self.T)) | (n < options.get("sink_tokens", 0)))
        stored: dict[str, Tensor] = {}
        for name, memory in memories.items():
            if self.int8:
                stored[name], stored[f"{name}_scale"] = _codes(memory, seen)
            else:
                stored[name] = torch.where(seen[:, None, :, None], memory, float("nan")).to(dtype)
        if self.page:
            stored, options["table"] = _paged(stored, seen, self.page, g)
        if self.sinks:
            options["sink_logits"] = torch.tensor(self.sinks).repeat(self.HQ)[: self.HQ]
        options |= {name: stored[name] for name in ("k_scale", "v_scale") if name in stored}
        options = {k: x.to(device) if isinstance(x, Tensor) else x for k, x in options.items()}
        k, v = stored["k"].to(device), stored["v"].to(device) if "v" in stored else None
        lengths = torch.tensor(self.lengths, dtype=torch.int32)
        return Inputs(q.to(device, dtype), k, v, lengths.to(device), options)


def _codes(memory: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Codes of eight bits with a scale for each slot and head; slots that are not seen have NaN as theirs."""
    memory[:, :, 3:4] = 0.0  # a row of zeros: 0 / 0 is no scale
    scale = memory.abs().amax(-1).clamp(min=1e-12) / 127
    codes = (memory / scale[..., None]).round().clamp(-127, 127).to(torch.int8)
    return codes, torch.where(seen[:, None], scale, float("nan"))


def _paged(
    stored: dict[str, Tensor], seen: Tensor, page: int, g: torch.Generator
) -> tuple[dict[str, Tensor], Tensor]:
    """The same content in pages of a pool, in no order; -1 in the table where no page is seen.

    The table is a view of a wider one: its rows are further apart than they are long.
    """
    B, T = seen.shape
    MP = -(-T // page)
    order = torch.randperm(B * MP + 3, generator=g)[: B * MP].view(B, MP)
    padded = torch.nn.functional.pad(seen, (0, MP * page - T)).view(B, MP, page)
    table = torch.full((B, MP + 2), -7, dtype=torch.int32)
    table[:, :MP] = torch.where(padded.any(-1), order, -1)
    pools = {}
    for name, memory in stored.items():
        pad = (0,) * (2 * (memory.dim() - 3)) + (0, MP * page - T)
        nothing = 99 if memory.dtype == torch.int8 else float("nan")
        filled = torch.nn.functional.pad(memory, pad, value=nothing).unflatten(2, (MP, page))
        pool = torch.full((B * MP + 3, filled.shape[1], *filled.shape[3:]), nothing, dtype=memory.dtype)
        pool[order.reshape(-1)] = filled.transpose(1, 2).flatten(0, 1)
        pools[name] = pool
    return pools, table[:, :MP]


GATES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 6e-3}
"""The largest ||o - truth|| / ||truth||, against float64 on the same rounded inputs."""


def cases() -> tuple[Case, ...]:
    """All cases; each is small enough for Triton's interpreter."""
    return (*_plain(), *_windows(), *_pages(), *_codes_and_latents())


def _plain() -> list[Case]:
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
        Case("sink logits", lengths=(50, 0, 7), sinks=(0.0, -2.0, 3.0), options={"splits": 3}),
        Case("sink logits, one split", lengths=(50, 0), sinks=(1.0,), options={"splits": 1}),
        Case("sink logits of hundreds", lengths=(40, 0), sinks=(300.0, -300.0), options={"splits": 2}),
    ]
    found += [
        Case(f"head width {d}", DK=d, lengths=(37,), options={"splits": 2}) for d in (1, 8, 80, 100, 160)
    ]
    found += [
        Case(f"{g} heads share one", HQ=2 * g, HKV=2, DK=16, lengths=(37,), options={"splits": 2})
        for g in (3, 5, 6, 7, 12, 24, 48, 65)
    ]
    return found


def _windows() -> list[Case]:
    found = [
        Case(f"window {w}", lengths=(50, 16, 3), options={"window": w, "splits": 2})
        for w in (1, 16, 17, 33, 50, 64)
    ]
    found += [
        Case(f"window {w}, {s} sink tokens", lengths=(50, 22, 2), options={"window": w, "sink_tokens": s})
        for w, s in ((5, 1), (17, 4), (20, 20), (3, 60))
    ]
    return [
        *found,
        Case("window, sinks and logits", lengths=(60, 9), sinks=(0.5, -1.0), scale=5.0,
             options={"window": 9, "sink_tokens": 2, "softcap": 8.0, "splits": 5}),
        Case("window, deterministic", lengths=(64, 40), options={"window": 20, "deterministic": True}),
    ]  # fmt: skip


def _pages() -> list[Case]:
    found = [
        Case(f"pages of {page}", lengths=(50, 0, 33), page=page, options={"splits": 2})
        for page in (1, 5, 16, 32, 64)
    ]
    return [
        *found,
        Case("pages and a window", lengths=(60, 17, 40), page=16, options={"window": 18, "splits": 2}),
        Case("small pages, window and sinks", lengths=(60, 30), page=4,
             options={"window": 13, "sink_tokens": 3, "splits": 3}),
        Case("large pages, window and sinks", lengths=(64, 39), page=32,
             options={"window": 20, "sink_tokens": 17, "splits": 2}),
        Case("pages, 12 heads share one", HQ=12, HKV=1, lengths=(37, 20), page=16, DK=24, DV=40),
        Case("pages, deterministic", lengths=(50, 9), page=16, options={"deterministic": True}),
    ]  # fmt: skip


def _codes_and_latents() -> list[Case]:
    latent: dict[str, Any] = {"HKV": 1, "DK": 40, "DV": 24, "latent": True}
    return [
        Case("int8", lengths=(50, 64, 0), int8=True, options={"splits": 2}),
        Case("int8, K wider than V", DK=48, DV=32, lengths=(33,), int8=True),
        Case("int8, multi-head", HQ=4, HKV=4, lengths=(41, 9), int8=True, options={"splits": 2}),
        Case("int8, one token leads", lengths=(64, 40), int8=True, dominant=(8.0, 0.05),
             options={"splits": 2}),
        Case("int8, 12 heads share one", HQ=12, HKV=1, lengths=(37,), int8=True),
        Case("int8 in pages of 16", lengths=(50, 20), int8=True, page=16, options={"splits": 2}),
        Case("int8 in pages of 5, window and sinks", lengths=(50, 20), int8=True, page=5, sinks=(0.3,),
             options={"window": 11, "sink_tokens": 2, "splits": 2}),
        Case("latent", lengths=(50, 7, 0), options={"splits": 2}, **latent),
        Case("latent, 16 heads", HQ=16, lengths=(33,), **latent),
        Case("latent without positions", HKV=1, DK=32, latent=True, lengths=(33,)),
        Case("latent in pages", lengths=(50, 20), page=16, options={"splits": 2}, **latent),
        Case("latent in int8", lengths=(50, 20), int8=True, options={"splits": 2}, **latent),
        Case("latent, window, pages, int8", lengths=(60, 20), page=8, int8=True, sinks=(0.1,),
             options={"window": 21, "sink_tokens": 1, "softcap": 6.0, "splits": 3}, **latent),
    ]  # fmt: skip


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
