"""The kernel race on a CPU: the twin beside torch's attention, a loop that only reads, and a matrix product.

All run in one process, round by round in random order: compare the ratios of one run, not the seconds of two.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from memlessons.bench.kernel_budget import Budget, OutOfTime
from memlessons.bench.kernel_check import WrongKernel, check, check_reference
from memlessons.bench.kernel_contenders import Watched, error_of
from memlessons.bench.kernel_cpu_results import row_name, table, values_of
from memlessons.bench.kernel_ledger import Ledger, file_name
from memlessons.bench.kernel_race import Contender
from memlessons.bench.kernel_shapes import Inputs, Shape, pool
from memlessons.kernels import decode
from memlessons.kernels.cases import GATES, Case
from memlessons.measure import interleaved, multiplying
from memlessons.measure.probe import cache_levels
from memlessons.measure.timing import Run

JOB = "cpu"
TOKENS, HEADS, WIDTH = 8192, 32, 128
KV_HEADS = (32, 8, 4, 1)
ROUNDS = 11
LEAST_SECONDS = 20.0


def measure(
    folder: Path,
    provenance: Mapping[str, Any],
    budget: Budget,
    seed: int,
    *,
    tokens: int = TOKENS,
    rounds: int = ROUNDS,
    chosen: Sequence[Case] | None = None,
) -> int:
    """Check, measure, print the table, write kernels-cpu.json; 1 only if something went wrong.

    `tokens`, `rounds` and the `chosen` cases are for tests.
    """
    device: dict[str, Any] = {"torch threads": torch.get_num_threads(), "processors": os.cpu_count()}
    device["tokens"] = tokens
    ledger = Ledger(folder / file_name(str(provenance["device"]), "cpu"), provenance, device, [JOB])
    if not ledger.todo():
        print(f"{ledger.path.name} has it all already\n" + table(ledger.values, KV_HEADS, tokens))
        return 0
    try:
        with budget.alarm():
            if find_spec("numba") is None:
                done = check_reference()
                print(f"numba is not installed: nothing to measure; the reference is right in {done} cases")
                ledger.leave_out(JOB, "numba is not installed")
                return 0
            with _as_many_threads_as_torch():
                ledger.facts["checked"] = check("cpu", [torch.float32], torch.device("cpu"), chosen)
                print("all cases are right", flush=True)
                if not budget.fits(LEAST_SECONDS):
                    raise OutOfTime
                _race(ledger, tokens, rounds, seed)
    except OutOfTime:
        ledger.leave_out(JOB, "out of time")
        print("out of time: nothing measured")
        return 0
    except KeyboardInterrupt:
        ledger.leave_out(JOB, "interrupted")
        return 130
    print(table(ledger.values, KV_HEADS, tokens))
    backends = {name: row["sdpa backend"] for name, row in ledger.facts["rows"][JOB]["rows"].items()}
    print(f"torch's own attention took {backends}\nwritten to {ledger.path.name}")
    return 0


@contextmanager
def _as_many_threads_as_torch() -> Iterator[None]:
    """Numba takes all processors if not told otherwise, and makes torch do so when it starts its threads."""
    threads = torch.get_num_threads()
    import numba

    most: Any = numba.config
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, most.NUMBA_NUM_THREADS))
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        numba.set_num_threads(before)
        torch.set_num_threads(threads)


def _race(ledger: Ledger, tokens: int, rounds: int, seed: int) -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    runs, facts = contestants(tokens, seed)
    product = multiplying(1024)
    times = interleaved(runs | {"matmul": product.run}, rounds, seed=seed)
    row = {"HQ": HEADS, "T": tokens, "D": WIDTH, "dtype": "float32", "load before": load, "rows": facts}
    row["caches"] = [level._asdict() for level in cache_levels("cpu")]  # small rows may lie in the last one
    row["torch threads at the end"] = torch.get_num_threads()
    row["matmul flops"] = product.flops
    ledger.put(JOB, values_of(times, KV_HEADS, tokens, HEADS, WIDTH, product.flops), row)


def contestants(tokens: int, seed: int) -> tuple[dict[str, Run], dict[str, Any]]:
    """What is timed, by name ("kv8 twin"), and what the record says of each row; all answers are checked."""
    runs: dict[str, Run] = {}
    facts: dict[str, Any] = {}
    for kv_heads in KV_HEADS:
        shape, name = Shape(f"kv{kv_heads}", 1, HEADS, kv_heads, tokens, WIDTH), row_name(kv_heads)
        one = _together(pool(shape, 1, torch.float32, torch.device("cpu"), seed)[0])
        calls = {"twin": partial(_twin, one, Watched()), "sdpa": partial(_sdpa, one)}
        if kv_heads == 1:
            calls |= {
                "copied twin": partial(_copied, one, _twin),
                "copied sdpa": partial(_copied, one, _sdpa),
            }
        for what, call in calls.items():
            error = error_of(Contender(what, [call]), one)
            if not error <= GATES[torch.float32]:
                raise WrongKernel(f"{name} {what}: error {error:.3g} at {tokens} tokens")
        runs |= {f"{name} {what}": call for what, call in calls.items()}
        runs[f"{name} stream"] = _stream(one)
        facts[name] = {"bytes_moved": shape.bytes_moved(4), "sdpa backend": _backend(one)}
    return runs, facts


def _together(one: Inputs) -> Inputs:
    """K and V in one storage, so that one loop can read the bytes of both."""
    kv = torch.stack((one.k, one.v))
    return one._replace(k=kv[0], v=kv[1])


def _stream(one: Inputs) -> Run:
    """Read the storage of K and V, and do nothing with it but add it up."""
    flat = one.k.new_empty(0).set_(one.k.untyped_storage())
    total = torch.empty(())
    return partial(torch.sum, flat, 0, out=total)


def _twin(one: Inputs, scratch: Watched | None = None) -> Tensor:
    decode(*one[:4], backend="cpu", out=one.out, scratch=scratch)
    return one.out


def _sdpa(one: Inputs) -> Tensor:
    """torch's attention as anybody calls it; `_backend` says what it chose."""
    grouped = one.k.shape[1] != one.q.shape[1]
    return F.scaled_dot_product_attention(one.q[:, :, None], one.k, one.v, enable_gqa=grouped)[:, :, 0]


def _copied(one: Inputs, attend: Any) -> Tensor:
    """The one head of K and V copied for every query head, as code without grouped attention does it.

    The copies' memory is asked for anew in every call, as it is there.
    """
    heads = one.q.shape[1]
    k, v = (t.repeat_interleave(heads, dim=1) for t in (one.k, one.v))
    answer: Tensor = attend(one._replace(k=k, v=v))
    return answer


def _backend(one: Inputs) -> str:
    """The backend that torch takes for these inputs: its fused one where it accepts them, else MATH."""
    try:
        with warnings.catch_warnings(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            warnings.simplefilter("ignore")
            _sdpa(one)
        return "FLASH_ATTENTION"
    except RuntimeError:
        return "MATH"
