"""The kernel race: right before fast, then as many measurements as the budget allows, in one JSON file.

On a GPU the Triton kernel against the ceiling of the memory, torch's attention, and libraries that are here;
on a CPU the twin. Needs torch, numpy, and triton (GPU) or numba (CPU), and no installed tree. A second run
takes up what the first one left out. `--rehearse` walks through the GPU's part without a GPU, and writes no
figure; `--report FILE` measures nothing, and says which targets a written file reaches.
"""

import argparse
import os
import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from memlessons.bench.kernels.budget import Budget, OutOfTime
from memlessons.errors import MemlessonsError
from memlessons.measure import provenance
from memlessons.measure.record import NOT_A_TREE
from memlessons.places import work_folder

if TYPE_CHECKING:
    from memlessons.bench.kernels.ledger import Ledger

BUDGET_SECONDS = 345.0
SEED = 0


class CannotRehearse(MemlessonsError):
    """Triton is missing, or was imported without its interpreter."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this race."""
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the file (if not given, work/)")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, metavar="SECONDS")
    parser.add_argument("--rehearse", action="store_true", help="walk through the GPU's part without a GPU")
    parser.add_argument("--report", type=Path, metavar="FILE", help="only the targets, of a written file")
    parser.add_argument("--commit", help="what this tree was made from, where it has no git")


def run(given: argparse.Namespace) -> int:
    """Check, measure, write; 1 if something is wrong or failed, 130 if interrupted, however fast it was."""
    if given.report:
        from memlessons.bench.kernels.report import report_file

        print(report_file(given.report))
        return 0
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
    from memlessons.bench.kernels.cpu import measure

    return measure(folder, _provenance(given, "cpu"), budget, SEED)


def _provenance(given: argparse.Namespace, device: Any) -> dict[str, Any]:
    found = provenance(SEED, device)
    if given.commit and found["commit"] == NOT_A_TREE:
        found["commit"] = given.commit
    return found


def _gpu(given: argparse.Namespace, folder: Path, budget: Budget) -> int:
    try:
        import torch

        from memlessons.bench.kernels.bench import Bench
        from memlessons.bench.kernels.cuda import Cuda
        from memlessons.bench.kernels.device import Device, Rehearsal
        from memlessons.bench.kernels.go import go
        from memlessons.bench.kernels.jobs import jobs
        from memlessons.bench.kernels.ledger import Ledger, file_name
        from memlessons.bench.kernels.report import report
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
        print(report(ledger.record))
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

    from memlessons.bench.kernels.check import check, warm
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
