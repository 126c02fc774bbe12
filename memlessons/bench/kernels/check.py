"""Right before fast: every case on the device against float64, before any clock is started."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import torch

import memlessons
from memlessons.errors import MemlessonsError
from memlessons.kernels import decode
from memlessons.kernels.arguments import checked
from memlessons.kernels.cases import GATES, Case, Worst, cases, distance
from memlessons.kernels.reference import decode_reference

LSE_GATE = {torch.float32: 1e-5, torch.float16: 1e-4, torch.bfloat16: 1e-4}
"""Largest error of lse beyond 1e-6 of it; matrix units cut off what they add to a larger sum."""


class WrongKernel(MemlessonsError):
    """A kernel's answer is wrong: nothing of it may be timed. The message names the case."""


def check(
    backend: Literal["triton", "cpu"],
    dtypes: Sequence[torch.dtype],
    where: torch.device,
    chosen: Sequence[Case] | None = None,
) -> dict[str, Any]:
    """Run the cases, all if none are chosen; how far the worst was, by dtype. WrongKernel at the first."""
    found = {}
    for dtype in dtypes:
        name = str(dtype).removeprefix("torch.")
        errors = []
        for case in cases() if chosen is None else chosen:
            worst = distance_of(case, backend, dtype, where)
            right = worst.o <= GATES[dtype] and worst.lse <= LSE_GATE[dtype] and not worst.not_finite
            if not right:
                raise WrongKernel(
                    f"case {case.name!r} in {name} is wrong: error {worst.o:.3g}, of lse {worst.lse:.3g}, "
                    f"{worst.not_finite} not finite; at most {GATES[dtype]:.0e}, {LSE_GATE[dtype]:.0e}"
                )
            errors.append(worst.o)
        found[name] = {"cases": len(errors), "worst": max(errors), "at most": GATES[dtype]}
    return found


def distance_of(
    case: Case, backend: Literal["triton", "cpu"], dtype: torch.dtype, where: torch.device
) -> Worst:
    """How far a backend is from float64 on a case, from the same rounded inputs; WrongKernel if it raises."""
    q, k, v, lengths, options = case.inputs(dtype)
    calling = {name: value for name, value in options.items() if name not in ("splits", "deterministic")}
    truth = decode_reference(checked(q, k, v, lengths, **calling))
    try:
        q, k, v, lengths, options = case.inputs(dtype, where)
        o, lse = decode(q, k, v, lengths, backend=backend, return_lse=True, **options)
        return distance(o, lse, *truth)
    except Exception as error:
        raise WrongKernel(f"case {case.name!r} in {dtype} raised {type(error).__name__}: {error}") from error


def check_reference() -> int:
    """The truth against torch's own attention in float64, on all cases that it can do; their number."""
    done = 0
    for case in cases():
        q, k, v, lengths, options = case.inputs(torch.float64)
        if v is None or set(options) - {"scale", "splits", "deterministic"}:
            continue
        o, _ = decode_reference(checked(q, k, v, lengths, scale=options.get("scale")))
        for b, length in enumerate(case.lengths):
            if length == 0:
                continue
            k_b, v_b = (t[b : b + 1, :, :length] for t in (k, v))
            theirs = torch.nn.functional.scaled_dot_product_attention(
                q[b : b + 1, :, None], k_b, v_b, scale=options.get("scale"), enable_gqa=True
            )[0, :, 0]
            if not (o[b] - theirs).norm() <= 1e-11 * theirs.norm():
                raise WrongKernel(f"case {case.name!r}: the reference differs from torch's attention")
        done += 1
    return done


def warm(dtypes: Sequence[torch.dtype], workers: int, seconds: float) -> None:
    """Compile what `check` will need, in processes side by side, into Triton's cache.

    What one cannot do is left to `check`, which then takes longer: nothing here is looked at.
    """
    tree = str(Path(memlessons.__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [tree, os.environ.get("PYTHONPATH")]))
    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    end = monotonic() + seconds
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "memlessons.bench.kernels.warm", str(i), str(workers), *names],
            env=os.environ | {"PYTHONPATH": paths},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for i in range(workers)
    ]
    try:
        for child in children:
            child.wait(max(0.0, end - monotonic()))
    except subprocess.TimeoutExpired:
        pass
    finally:
        for child in children:
            child.kill()
            child.wait()
