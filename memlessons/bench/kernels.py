"""The kernel race: right before fast, then as many measurements as the budget allows, in one JSON file.

On a GPU the Triton kernel against the ceiling of the memory and torch's attention; on a CPU the twin. Needs
torch, numpy, and triton (GPU) or numba (CPU), and no installed tree. A second run takes up what the first one
left out. `--rehearse` walks through the GPU's part without a GPU, and writes no figure.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from memlessons.bench.kernel_budget import Budget, OutOfTime
from memlessons.errors import MemlessonsError
from memlessons.measure import provenance
from memlessons.measure.record import NOT_A_TREE
from memlessons.places import work_folder

if TYPE_CHECKING:
    from memlessons.bench.kernel_bench import Bench
    from memlessons.bench.kernel_gpu import Job
    from memlessons.bench.kernel_ledger import Ledger

BUDGET_SECONDS = 330.0
SEED = 0
_AFTERWARDS = 2.0
"""Seconds kept for the end: a job is not begun with less."""


class CannotRehearse(MemlessonsError):
    """Triton is missing, or was imported without its interpreter."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this race."""
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the file (if not given, work/)")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, metavar="SECONDS")
    parser.add_argument("--rehearse", action="store_true", help="walk through the GPU's part without a GPU")
    parser.add_argument("--commit", help="what this tree was made from, where it has no git")


def run(given: argparse.Namespace) -> int:
    """Check, measure, write; 1 if something is wrong or failed, 130 if interrupted, however fast it was."""
    budget = Budget(given.budget)
    folder = given.out or work_folder()
    # Triton reads this when it is first imported: nothing before this line may import it.
    if given.rehearse:
        os.environ["TRITON_INTERPRET"] = "1"
    import torch

    if given.rehearse or torch.cuda.is_available():
        if not given.rehearse:
            os.environ.pop("TRITON_INTERPRET", None)
        return _gpu(given, folder, budget)
    from memlessons.bench.kernel_cpu import measure

    return measure(folder, _provenance(given, "cpu"), budget, SEED)


def _provenance(given: argparse.Namespace, device: Any) -> dict[str, Any]:
    found = provenance(SEED, device)
    if given.commit and found["commit"] == NOT_A_TREE:
        found["commit"] = given.commit
    return found


def _gpu(given: argparse.Namespace, folder: Path, budget: Budget) -> int:
    try:
        import torch

        from memlessons.bench.kernel_bench import Bench
        from memlessons.bench.kernel_cuda import Cuda
        from memlessons.bench.kernel_device import Device, Rehearsal
        from memlessons.bench.kernel_gpu import jobs
        from memlessons.bench.kernel_ledger import Ledger, file_name
        from memlessons.kernels.launch import INTERPRETED
    except ImportError as error:
        raise CannotRehearse(f"the GPU's part needs Triton: {error}") from error
    if given.rehearse != INTERPRETED:
        raise CannotRehearse("Triton was imported before: start `python -m memlessons.bench kernels` afresh")
    device: Device = Rehearsal() if given.rehearse else Cuda()
    where = _provenance(given, device.where)
    path = folder / file_name(where["device"], "rehearsal" if given.rehearse else "cuda")
    names = [job.name for job in jobs()]
    ledger = Ledger(path, where, device.facts(), names, rehearsal=given.rehearse)
    print(f"{where['device']}: {len(ledger.todo())} of {len(names)} measurements to do, {budget.left:.0f} s")
    if not ledger.todo():
        return 0
    half = torch.bfloat16 if device.has_bfloat16 else torch.float16
    try:
        with budget.alarm():
            _check(device, ledger, budget)
    except (OutOfTime, KeyboardInterrupt) as why:
        print("nothing measured: the cases were not checked to their end", file=sys.stderr)
        return 130 if isinstance(why, KeyboardInterrupt) else 1
    return go(Bench(device, half, ledger, budget, SEED), jobs())


def _check(device: Any, ledger: "Ledger", budget: Budget) -> None:
    """Every case in every type; in a rehearsal some, as the interpreter takes a second for each."""
    import torch

    from memlessons.bench.kernel_check import check, warm
    from memlessons.kernels.cases import cases

    dtypes = [torch.float16, *([torch.bfloat16] if device.has_bfloat16 else []), torch.float32]
    workers = 1 if device.rehearsal else min(8, (os.cpu_count() or 1) // 2)
    chosen = [c for c in cases() if c.HQ <= 8 and 1 < c.DK <= 32][::4] if device.rehearsal else None
    began = monotonic()
    if workers > 1:
        warm(dtypes, workers, min(60.0, budget.left / 3))
    ledger.facts["checked"] = check("triton", dtypes, device.where, chosen)
    ledger.facts["clocks"] = {"before": device.clocks()}
    print(f"all cases are right ({monotonic() - began:.0f} s)", flush=True)


def go(bench: "Bench", todo: Sequence["Job"]) -> int:
    """Do the jobs that are not done, in order, as far as the budget goes; the file is written after each."""
    from memlessons.bench.kernel_results import lines

    ledger, budget, code = bench.ledger, bench.budget, 0
    for job in [job for job in todo if job.name in ledger.todo()]:
        if not budget.fits(job.seconds + _AFTERWARDS):
            ledger.leave_out(job.name, f"{budget.left:.0f} s left, it takes about {job.seconds:.0f} s")
            continue
        before = set(ledger.values)
        try:
            with budget.alarm():
                job.run(bench)
        except OutOfTime:
            ledger.leave_out(job.name, "out of time")
        except KeyboardInterrupt:
            ledger.leave_out(job.name, "interrupted")
            code = 130
            break
        except MemlessonsError as error:  # a wrong kernel: nothing more may be timed
            ledger.fail(job.name, str(error))
            raise
        except MemoryError as error:
            ledger.leave_out(job.name, str(error))
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}"
            if job.optional:
                ledger.leave_out(job.name, said)
            else:
                ledger.fail(job.name, said)
                code = 1
            if not _alive(bench):
                break
        print("\n".join([job.name, *_said(bench, job.name, before, lines)]), flush=True)
        bench.device.release()
    ledger.facts.setdefault("clocks", {})["after"] = bench.device.clocks()
    ledger.save()
    return _end(ledger, code)


def _said(bench: "Bench", name: str, before: set[str], lines: Any) -> list[str]:
    facts = bench.ledger.facts
    for where in ("left_out", "failed"):
        if name in facts[where]:
            return [f"  {where.replace('_', ' ')}: {facts[where][name]}"]
    if bench.device.rehearsal:
        return ["  walked through"]
    refused = [f"  {what}: refused, {why}" for what, why in facts["refused"].items() if what.startswith(name)]
    return lines({n: v for n, v in bench.ledger.values.items() if n not in before}) + refused


def _alive(bench: "Bench") -> bool:
    """Whether the device still works: after a wrong address it fails whatever comes next."""
    try:
        bench.device.release()
        bench.device.wait()
    except Exception as error:
        print(f"the device does not go on: {error}", file=sys.stderr)
        return False
    return True


def _end(ledger: "Ledger", code: int) -> int:
    facts = ledger.facts
    for name, why in facts["left_out"].items():
        print(f"left out: {name} ({why})")
    print(f"written to {ledger.path.name}")
    return code or (1 if facts["failed"] or facts["refused"] else 0)
