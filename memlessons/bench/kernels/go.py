"""Doing the jobs in order, as far as the budget goes: what fits, what fails, what stops it all."""

import sys
from collections.abc import Sequence

from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.budget import OutOfTime
from memlessons.bench.kernels.jobs import Job
from memlessons.bench.kernels.ledger import Ledger
from memlessons.bench.kernels.report import report
from memlessons.bench.kernels.results import lines
from memlessons.errors import MemlessonsError

_AFTERWARDS = 2.0
"""Seconds kept for the end: a job is not begun with less."""


def go(bench: Bench, todo: Sequence[Job]) -> int:
    """Do the jobs that are not done, in order, as far as the budget goes; the file is written after each."""
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
        print("\n".join([job.name, *_said(bench, job.name, before)]), flush=True)
        bench.device.release()
    ledger.facts.setdefault("clocks", {})["after"] = bench.device.clocks()
    ledger.save()
    return _end(ledger, code)


def _said(bench: Bench, name: str, before: set[str]) -> list[str]:
    facts = bench.ledger.facts
    for where in ("left_out", "failed"):
        if name in facts[where]:
            return [f"  {where.replace('_', ' ')}: {facts[where][name]}"]
    if bench.device.rehearsal:
        return ["  walked through"]
    refused = [f"  {what}: refused, {why}" for what, why in facts["refused"].items() if what.startswith(name)]
    return lines({n: v for n, v in bench.ledger.values.items() if n not in before}) + refused


def _alive(bench: Bench) -> bool:
    """Whether the device still works: after a wrong address it fails whatever comes next."""
    try:
        bench.device.release()
        bench.device.wait()
    except Exception as error:
        print(f"the device does not go on: {error}", file=sys.stderr)
        return False
    return True


def _end(ledger: Ledger, code: int) -> int:
    facts = ledger.facts
    for name, why in facts["left_out"].items():
        print(f"left out: {name} ({why})")
    print(f"{report(ledger.record)}\nwritten to {ledger.path.name}")
    return code or (1 if facts["failed"] or facts["refused"] else 0)
