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
        """Whether `tl.dot` uses one; Triton lowers it to single multiply-adds on sm_75."""
        return self.arch != 75


class Config(NamedTuple):
    """One way to launch: slots in a tile, warps in a program, tiles on their way at once."""

    block_n: int
    warps: int
    stages: int
    use_dot: bool = True


def block_h(G: int, use_dot: bool) -> int:
    """Rows of a program: 16 for a matrix unit, which pads anyway; no padding where sums are by hand."""
    least = 16 if use_dot else 1
    size = least
    while size < min(G, 64):
        size *= 2
    return size


def power_of_two(n: int) -> int:
    """The least power of two that is at least n, and at least 1."""
    return 1 << max(0, n - 1).bit_length()


def shared_bytes(config: Config, G: int, DK: int, DV: int, element_bytes: int) -> int:
    """Shared memory of a launch, in bytes, at most: tiles under way, queries, shares, and a little beside.

    Within a kilobyte of what Triton 3.7 reports for sm_80 and newer; older chips use less.
    """
    dk, dv, rows = max(16, power_of_two(DK)), max(16, power_of_two(DV)), block_h(G, config.use_dot)
    tiles = max(1, config.stages - 1) * config.block_n * (dk + dv)
    return (tiles + rows * dk + rows * config.block_n) * element_bytes + 1024


def candidates(chip: Chip, G: int, DK: int, DV: int, element_bytes: int) -> list[Config]:
    """Ways to launch, the best first, before the chip's limits are looked at."""
    wide = max(power_of_two(DK), power_of_two(DV)) * element_bytes  # bytes of a row of K or V
    if not chip.has_matrix_unit:
        use_dot, warps = G > 4, 8 if wide > 256 else 4
        return [Config(16, warps, 2, use_dot), Config(16, warps, 1, use_dot)]
    if isinstance(chip.arch, str):  # AMD: 64 KiB of local memory
        return [Config(64, 4, 2), Config(32, 4, 2), Config(16, 4, 2), Config(16, 4, 1)]
    if element_bytes == 4:  # no matrix unit computes in full float32: registers are what is short
        return [Config(32 if wide <= 512 else 16, 8, 3), Config(16, 8, 2), Config(16, 8, 1)]
    if wide <= 128:
        best = [Config(128, 4, 3), Config(64, 4, 3)]
    elif wide <= 256:
        best = [Config(64, 4, 3)]
    elif wide <= 512:
        best = [Config(32, 4, 3)]
    else:
        best = [Config(16, 4, 3)]
    return [*best, Config(32, 4, 3), Config(32, 4, 2), Config(16, 4, 2), Config(16, 4, 1)]


def config_for(chip: Chip, G: int, DK: int, DV: int, element_bytes: int) -> Config:
    """The first candidate whose shared memory the chip has; BackendCannot where none fits."""
    for config in candidates(chip, G, DK, DV, element_bytes):
        if shared_bytes(config, G, DK, DV, element_bytes) <= chip.shared_bytes:
            return config
    raise BackendCannot(
        f"DK={DK}, DV={DV} need more than the {chip.shared_bytes:,} bytes of shared memory of {chip.arch}; "
        "backend='reference' computes them"
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
