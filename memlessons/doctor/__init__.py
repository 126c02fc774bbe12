"""`memlessons doctor`: is this machine ready for the book, and if not, what mends it?

Each check is a pure function from `Facts` to a `Check`; gathering the facts is the only part that looks
at the machine.
"""

import argparse
import dataclasses
import json
import os
import sys

from memlessons.doctor.check import Check, exit_code, show, summary
from memlessons.doctor.devices import check_gpu, check_mps
from memlessons.doctor.facts import Facts, gather
from memlessons.doctor.notebook import check_anywidget, check_kernel_widgets, check_lab, check_server_widgets
from memlessons.doctor.stack import check_interpreter, check_pairing, check_python, check_torch, check_triton
from memlessons.doctor.storage import check_cache_room, check_model, check_work_room

__all__ = ["CHECKS", "Check", "Facts", "add_arguments", "examine", "gather", "run"]

CHECKS = (
    check_python,
    check_torch,
    check_triton,
    check_pairing,
    check_interpreter,
    check_gpu,
    check_mps,
    check_lab,
    check_kernel_widgets,
    check_server_widgets,
    check_anywidget,
    check_model,
    check_cache_room,
    check_work_room,
)


def examine(facts: Facts) -> list[Check]:
    """Every check on these facts, in the order of the report."""
    return [check(facts) for check in CHECKS]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `memlessons doctor`."""
    parser.add_argument(
        "--json", action="store_true", help="print the checks as JSON, for a script or a report"
    )


def run(arguments: argparse.Namespace) -> int:
    """Examine this machine; the exit code is 1 where a check failed."""
    if arguments.json:
        checks = examine(gather())
        print(json.dumps([dataclasses.asdict(check) for check in checks], indent=2))
        return exit_code(checks)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    facts = gather()
    checks = []
    for check in CHECKS:
        checks.append(check(facts))
        show(checks[-1], sys.stdout, colour=colour)
    print(summary(checks))
    return exit_code(checks)
