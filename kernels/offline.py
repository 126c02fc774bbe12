"""Compiling for GPUs that are not here: what a kernel would cost a chip, read from its machine code.

Needs Triton without its interpreter, and no GPU. The facts it reads: shared memory from the compiler,
registers and stack (spilled registers) from `cuobjdump`, which comes with Triton, or from AMD's listing.
"""

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
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
from memlessons.kernels.launch import form_of, split_arguments
from memlessons.kernels.problem import Problem
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
    """A configuration to compile: heads, widths, the type of numbers, and the form of the memory."""

    name: str
    HQ: int
    HKV: int
    DK: int
    DV: int
    dtype: torch.dtype = torch.bfloat16
    page: int = 0
    window: int | None = None
    int8: bool = False
    latent: bool = False

    @property
    def narrowest(self) -> int:
        """Bytes of a copy of K or V, at least: codes of eight bits go to the matrix unit eight at a time."""
        return 8 if self.int8 else 16

    @property
    def words(self) -> bool:
        """Whether each slot brings words of its own along: scales, or its page."""
        return self.int8 or 0 < self.page < 64

    def problem(self, arch: int | str) -> Problem:
        """A call of this kind; sm_75 has no bfloat16, so readers of such a card use float16."""
        dtype = torch.float16 if arch == 75 and self.dtype == torch.bfloat16 else self.dtype
        slots = (2, self.HKV, 4096) if not self.page else (128, self.HKV, self.page)
        kind = torch.int8 if self.int8 else dtype
        k = torch.empty(*slots, self.DK, dtype=kind)
        v = None if self.latent else torch.empty(*slots, self.DV, dtype=kind)
        scales = torch.empty(slots) if self.int8 else None
        return checked(
            torch.empty(2, self.HQ, self.DK, dtype=dtype), k, v, torch.zeros(2, dtype=torch.int32),
            table=torch.zeros(2, 64, dtype=torch.int32) if self.page else None, window=self.window,
            k_scale=scales, v_scale=None if v is None else scales, scale=0.1,
            value_width=self.DV if self.latent else None,
        )  # fmt: skip


MAIN = (
    Shape("GQA 32/8, width 128", 32, 8, 128, 128),
    Shape("MHA 32/32, width 128", 32, 32, 128, 128),
    Shape("MQA 32/1, width 128", 32, 1, 128, 128),
    Shape("GQA 9/3, width 64", 9, 3, 64, 64),
    Shape("MQA 4/1, width 256", 4, 1, 256, 256),
    Shape("GQA 32/8, float32", 32, 8, 128, 128, torch.float32),
    Shape("GQA 32/8, window", 32, 8, 128, 128, window=1024),
    Shape("GQA 32/8, pages of 64", 32, 8, 128, 128, page=64),
    Shape("GQA 32/8, pages of 16", 32, 8, 128, 128, page=16),
    Shape("GQA 32/8, int8", 32, 8, 128, 128, int8=True),
    Shape("GQA 32/8, int8, pages of 64", 32, 8, 128, 128, page=64, int8=True),
    Shape("latent 16 heads, 512 + 64", 16, 1, 576, 512, latent=True),
    Shape("latent 128 heads, 512 + 64", 128, 1, 576, 512, latent=True),
)


class Facts(NamedTuple):
    """What one compiled kernel asks of a chip; None where a chip's tools do not say."""

    shape: Shape
    arch: int | str
    config: Config
    shared_bytes: int
    registers: int | None
    stack_bytes: int | None
    copies: Mapping[int, int]
    matrix_products: int
    chip: Chip

    @property
    def wide_copies(self) -> int:
        """Copies of 16 bytes on their way while the program computes."""
        return self.copies.get(16, 0)

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
            narrow = sum(n for size, n in self.copies.items() if size < self.shape.narrowest)
            # A tile's scales and page numbers are single words, one for each slot, in up to three layouts.
            narrow -= min(narrow, 3 * self.config.stages if self.shape.words else 0)
            if narrow or not self.wide_copies:
                found.append(f"{narrow} copies of K and V narrower than {self.shape.narrowest} bytes")
        return found


def facts(shape: Shape, arch: int | str) -> Facts:
    """Compile the split kernel for a shape and a chip, and read its cost; BackendCannot if interpreted."""
    if not hasattr(split_kernel, "signature"):
        raise BackendCannot("Triton's interpreter is on (TRITON_INTERPRET=1): it compiles nothing")
    chip, p = CHIPS[arch], shape.problem(arch)
    config = config_for(chip, form_of(p))
    outputs = (torch.empty(2, p.HQ, 4, p.DV), torch.empty(2, p.HQ, 4), torch.empty(2, p.HQ, p.DV),
               torch.empty(2, p.HQ))  # fmt: skip
    arguments, options = split_arguments(p, config, 4, 0, outputs)
    target = GPUTarget("cuda", arch, 32) if isinstance(arch, int) else GPUTarget("hip", arch, 64)
    done = compile_call(split_kernel, arguments, options, target)
    registers, stack = _registers(done)
    ptx = done.asm.get("ptx", "")
    copies = Counter(int(size, 0) for size in _COPY.findall(ptx))
    products = len(_MATRIX.findall(ptx or done.asm.get("amdgcn", "")))
    return Facts(shape, arch, config, done.metadata.shared, registers, stack, copies, products, chip)


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
