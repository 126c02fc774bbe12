"""Compiling for GPUs that are not here: what a kernel would cost a chip, read from its machine code.

Needs Triton without its interpreter, and no GPU. The facts it reads: shared memory from the compiler,
registers and stack (spilled registers) from `cuobjdump`, which comes with Triton, or from AMD's listing.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import torch
import triton
import triton.backends.nvidia
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import create_function_from_signature

from memlessons.kernels.arguments import checked
from memlessons.kernels.choose import Chip, Config, config_for
from memlessons.kernels.errors import BackendCannot
from memlessons.kernels.launch import split_arguments
from memlessons.kernels.split import split_kernel

# Shared memory a program may ask for, and a multiprocessor has; CUDA C++ Programming Guide, table
# "Technical specifications per compute capability"; AMD CDNA3 ISA, 64 KiB of local data share.
CHIPS = {
    75: Chip(75, 65_536, 40, 65_536),
    80: Chip(80, 166_912, 108, 167_936),
    86: Chip(86, 101_376, 82, 102_400),
    89: Chip(89, 101_376, 128, 102_400),
    90: Chip(90, 232_448, 132, 233_472),
    100: Chip(100, 232_448, 148, 233_472),
    120: Chip(120, 101_376, 170, 102_400),
    "gfx942": Chip("gfx942", 65_536, 304, 65_536),
}
_COPY = re.compile(r"cp\.async\.c[ag]\.shared\.global[^;]*?,\s*(0x[0-9a-f]+|\d+)(?:,[^;]*)?;")
_MATRIX = re.compile(r"\b(?:mma\.sync|wgmma\.mma_async|tcgen05\.mma|v_mfma)")


class Shape(NamedTuple):
    """A configuration to compile: heads, widths and the type of numbers."""

    name: str
    HQ: int
    HKV: int
    D: int
    dtype: torch.dtype


MAIN = (
    Shape("GQA 32/8, width 128, 16 bit", 32, 8, 128, torch.bfloat16),
    Shape("MHA 32/32, width 128, 16 bit", 32, 32, 128, torch.bfloat16),
    Shape("MQA 32/1, width 128, 16 bit", 32, 1, 128, torch.bfloat16),
    Shape("GQA 9/3, width 64, 16 bit", 9, 3, 64, torch.bfloat16),
    Shape("MQA 4/1, width 256, 16 bit", 4, 1, 256, torch.bfloat16),
    Shape("GQA 32/8, width 128, float32", 32, 8, 128, torch.float32),
)


class Facts(NamedTuple):
    """What one compiled kernel asks of a chip; None where a chip's tools do not say."""

    shape: Shape
    arch: int | str
    config: Config
    shared_bytes: int
    registers: int | None
    stack_bytes: int | None
    wide_copies: int
    narrow_copies: int
    matrix_products: int
    chip: Chip

    @property
    def problems(self) -> list[str]:
        """Why this configuration must not ship; empty if it may."""
        found = []
        if self.shared_bytes > self.chip.shared_bytes:
            most = self.chip.shared_bytes
            found.append(f"{self.shared_bytes:,} bytes of shared memory, the chip has {most:,}")
        if self.stack_bytes:
            found.append(f"{self.stack_bytes} bytes of registers spilled")
        if isinstance(self.arch, int) and self.arch >= 80:
            if not self.matrix_products and self.shape.dtype != torch.float32:
                found.append("no matrix instruction")
            if self.narrow_copies or not self.wide_copies:
                found.append(f"{self.narrow_copies} copies of K and V narrower than 16 bytes")
        return found


def facts(shape: Shape, arch: int | str) -> Facts:
    """Compile the split kernel for a shape and a chip, and read its cost; BackendCannot if interpreted."""
    if not hasattr(split_kernel, "signature"):
        raise BackendCannot("Triton's interpreter is on (TRITON_INTERPRET=1): it compiles nothing")
    chip = CHIPS[arch]
    # sm_75 has no bfloat16: readers of such a card use float16.
    dtype = torch.float16 if arch == 75 and shape.dtype == torch.bfloat16 else shape.dtype
    q = torch.empty(2, shape.HQ, shape.D, dtype=dtype)
    k = torch.empty(2, shape.HKV, 4096, shape.D, dtype=dtype)
    lengths = torch.zeros(2, dtype=torch.int32)
    p = checked(q, k, k, lengths, None, None)
    config = config_for(chip, p.G, p.DK, p.DV, q.element_size())
    part, lse, o = torch.empty(2, shape.HQ, 4, shape.D), torch.empty(2, shape.HQ, 4), torch.empty_like(q)
    arguments, options = split_arguments(q, k, k, lengths, p, config, 4, 0)
    target = GPUTarget("cuda", arch, 32) if isinstance(arch, int) else GPUTarget("hip", arch, 64)
    done = compile_call(split_kernel, [*arguments[:4], part, lse, o, lse, *arguments[4:]], options, target)
    registers, stack = _registers(done)
    ptx = done.asm.get("ptx", "")
    copies = _COPY.findall(ptx)
    wide = sum(int(size, 0) == 16 for size in copies)
    products = len(_MATRIX.findall(ptx or done.asm.get("amdgcn", "")))
    narrow, shared = len(copies) - wide, done.metadata.shared
    return Facts(shape, arch, config, shared, registers, stack, wide, narrow, products, chip)


def compile_call(kernel: Any, arguments: list[Any], options: dict[str, Any], target: GPUTarget) -> Any:
    """Compile `kernel` for `target` as a call with these arguments would, from CPU tensors."""
    backend = make_backend(target)
    bind = create_function_from_signature(kernel.signature, kernel.params, backend)
    bound, specialised, chosen = bind(*arguments, **options)
    names = list(bound)
    signature = {name: one[0] for name, one in zip(names, specialised, strict=False)}
    constants = {(names.index(n),): bound[n] for n in names if signature[n] == "constexpr"}
    attributes = {}
    for i, one in enumerate(specialised):
        if isinstance(one[1], str) and one[0] != "constexpr" and backend.parse_attr(one[1]):
            attributes[(i,)] = backend.parse_attr(one[1])
    source = ASTSource(kernel, signature, constants, attributes)
    return triton.compile(source, target=target, options=chosen)


def _registers(done: Any) -> tuple[int | None, int | None]:
    """Registers a thread and bytes of stack; (None, None) where the tool is missing."""
    listing = done.asm.get("amdgcn")
    if listing is not None:
        used = re.search(r"\.vgpr_count:\s*(\d+)", listing)
        spilled = re.search(r"\.vgpr_spill_count:\s*(\d+)", listing)
        return (int(used[1]) if used else None), (4 * int(spilled[1]) if spilled else None)
    tool = Path(triton.backends.nvidia.__file__).parent / "bin" / "cuobjdump"
    if not tool.exists():
        return None, None
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "kernel.cubin")
        binary.write_bytes(done.asm["cubin"])
        said = subprocess.run([tool, "-res-usage", binary], capture_output=True, text=True, check=False)
    found = re.search(r"REG:(\d+) STACK:(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else (None, None)
