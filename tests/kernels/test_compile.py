"""What the kernels ask of chips: compiled offline, in processes in which Triton does not interpret."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("triton")

EVERY_TIME, REST = ("75", "80", "90", "gfx942"), ("86", "89", "100", "120")


def without_interpreter(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=600
    )


@pytest.mark.parametrize(
    "archs", [EVERY_TIME, pytest.param(REST, marks=pytest.mark.slow)], ids=["main", "rest"]
)
def test_every_main_configuration_fits_its_chip_and_spills_nothing(archs: tuple[str, ...]) -> None:
    done = without_interpreter("-m", "memlessons.kernels", "report", "--arch", *archs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all fit" in done.stdout
    for arch in archs:
        name = arch if arch.startswith("gfx") else f"sm_{arch}"
        assert sum(name in line.split() for line in done.stdout.splitlines()) == 13, done.stdout


def test_the_report_refuses_a_chip_it_does_not_know() -> None:
    done = without_interpreter("-m", "memlessons.kernels", "report", "--arch", "42")
    assert done.returncode == 2 and "unknown arch 42" in done.stderr


PROBLEMS = """
from memlessons.kernels.offline import MAIN, facts
good = facts(MAIN[0], 80)
assert good.problems == [], good
assert good.registers > 0 and good.stack_bytes == 0 and good.wide_copies > 0 and good.matrix_products > 0
print(good._replace(shared_bytes=200_000).problems)
print(good._replace(stack_bytes=8).problems)
print(good._replace(matrix_products=0).problems)
print(good._replace(copies={16: 9, 8: 3}).problems)
print(good._replace(copies={}).problems)
int8 = facts(next(s for s in MAIN if s.int8), 80)
assert int8.problems == [], int8
print(int8._replace(copies=dict(int8.copies) | {4: int8.copies[4] + 4}).problems)
# The estimate that filters configurations before a launch is an upper one, by a kilobyte at most.
from memlessons.kernels.choose import shared_bytes
from memlessons.kernels.launch import form_of
for shape in MAIN:
    f = facts(shape, 80)
    estimate = shared_bytes(f.config, form_of(shape.problem(80)))
    most = 40_000 if shape.int8 or shape.words else 2048
    assert f.shared_bytes <= estimate <= f.shared_bytes + most, (shape, f.shared_bytes, estimate)
"""


def test_each_way_not_to_fit_is_a_problem_of_its_own_and_the_estimate_is_close() -> None:
    done = without_interpreter("-c", PROBLEMS)
    assert done.returncode == 0, done.stderr[-3000:]
    shared, stack, matrix, narrow, none, codes = done.stdout.splitlines()
    assert "200,000 bytes of shared memory, the chip has 166,912" in shared
    assert "spilled" in stack and "no matrix" in matrix and "3 copies" in narrow and "0 copies" in none
    assert "4 copies of K and V narrower than 8 bytes" in codes


OTHERS = """
import torch
from triton.backends.compiler import GPUTarget
from memlessons.kernels.append_triton import append_arguments, append_kernel
from memlessons.kernels.arguments import checked
from memlessons.kernels.launch import merge_arguments
from memlessons.kernels.merge import merge_kernel
from memlessons.kernels.offline import _registers, compile_call

q, latent = torch.empty(2, 16, 576).half(), torch.empty(2, 1, 64, 576).half()
p = checked(q, latent, None, torch.zeros(2, dtype=torch.int32), value_width=512, scale=0.1,
            sink_logits=torch.zeros(16))
outputs = (
    torch.empty(2, 16, 8, 512), torch.empty(2, 16, 8), torch.empty(2, 16, 512).half(), torch.empty(2, 16),
)
new, slots, scales = torch.empty(4, 8, 128).half(), torch.zeros(4, dtype=torch.int64), torch.empty(9, 8, 64)
calls = [(merge_kernel, merge_arguments(p, 8, outputs))]
pool = torch.empty(9, 8, 64, 128)
for pool, scale in ((pool.half(), None), (pool.to(torch.int8), scales)):
    calls.append((append_kernel, append_arguments(new, pool, slots, scale)))
for arch in {archs}:
    target = GPUTarget("cuda", arch, 32) if isinstance(arch, int) else GPUTarget("hip", arch, 64)
    for kernel, (arguments, options) in calls:
        done = compile_call(kernel, arguments, options, target)
        registers, stack = _registers(done)
        assert registers and not stack, (arch, kernel, registers, stack)
        assert done.metadata.shared <= 65536
        print(arch, registers)
"""


def test_merging_and_appending_fit_every_chip_and_spill_nothing() -> None:
    done = without_interpreter("-c", OTHERS.format(archs=[75, 80, 90, "gfx942"]))
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(done.stdout.splitlines()) == 12


SPECIALISED = """
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import create_function_from_signature
from memlessons.kernels.arguments import checked
from memlessons.kernels.choose import Config
from memlessons.kernels.launch import merge_arguments, split_arguments
from memlessons.kernels.append_triton import append_arguments, append_kernel
from memlessons.kernels.merge import merge_kernel
from memlessons.kernels.split import split_kernel
seen, merges, appends = set(), set(), set()
backend = make_backend(GPUTarget("cuda", 80, 32))
bind = create_function_from_signature(split_kernel.signature, split_kernel.params, backend)
append_bind = create_function_from_signature(append_kernel.signature, append_kernel.params, backend)
merge_bind = create_function_from_signature(merge_kernel.signature, merge_kernel.params, backend)
for T in (1, 2, 3, 8, 15, 16, 17, 32, 100, 1024, 4097):
    for B in (1, 2, 16, 17):
        for splits in (2, 3, 16, 17):
            q, k = torch.empty(B, 8, 64).half(), torch.empty(B, 2, T, 64).half()
            lengths = torch.ones(B, dtype=torch.int32)
            p = checked(q, k, k, lengths, window=T, sink_tokens=splits)
            part = torch.empty(1)
            a, options = split_arguments(p, Config(64, 4, 3), splits, 0, (part, part, q, part))
            _, specialised, _ = bind(*a, **options)
            seen.add(str(specialised))
            a, options = merge_arguments(p, splits, (part, part, q, part))
            _, specialised, _ = merge_bind(*a, **options)
            merges.add(str(specialised))
    rows, slots = torch.empty(1, 2, T, 64).half(), torch.zeros(1, dtype=torch.int64)
    a, options = append_arguments(torch.empty(1, 2, 64).half(), rows, slots, None)
    _, specialised, _ = append_bind(*a, **options)
    appends.add(str(specialised))
print(len(seen), len(merges), len(appends))
"""


def test_growing_lengths_batches_and_splits_do_not_compile_a_kernel_each() -> None:
    done = without_interpreter("-c", SPECIALISED)
    assert done.returncode == 0, done.stderr[-3000:]
    # Strides stay specialised (alignment decides how a tile is copied); counts do not.
    assert [int(count) <= 2 for count in done.stdout.split()] == [True] * 3, done.stdout


def test_only_the_portable_subset_of_triton_is_used() -> None:
    """Block pointers left Triton in 3.9, and cache arguments became keyword-only."""
    from pathlib import Path

    import memlessons.kernels as kernels

    files = ["split.py", "merge.py", "tiles.py", "append_triton.py", "roof.py"]
    source = "".join(Path(kernels.__path__[0], name).read_text(encoding="utf-8") for name in files)
    for word in ("make_block_ptr", "boundary_check", "padding_option", "tl.libdevice", "inline_asm"):
        assert word not in source
