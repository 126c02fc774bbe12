"""The whole field: every form of attention, the int8 product, and the loops whose rates are the roofs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from memlessons.device.arena import Arena
from memlessons.device.contestants import (
    CHECK_TOKENS,
    FOLDED,
    OURS,
    TORCH,
    Contestant,
    WrongAnswer,
    checked,
    inputs,
    ours,
    torch_attention,
    torch_best,
)
from memlessons.device.rows import ROWS, Attention
from memlessons.kernels import BackendCannot
from memlessons.kernels.matvec import product_int8
from memlessons.measure import multiplying
from memlessons.measure.timing import Run

PRODUCT_WIDTH = 4096


class Roof(NamedTuple):
    """A loop that does one thing only: bytes for `read` and `copy`, FLOP for `multiply`."""

    run: Run
    amount: int


@dataclass
class Field:
    """Contestants and roofs to be timed together, and what was left out with its reason."""

    tokens: int
    dtype: str
    sequences: dict[str, int]
    contestants: list[Contestant] = field(default_factory=list)
    roofs: dict[str, Roof] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    checked: int = 0
    product_width: int = 0


def gather(arena: Arena, tokens: int, quick: bool, say: Callable[[str], None]) -> Field:
    """Everybody who can run on the arena's device, each checked on a short context first.

    Raises WrongAnswer for a kernel of ours that is wrong; what is not installed, or what torch refuses or
    computes too roughly, is left out with its reason.
    """
    device, element = arena.numbers.device, arena.numbers.element_size()
    found = Field(tokens, str(arena.numbers.dtype).removeprefix("torch."), {})
    for form in ROWS:
        row, short = form.bound(tokens), form.bound(CHECK_TOKENS)
        say(f"  {row.name}")
        many = _sequences(row, arena, tokens) if device.type == "cuda" else 1
        found.sequences[row.name] = many
        tried = inputs(short, arena, min(CHECK_TOKENS, tokens), 1)[:1]
        whole = inputs(row, arena, tokens, many)
        for who in (OURS, TORCH, FOLDED):
            # torch would write a copy of the latent for every head; one head each leaves nothing to fold.
            if (who == TORCH and row.latent) or (who == FOLDED and row.kv_heads == row.query_heads):
                continue
            if who != OURS and row.int8:
                found.left_out[f"{row.name}, {TORCH}"] = "torch's attention takes no int8 memory"
                continue
            try:
                if who == OURS:
                    run, backend = ours(row, whole), ""
                    tries = ours(short, tried)
                else:
                    run, backend = torch_best(row, whole, who == FOLDED)
                    tries = torch_attention(short, tried, who == FOLDED, backend)
                checked(row, who, tries, tried[0])
                run()
            except (BackendCannot, RuntimeError, WrongAnswer) as error:
                if who == OURS and isinstance(error, WrongAnswer):
                    raise
                found.left_out[f"{row.name}, {who}"] = _first_line(error)
                continue
            moved, flops = row.bytes_moved(tokens, element, many), row.flops(tokens, many)
            found.contestants.append(
                Contestant(row.name, who, run, moved, flops, backend.removesuffix("_ATTENTION"))
            )
            found.checked += 1
    products(found, arena, 512 if quick else PRODUCT_WIDTH)
    found.roofs = roofs(arena, quick)
    return found


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__


def _sequences(row: Attention, arena: Arena, tokens: int) -> int:
    """Sequences that move half of the block: a GPU's calls should outlast their launches."""
    element = 1 if row.int8 else arena.numbers.element_size()
    half = arena.bytes // 2 // row.bytes_moved(tokens, arena.numbers.element_size())
    return max(1, min(half, arena.bytes // (row.numbers_per_token() * tokens * element)))


def products(found: Field, arena: Arena, width: int) -> None:
    """One token times a square matrix, in float32 and as int8 codes: on CPUs, which our loop is for."""
    if arena.numbers.device.type != "cpu":
        found.left_out["product int8, memlessons"] = "the loop over int8 codes is for CPUs"
        return
    while 4 * width**2 > arena.bytes:
        width //= 2
    found.product_width = width
    x = torch.randn(1, width, generator=torch.Generator().manual_seed(2))
    scale = torch.rand(width, generator=torch.Generator().manual_seed(3)).div_(70)
    wide = cycle(w for (w,) in arena.pieces([(width, width)]))
    codes = arena.pieces([(width, width)], int8=True)
    turn, y = cycle(c for (c,) in codes), torch.empty(1, width)
    vectors, flops = 4 * 2 * width, 2 * width**2
    name = f"product int8, {OURS}"
    plain = partial(_plain, x, wide)
    found.contestants.append(
        Contestant("product float32", TORCH, plain, 4 * width**2 + vectors, flops, rival=name)
    )
    try:
        mine = product_int8(x, codes[0][0], scale, backend="cpu").double()
    except BackendCannot as error:
        found.left_out[name] = _first_line(error)
        return
    # The other backend works in x's type: in float64 it is the truth.
    truth = product_int8(x.double(), codes[0][0], scale, backend="reference")
    if not (mine - truth).norm() <= 1e-5 * truth.norm():
        raise WrongAnswer(f"product int8: the loop over codes of {width} x {width} differs from float64")
    run = partial(_product, x, turn, scale, y)
    found.contestants.insert(-1, Contestant("product int8", OURS, run, width**2 + 4 * width + vectors, flops))
    found.checked += 1


def _plain(x: Tensor, turn: Any) -> Tensor:
    return F.linear(x, next(turn))


def _product(x: Tensor, turn: Any, scale: Tensor, y: Tensor) -> Tensor:
    return product_int8(x, next(turn), scale, out=y, backend="cpu")


def roofs(arena: Arena, quick: bool) -> dict[str, Roof]:
    """Reading the block, copying one half of it onto the other, multiplying matrices in its type."""
    device = arena.numbers.device
    block = arena.numbers.view(torch.float32)
    total, half = torch.empty((), device=device), block.numel() // 2
    source, target = block[:half], block[half : 2 * half]
    gpu = device.type == "cuda"
    product = multiplying(256 if quick else 8192 if gpu else 1024, device, arena.numbers.dtype)
    found = {
        "read": Roof(lambda: torch.sum(block, 0, out=total), arena.bytes),
        "copy": Roof(lambda: target.copy_(source), 8 * half),
        "multiply": Roof(product.run, product.flops),
    }
    if gpu:
        # torch's sum does not fill every GPU's memory: the better of two readers is the roof.
        try:
            from memlessons.kernels.roof import read
        except ImportError:
            return found
        reading = read(block, torch.cuda.get_device_properties(device).multi_processor_count)
        found["read, Triton"] = Roof(reading.run, reading.bytes_read)
    return found


def best_dtype(device: torch.device) -> torch.dtype:
    """float32 on a CPU, where the twin computes in it; on a GPU bfloat16 where it has it, else float16."""
    if device.type == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
