"""The ceilings of a GPU: how fast it copies, and how fast it reads. Every fraction is one of the larger."""

import torch

from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.race import Contender
from memlessons.measure import Value
from memlessons.units import GIB


def ceilings(bench: Bench, suffix: str = "") -> None:
    """Copying and reading; the larger is the ceiling of every fraction."""
    device = bench.device
    processors = device.facts().get("processors", 1)
    field = contenders(device.where, device.free_bytes(), processors, bench.seed)
    times = bench.run(field)
    values = {
        c.name + suffix: Value.of([c.bytes_moved / s for s in times[c.name].samples], "bytes/s")
        for c in field
    }
    top = max(values, key=lambda name: values[name].median)
    if not suffix:
        values["ceiling"] = values[top]
    graphs = {name: t.graph for name, t in times.items()}
    bench.ledger.put(
        "ceilings" + suffix,
        values,
        {"ceiling": top, "bytes": {c.name: c.bytes_moved for c in field}, "graph": graphs}
        | {"clocks": under_load(bench, field[0], times["copy"].samples[0])},
    )


def under_load(bench: Bench, contender: Contender, seconds: float) -> str | None:
    """What the device says of its clocks while about two seconds of work are on their way."""
    if not bench.device.rehearsal:
        for _ in range(max(1, min(900, int(2 / seconds)))):
            contender.calls[0]()
    said = bench.device.clocks()
    bench.device.wait()
    return said


def contenders(where: torch.device, free_bytes: int, processors: int, seed: int) -> list[Contender]:
    """Copying and reading a block of 4 GiB, or of an eighth of what is free; bytes read plus written."""
    from memlessons.kernels.roof import BLOCK, PROGRAMS_EACH, read

    g = torch.Generator(where).manual_seed(seed)
    count = 2 * PROGRAMS_EACH * processors * BLOCK  # at least two tiles for each program
    count *= max(1, min(4 * GIB, free_bytes // 8) // (4 * count))
    block = torch.empty(count, device=where).normal_(generator=g)
    source, target = block[: count // 2], torch.empty(count // 2, device=where)
    reading, total = read(block, processors), torch.empty((), device=where)
    reading.run()
    if not torch.allclose(
        reading.sums.double().sum(), block.sum(dtype=torch.float64), atol=1e-3 * count**0.5
    ):
        raise ArithmeticError("the reading kernel does not add up what torch.sum adds up")
    return [
        Contender("copy", [lambda: target.copy_(source)], 4 * count),
        Contender("read", [reading.run], reading.bytes_read),
        Contender("read torch.sum", [lambda: torch.sum(block, 0, out=total)], 4 * count),
    ]
