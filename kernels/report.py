"""`python -m memlessons.kernels report`: what the kernels ask of chips, compiled here without a GPU."""

import argparse
import os
import sys
from collections.abc import Sequence


def main(words: Sequence[str]) -> int:
    """Print a table of all main configurations; 1 if one of them does not fit its chip."""
    parser = argparse.ArgumentParser(prog="python -m memlessons.kernels", description=__doc__)
    parser.add_argument("what", choices=["report"])
    parser.add_argument("--arch", nargs="+", metavar="ARCH", help="such as 80 90 gfx942; if not given, all")
    given = parser.parse_args(words)
    os.environ.pop("TRITON_INTERPRET", None)  # an interpreter compiles nothing
    try:
        from memlessons.kernels.offline import CHIPS, MAIN, facts
    except ImportError as error:
        print(f"the report needs Triton ({error}); it is there for Linux", file=sys.stderr)
        return 2
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    wanted = [int(a) if a.isdigit() else a for a in given.arch] if given.arch else list(CHIPS)
    unknown = [a for a in wanted if a not in CHIPS]
    if unknown:
        print(f"unknown arch {unknown[0]}; known are {', '.join(map(str, CHIPS))}", file=sys.stderr)
        return 2
    print(_line("shape", "chip", "tile/warps/stages", "shared", "regs", "stack", "16-byte copies", "mma"))
    failed = 0
    for shape in MAIN:
        for arch in wanted:
            f = facts(shape, arch)
            chip = f"sm_{arch}" if isinstance(arch, int) else arch
            tiles = f"{f.config.block_n}/{f.config.warps}/{f.config.stages}"
            numbers = (f.shared_bytes, f.registers, f.stack_bytes, f.wide_copies, f.matrix_products)
            print(
                _line(shape.name, chip, tiles, *("-" if x is None else f"{x:,}" for x in numbers)), flush=True
            )
            for problem in f.problems:
                failed += 1
                print(f"    does not ship: {problem}")
    print("all fit" if not failed else f"{failed} problems")
    return 1 if failed else 0


def _line(*cells: str) -> str:
    widths = (30, 7, 17, 8, 5, 5, 14, 4)
    return "  ".join(
        [f"{cells[0]:{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(cells[1:], widths[1:], strict=True))]
    )
