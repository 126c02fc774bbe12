"""The kernel race on a CPU: the twin beside torch's attention, a loop that only reads, and a matrix product.

All run in one process, round by round in random order: compare the ratios of one run, not the seconds of two.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from memlessons.bench.kernels.budget import Budget, OutOfTime
from memlessons.bench.kernels.check import check, check_reference
from memlessons.bench.kernels.cpu_field import HEADS, WIDTH, contestants
from memlessons.bench.kernels.cpu_results import table, values_of
from memlessons.bench.kernels.ledger import Ledger, file_name
from memlessons.bench.kernels.report import report
from memlessons.kernels.cases import Case
from memlessons.measure import interleaved, multiplying
from memlessons.measure.probe import cache_levels

JOB = "cpu"
TOKENS = 8192
ROUNDS = 11
LEAST_SECONDS = 25.0


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
        print(
            f"{ledger.path.name} has it all already\n{table(ledger.values, tokens)}\n{report(ledger.record)}"
        )
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
    print(table(ledger.values, tokens))
    rows = ledger.facts["rows"][JOB]["rows"]
    backends = {name: row["sdpa backend"] for name, row in rows.items() if "sdpa backend" in row}
    print(f"torch's own attention took {backends}\n{report(ledger.record)}\nwritten to {ledger.path.name}")
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
    runs, rows = contestants(tokens, seed)
    product = multiplying(1024)
    times = interleaved(runs | {"matmul": product.run}, rounds, seed=seed)
    row = {"HQ": HEADS, "T": tokens, "D": WIDTH, "dtype": "float32", "load before": load, "rows": rows}
    row["caches"] = [level._asdict() for level in cache_levels("cpu")]  # small rows may lie in the last one
    row["torch threads at the end"] = torch.get_num_threads()
    row["matmul flops"] = product.flops
    ledger.put(
        JOB, values_of(times, tokens, {name: one["flops"] for name, one in rows.items()}, product.flops), row
    )
