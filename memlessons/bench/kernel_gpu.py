"""What the kernel race measures on a GPU, the most important first."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from memlessons.bench import kernel_contenders as who
from memlessons.bench.kernel_bench import Bench
from memlessons.bench.kernel_race import Contender
from memlessons.bench.kernel_shapes import ALONE, LARGE, MHA, MQA, MQA_AS_MHA, SHORT, SPLITS, Shape
from memlessons.measure import Value
from memlessons.units import bytes_text


class Job(NamedTuple):
    """One step: its name, about how many seconds it takes, what it does; an optional one may fail."""

    name: str
    seconds: float
    run: Callable[[Bench], None]
    optional: bool = False


def jobs() -> list[Job]:
    """All of them, in the order in which they are measured."""
    found = [Job("ceilings", 8, ceilings), _row(LARGE), *map(_row, ALONE), *map(_row, SHORT)]
    found += [_row(MHA), _row(MQA), Job("one head for all", 12, one_head_for_all)]
    found.append(Job("splits", 12, splits))
    found += [
        Job(f"{s.name}, flex", 60, partial(against_flex, shape=s), optional=True) for s in (ALONE[1], LARGE)
    ]
    return [*found, Job("ceilings at the end", 6, partial(ceilings, suffix=" at the end"))]


def _row(shape: Shape) -> Job:
    return Job(shape.name, 10, partial(against_torch, shape=shape))


def ceilings(bench: Bench, suffix: str = "") -> None:
    """Copying and reading; the larger is the ceiling of every fraction."""
    from memlessons.bench.kernel_roof import ceilings as contenders

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


def against_torch(bench: Bench, shape: Shape) -> None:
    """Our kernel and torch's attention under each backend that takes the inputs and computes the same."""
    job = shape.name
    shape, sets, row = bench.inputs(shape)
    field = [who.ours(shape, sets)]
    bench.check(job, field[0], sets[0])
    row["not_accepted"] = {}
    for backend in who.BACKENDS:
        try:
            # In float32, and with a copy for every query head: what MATH makes of its inputs.
            copies = 4 * shape.kv_bytes(4) * shape.HQ // shape.HKV
            if backend == "MATH" and copies > bench.device.free_bytes() // 2:
                raise RuntimeError(f"would need {bytes_text(copies)}")
            rival = who.torch_attention(shape, sets, backend)
            wrong = bench.check(job, rival, sets[0])
            if wrong:
                raise RuntimeError(wrong)
            field.append(rival)
        except RuntimeError as error:
            bench.device.release()
            bench.device.wait()
            row["not_accepted"][backend] = str(error).strip().partition("\n")[0][:200]
    bench.finish(job, field, "ours", row)


def one_head_for_all(bench: Bench) -> None:
    """Multi-query attention, multi-head attention over as many tokens, and the one head copied for all."""
    job = "one head for all"
    one, few, row = bench.inputs(MQA_AS_MHA)
    all_heads, many, mha = bench.inputs(MHA)
    field = [who.ours(one, few, name="mqa"), who.ours(all_heads, many, name="mha"), who.copied(one, few)]
    for contender, sets in zip(field, (few, many, few), strict=True):
        bench.check(job, contender, sets[0])
    bench.finish(job, field, "mqa", row | {"mha": mha})


def splits(bench: Bench) -> None:
    """One sequence, cut into 1, 2, 4 ... 64 parts, beside the number that the launch chooses."""
    shape, sets, row = bench.inputs(ALONE[0])
    field = [who.ours(shape, sets)]
    field += [who.ours(shape, sets, splits=s, name=f"S={s}") for s in SPLITS if s <= bench.device.most_splits]
    for contender in field:
        bench.check("splits", contender, sets[0])
    row["chosen"] = field[0].facts["splits"]
    bench.finish("splits", field, "ours", row)


def against_flex(bench: Bench, shape: Shape) -> None:
    """Our kernel and compiled FlexAttention."""
    job = f"{shape.name}, flex"
    shape, sets, row = bench.inputs(shape)
    field = [who.ours(shape, sets), who.flex(shape, sets, compiled=not bench.device.rehearsal)]
    for contender in field:
        wrong = bench.check(job, contender, sets[0])
        if wrong:
            raise RuntimeError(wrong)
    bench.finish(job, field, "ours", row)
