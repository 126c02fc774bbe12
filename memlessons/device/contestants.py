"""Who runs: this book's decode kernel, and torch's attention asked in two ways; their answers are checked."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from memlessons.device.arena import Arena
from memlessons.device.rows import Attention
from memlessons.errors import MemlessonsError
from memlessons.kernels import Scratch, decode
from memlessons.kernels.arguments import checked as problem
from memlessons.kernels.cases import GATES
from memlessons.kernels.reference import decode_reference
from memlessons.measure import interleaved

OURS, TORCH, FOLDED = "memlessons", "torch", "torch, folded"
_FUSED = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION")
CHECK_TOKENS = 193


class WrongAnswer(MemlessonsError):
    """A kernel's answer differs from the float64 reference: nothing of it is timed. The message names it."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One who runs one row: each `run()` takes the next inputs and returns its answer.

    `rival` names whom its time is compared with; if not given, this book's kernel in the same row.
    """

    row: str
    who: str
    run: Callable[[], Tensor]
    bytes_moved: int
    flops: int
    note: str = ""
    rival: str = ""

    @property
    def name(self) -> str:
        """The name by which it is timed and recorded."""
        return f"{self.row}, {self.who}"


def inputs(row: Attention, arena: Arena, tokens: int, sequences: int) -> list[dict[str, Any]]:
    """Arguments of `decode` for one row, a set for each piece of the block."""
    q_like, device = arena.numbers, arena.numbers.device
    g = torch.Generator(device).manual_seed(1)
    heads = (sequences, row.kv_heads, tokens)
    shapes = [(*heads, row.key_width)] + ([] if row.latent else [(*heads, row.value_width)])
    q = torch.randn(sequences, row.query_heads, row.key_width, generator=g, dtype=q_like.dtype, device=device)
    fixed: dict[str, Any] = {"q": q, "scale": row.scale, "window": row.window}
    fixed["lengths"] = torch.full((sequences,), tokens, dtype=torch.int32, device=device)
    if row.latent:
        fixed["value_width"] = row.value_width
    found = []
    for k, *v in arena.pieces(shapes, row.int8):
        one = fixed | {"k": k, "v": v[0] if v else None}
        if row.int8:
            # Codes are about evenly spread over eight bits; so scaled they vary as keys do, about 1.
            scales = torch.rand(2, *heads, generator=g, device=device).add_(0.5).div_(70)
            one |= {"k_scale": scales[0], "v_scale": scales[1]}
        found.append(one)
    return found


def ours(row: Attention, sets: list[dict[str, Any]]) -> Callable[[], Tensor]:
    """This book's kernel for the device that the inputs are on. BackendCannot where it is not installed."""
    turn, scratch = cycle(sets), Scratch()
    q = sets[0]["q"]
    backend: Any = "triton" if q.device.type == "cuda" else "cpu"
    out = q.new_empty(*q.shape[:2], row.value_width)

    def run() -> Tensor:
        decode(**next(turn), backend=backend, out=out, scratch=scratch)
        return out

    return run


def torch_attention(
    row: Attention, sets: list[dict[str, Any]], folded: bool, backend: str
) -> Callable[[], Tensor]:
    """`scaled_dot_product_attention` by the backend of that name; a window as a slice of the newest tokens.

    `folded`: query heads that share a memory are given as so many rows of one head, which is the same sum
    and lets torch read each memory once; otherwise with `enable_gqa`, as it is usually called. Of a latent
    the whole width is mixed and the columns of the values are taken: torch's fused kernels want one width.
    """
    turn, chosen = cycle(sets), SDPBackend.__members__[backend]
    heads = row.kv_heads if folded else row.query_heads

    def run() -> Tensor:
        one = next(turn)
        q, k = one["q"], one["k"]
        v = k if one["v"] is None else one["v"]
        seen = row.seen(k.shape[2])
        rows = q.view(q.shape[0], heads, row.query_heads // heads, row.key_width)
        with sdpa_kernel(chosen):
            o = F.scaled_dot_product_attention(
                rows, k[:, :, -seen:], v[:, :, -seen:], scale=row.scale, enable_gqa=heads != row.kv_heads
            )
        return o[..., : row.value_width].reshape(*q.shape[:2], row.value_width)

    return run


def torch_best(row: Attention, sets: list[dict[str, Any]], folded: bool) -> tuple[Callable[[], Tensor], str]:
    """The fastest of torch's fused backends that take these inputs, else MATH; and its name.

    Raises RuntimeError, torch's own, where none does.
    """
    taken: dict[str, Callable[[], Tensor]] = {}
    refusal: RuntimeError | None = None
    for name in (*_FUSED, "MATH"):
        if name == "MATH" and taken:
            break
        run = torch_attention(row, sets, folded, name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it explains a refusal in many lines
                run()
            taken[name] = run
        except RuntimeError as error:
            refusal = error
    if not taken:
        raise refusal or RuntimeError("torch names no backend")
    device = sets[0]["q"].device
    best = next(iter(taken))
    if len(taken) > 1:
        times = interleaved(taken, rounds=3, device=device)
        best = min(times, key=lambda name: times[name].seconds)
    return taken[best], best


def error_of(run: Callable[[], Tensor], one: dict[str, Any]) -> float:
    """||o - truth|| / ||truth|| of a contestant's next answer against float64 on the inputs `one`."""
    truth, _ = decode_reference(problem(**one))
    error = float((run().double() - truth.double()).norm() / truth.double().norm())
    return error if error == error else float("inf")


def checked(row: Attention, who: str, run: Callable[[], Tensor], one: dict[str, Any]) -> None:
    """WrongAnswer unless the answer is the reference's; torch may be off by twice what our kernels may."""
    error, most = error_of(run, one), GATES[one["q"].dtype] * (1 if who == OURS else 2)
    if not error <= most:
        raise WrongAnswer(f"{row.name}, {who}: error {error:.3g} against float64, at most {most:.0e}")
