"""What the kernel race measures on a GPU, the most important first."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from memlessons.bench.kernels import append, forms, roof, rows
from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.shapes import ALONE, LARGE, LATENT, MHA, MQA, SHORT, WINDOW, Shape


class Job(NamedTuple):
    """One step: its name, about how many seconds it takes, what it does; an optional one may fail."""

    name: str
    seconds: float
    run: Callable[[Bench], None]
    optional: bool = False


def jobs() -> list[Job]:
    """All of them, in the order in which they are measured."""
    return [
        Job("ceilings", 8, roof.ceilings),
        _row(LARGE, 10),
        Job(forms.INT8, 8, forms.int8),
        Job(forms.PAGES, 12, forms.pages),
        Job(WINDOW.name, 10, forms.window),
        *(_row(shape, 8) for shape in ALONE),
        _row(MHA, 8),
        _row(MQA, 8),
        *(Job(shape.name, 12, partial(forms.latent, shape=shape)) for shape in LATENT),
        *(_row(shape, 8) for shape in SHORT),
        Job(append.JOB, 6, append.append),
        Job(forms.SINKS, 8, forms.sinks),
        Job("one head for all", 10, rows.one_head_for_all),
        Job("splits", 12, rows.splits),
        *(_against_libraries(shape) for shape in (*ALONE, SHORT[0], LARGE)),
        *(_against_flex(shape) for shape in (ALONE[1], LARGE)),
        Job("ceilings at the end", 6, partial(roof.ceilings, suffix=" at the end")),
    ]


def _row(shape: Shape, seconds: float) -> Job:
    return Job(shape.name, seconds, partial(rows.against_torch, shape=shape))


def _against_libraries(shape: Shape) -> Job:
    run = partial(rows.against_libraries, shape=shape)
    return Job(rows.library_job(shape), 10, run, optional=True)


def _against_flex(shape: Shape) -> Job:
    return Job(f"{shape.name}, flex", 45, partial(rows.against_flex, shape=shape), optional=True)
