"""Sizes of tiles and numbers of splits: chosen from a table and by a rule, never by trying at first call.

Tiles and stages are what was found to fit each family of chips without spilling, by compiling offline
(`python -m memlessons.kernels report` prints the figures for this version of Triton).
"""

from typing import NamedTuple

from memlessons.kernels.errors import BackendCannot

MOST_SPLITS = 128
LEAST_TILES = 4
"""Tiles in a split: fewer, and starting the program costs more than its share of the reading."""


class Chip(NamedTuple):
    """What a launch must know of a GPU: `arch` as Triton names it (80 for sm_80, "gfx942"), its limits."""

    arch: int | str
    shared_bytes: int
    processors: int
    shared_bytes_per_processor: int

    @property
    def has_matrix_unit(self) -> bool:
        """Whether `tl.dot` uses one; Triton lowers it to single multiply-adds before sm_80."""
        return isinstance(self.arch, str) or self.arch >= 80


class Form(NamedTuple):
    """What tiles depend on: query heads that share a memory, widths, bytes of a number of q and of k and v.

    `latent`: the values are the first DV columns of the keys, and the columns after them carry positions.
    """

    G: int
    DK: int
    DV: int
    q_bytes: int
    kv_bytes: int
    latent: bool = False


class Config(NamedTuple):
    """One way to launch: slots in a tile, warps in a program, tiles on their way at once, most rows."""

    block_n: int
    warps: int
    stages: int
    use_dot: bool = True
    rows: int = 64


def block_h(G: int, config: Config) -> int:
    """Rows of a program: 16 for a matrix unit, which pads anyway; no padding where sums are by hand."""
    size = 16 if config.use_dot else 1
    while size < min(G, config.rows):
        size *= 2
    return size


def power_of_two(n: int) -> int:
    """The least power of two that is at least n, and at least 1."""
    return 1 << max(0, n - 1).bit_length()


def shared_bytes(config: Config, form: Form) -> int:
    """Shared memory of a launch, in bytes, at most: tiles under way, queries, shares, and a little beside.

    Within a few kilobytes of what Triton 3.7 reports for sm_80 and newer; older chips use less.
    """
    dr = form.DK - form.DV if form.latent else 0
    dk, dv = (max(16, power_of_two(d)) for d in (form.DK - dr, form.DV))
    dr = max(16, power_of_two(dr)) if dr else 0
    rows, copies = block_h(form.G, config), max(1, config.stages - 1)
    slot = (dk + dr + (0 if form.latent else dv)) * form.kv_bytes
    if form.kv_bytes < form.q_bytes:
        slot += 4 * (1 if form.latent else 2)  # their scales
    operands = (rows * (dk + dr) + rows * config.block_n) * form.q_bytes
    if form.kv_bytes < form.q_bytes:
        # A tile of codes is widened on its way to the matrix unit.
        operands += config.block_n * max(dk, dv) * form.q_bytes
    # A tile of keys that are values as well lies in shared memory in two orders in part.
    return copies * config.block_n * slot + operands + (8192 if form.latent else 1024)


def candidates(chip: Chip, form: Form) -> list[Config]:
    """Ways to launch, the best first, before the chip's limits are looked at."""
    wide = max(power_of_two(form.DK), power_of_two(form.DV)) * form.q_bytes  # bytes of a row, widened
    if not chip.has_matrix_unit:
        if form.latent and wide >= 1024:  # few rows at a time: their sums by hand fill the registers
            return [Config(16, 8, 1, use_dot=False, rows=2)]
        use_dot, warps = form.G > 4, 8 if wide > 256 or form.kv_bytes < form.q_bytes else 4
        return [Config(16, warps, stages, use_dot, rows=16) for stages in (2, 1)]
    small = [Config(32, 4, 2), Config(16, 4, 2), Config(16, 4, 1)]
    if isinstance(chip.arch, str):  # AMD: 64 KiB of local memory
        if form.latent and wide >= 1024:
            rows = [Config(16, 8, 2, rows=32)] if form.G > 16 else []
            return [*rows, Config(16, 4, 2, rows=16), Config(16, 4, 1, rows=16)]
        return [Config(64, 4, 2), *small]
    if form.q_bytes == 4:  # no matrix unit computes in full float32: registers are what is short
        return [Config(32 if wide <= 512 else 16, 8, 3), Config(16, 8, 2), Config(16, 8, 1)]
    if form.latent and wide >= 1024:
        rows = [Config(32, 8, 2, rows=32)] if form.G > 16 else []
        return [*rows, Config(32, 4, 2, rows=16), Config(16, 4, 2, rows=16), Config(16, 4, 1, rows=16)]
    if form.kv_bytes < form.q_bytes:  # widening takes registers: twice the warps
        return [Config(64 if wide <= 256 else 32, 8, 3), Config(32, 8, 2), *small]
    if wide <= 128:
        best = [Config(128, 4, 3), Config(64, 4, 3)]
    elif wide <= 256:
        best = [Config(64, 4, 3)]
    elif wide <= 512:
        best = [Config(32, 4, 3)]
    else:
        best = [Config(16, 4, 3)]
    return [*best, Config(32, 4, 3), *small]


def config_for(chip: Chip, form: Form) -> Config:
    """The first candidate whose shared memory the chip has; BackendCannot where none fits."""
    for config in candidates(chip, form):
        if shared_bytes(config, form) <= chip.shared_bytes:
            return config
    raise BackendCannot(
        f"DK={form.DK}, DV={form.DV} need more than the {chip.shared_bytes:,} bytes of shared memory of "
        f"{chip.arch}; backend='reference' computes them"
    )


def gpu_splits(chip: Chip, config: Config, work: int, T: int, shared: int) -> int:
    """How many parts to cut each past into, so that the chip is full and no wave is nearly empty.

    `work` is the number of programs of one split, `shared` the bytes of shared memory of each. Rounded
    down: one program more than the chip takes at once costs a whole further wave. A chip that `work`
    fills already is only split when its last wave would idle by a fifth, and never into small pieces.
    """
    slots = chip.processors * max(1, min(8, chip.shared_bytes_per_processor // shared))
    tiles = -(-max(T, 1) // config.block_n)
    if work < slots:
        return max(1, min(slots // work, tiles // LEAST_TILES, MOST_SPLITS))
    for splits in (1, 2, 3, 4):
        programs = work * splits
        full = programs / (-(-programs // slots) * slots)
        if full >= 0.8 and (splits == 1 or tiles // splits >= 16):
            return splits
    return 1
