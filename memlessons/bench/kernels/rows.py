"""Rows of plain decode attention: our kernel beside torch's, libraries', and itself with other settings."""

from typing import Any

from memlessons.bench.kernels import contenders as who
from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.check import WrongKernel
from memlessons.bench.kernels.inputs import Inputs
from memlessons.bench.kernels.libraries import libraries
from memlessons.bench.kernels.race import Contender
from memlessons.bench.kernels.shapes import ALONE, MHA, MQA_AS_MHA, SPLITS, Shape
from memlessons.units import bytes_text


def against_torch(bench: Bench, shape: Shape) -> None:
    """Our kernel and torch's attention under each backend that takes the inputs and computes the same."""
    job = shape.name
    shape, sets, row = bench.inputs(shape)
    field = [who.ours(shape, sets)]
    bench.check(job, field[0], sets[0])
    row["not_accepted"] = {}
    for backend in who.BACKENDS:
        # In float32, and with a copy for every query head: what MATH makes of its inputs.
        copies = 4 * shape.kv_bytes(4) * shape.HQ // shape.HKV
        if backend == "MATH" and copies > bench.device.free_bytes() // 2:
            row["not_accepted"][who.sdpa_name(backend)] = f"would need {bytes_text(copies)}"
            continue
        try_one(bench, job, who.sdpa_name(backend), lambda b=backend: who.torch_attention(shape, sets, b),
                sets[0], field, row)  # fmt: skip
    bench.finish(job, field, "ours", row)


def against_libraries(bench: Bench, shape: Shape) -> None:
    """Our kernel and the libraries that are installed; RuntimeError if none takes part.

    A row of its own, and a late one: some of them compile for minutes when they are first called.
    """
    job = library_job(shape)
    field: list[Contender] = []
    row: dict[str, Any] = {"not_accepted": {}}
    if any(library.is_here for library in libraries()):
        shape, sets, facts = bench.inputs(shape)
        row |= facts
        field.append(who.ours(shape, sets))
        bench.check(job, field[0], sets[0])
        for library in libraries():
            try_one(bench, job, library.name, lambda m=library.make: m(shape, sets), sets[0], field, row)
    if len(field) < 2:
        missing = {library.name: "not installed" for library in libraries()} | row["not_accepted"]
        raise RuntimeError("; ".join(f"{name} {why}" for name, why in missing.items()))
    bench.finish(job, field, "ours", row)


def library_job(shape: Shape) -> str:
    """What the job of a shape against libraries is called."""
    return f"{shape.name}, libraries"


def try_one(
    bench: Bench, job: str, name: str, make: Any, first: Inputs, field: list[Contender], row: dict[str, Any]
) -> None:
    """Add a contender to the field if it can be made; the row says why not, also of a rival that is wrong."""
    try:
        rival = make()
        wrong = bench.check(job, rival, first)
        if not wrong:
            field.append(rival)
            return
        why = wrong
    except WrongKernel:
        raise
    except ImportError:
        why = "not installed"
    except Exception as error:
        bench.device.release()
        bench.device.wait()
        why = str(error).strip().partition("\n")[0][:200] or type(error).__name__
    row["not_accepted"][name] = why


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
