"""What races on a CPU: the twin over every form of memory, torch's attention, copies, and bare reading."""

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from memlessons.bench.kernels.check import WrongKernel
from memlessons.bench.kernels.contenders import Watched, error_of
from memlessons.bench.kernels.inputs import Inputs, pool
from memlessons.bench.kernels.race import Contender
from memlessons.bench.kernels.shapes import Shape
from memlessons.bench.kernels.truth import truth_of
from memlessons.kernels import decode
from memlessons.kernels.cases import GATES
from memlessons.measure.timing import Run

HEADS, WIDTH = 32, 128
KV_HEADS = (32, 8, 4, 1)
PAGE, PARTS, LATENT_HEADS = 64, 8, 16
"""Slots of a page; the window is so many parts of the text; heads over the latent."""


def contestants(tokens: int, seed: int) -> tuple[dict[str, Run], dict[str, Any]]:
    """What is timed, by name ("kv8 twin"), and what the record says of each row; all answers are checked."""
    runs: dict[str, Run] = {}
    rows: dict[str, Any] = {}
    for kv_heads in KV_HEADS:
        shape = Shape(f"kv{kv_heads}", 1, HEADS, kv_heads, tokens, WIDTH)
        one = _together(_inputs(shape, seed))
        calls: dict[str, Any] = {"twin": partial(twin, scratch=Watched()), "sdpa": sdpa}
        if kv_heads == 1:
            calls |= {
                "copied twin": partial(copied, attend=twin),
                "copied sdpa": partial(copied, attend=sdpa),
            }
        truth = truth_of(one)
        for what, call in calls.items():
            _enter(runs, f"{shape.name} {what}", partial(call, one), one, truth)
        runs[f"{shape.name} stream"] = _stream(one)
        rows[shape.name] = _row(shape) | {"sdpa backend": _backend(one)}
        _enter_form(runs, rows, f"{shape.name} int8", replace(shape, int8=True), seed)
    plain = Shape("kv32", 1, HEADS, HEADS, tokens, WIDTH)
    for what, form in (
        (f"pages of {PAGE}", replace(plain, page=PAGE)),
        (f"window {tokens // PARTS}", replace(plain, window=tokens // PARTS)),
    ):
        _enter_form(runs, rows, f"{plain.name} {what}", form, seed)
    latent = Shape(f"mla {LATENT_HEADS} heads", 1, LATENT_HEADS, 1, tokens, 576, value_width=512)
    _enter_form(runs, rows, latent.name, latent, seed)
    return runs, rows


def _enter_form(runs: dict[str, Run], rows: dict[str, Any], name: str, shape: Shape, seed: int) -> None:
    one = _inputs(shape, seed)
    _enter(runs, name, partial(twin, one, Watched()), one, truth_of(one))
    rows[name] = _row(shape)


def _enter(runs: dict[str, Run], name: str, call: Any, one: Inputs, truth: Tensor) -> None:
    error = error_of(Contender(name, [call]), one, truth)
    if not error <= GATES[torch.float32]:
        raise WrongKernel(f"{name}: error {error:.3g} at {one.lengths.tolist()} tokens")
    runs[name] = call


def _inputs(shape: Shape, seed: int) -> Inputs:
    return pool(shape, 1, torch.float32, torch.device("cpu"), seed)[0]


def _row(shape: Shape) -> dict[str, Any]:
    return {"bytes_moved": shape.bytes_moved(4), "flops": shape.flops}


def _together(one: Inputs) -> Inputs:
    """K and V in one storage, so that one loop can read the bytes of both."""
    kv = torch.stack(one.kv)
    return one._replace(k=kv[0], v=kv[1])


def _stream(one: Inputs) -> Run:
    """Read the storage of K and V, and do nothing with it but add it up."""
    flat = one.k.new_empty(0).set_(one.k.untyped_storage())
    total = torch.empty(())
    return partial(torch.sum, flat, 0, out=total)


def twin(one: Inputs, scratch: Watched | None = None) -> Tensor:
    """The CPU's kernel."""
    decode(*one[:4], backend="cpu", out=one.out, scratch=scratch, **one.options)
    return one.out


def sdpa(one: Inputs) -> Tensor:
    """torch's attention as anybody calls it; `_backend` says what it chose."""
    grouped = one.k.shape[1] != one.q.shape[1]
    return F.scaled_dot_product_attention(one.q[:, :, None], *one.kv, enable_gqa=grouped)[:, :, 0]


def copied(one: Inputs, attend: Any) -> Tensor:
    """The one head of K and V copied for every query head, as code without grouped attention does it.

    The copies' memory is asked for anew in every call, as it is there.
    """
    heads = one.q.shape[1]
    k, v = (t.repeat_interleave(heads, dim=1) for t in one.kv)
    answer: Tensor = attend(one._replace(k=k, v=v))
    return answer


def _backend(one: Inputs) -> str:
    """The backend that torch takes for these inputs: its fused one where it accepts them, else MATH."""
    try:
        with warnings.catch_warnings(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            warnings.simplefilter("ignore")
            sdpa(one)
        return "FLASH_ATTENTION"
    except RuntimeError:
        return "MATH"
