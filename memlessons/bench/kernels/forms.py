"""Rows of the other forms of memory: codes, pages, windows, sinks, latents, each beside its plain form."""

from dataclasses import replace

from memlessons.bench.kernels import contenders as who
from memlessons.bench.kernels.ablation import NAME, slot_by_slot
from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.rows import try_one
from memlessons.bench.kernels.shapes import AS_LONG_AS_THE_WINDOW, LARGE, WINDOW, Shape

INT8, PAGES, SINKS = "int8 B32 T4096", "pages B32 T4096", "sinks B32 T4096"


def int8(bench: Bench) -> None:
    """Codes of eight bits beside numbers of sixteen, equally many tokens."""
    plain, plain_facts = bench.ours(INT8, LARGE, "16-bit")
    codes, facts = bench.ours(INT8, replace(LARGE, int8=True), "int8")
    bench.finish(INT8, [plain, codes], "16-bit", {"16-bit": plain_facts, "int8": facts, "not_accepted": {}})


def pages(bench: Bench) -> None:
    """Pages in a random order beside one piece: of 64 slots and of 16, and with another kernel's settings."""
    plain, row = bench.ours(PAGES, LARGE, "contiguous")
    small, small_facts = bench.ours(PAGES, replace(LARGE, page=16), "pages of 16")
    shape, sets, facts = bench.inputs(replace(LARGE, page=64))
    field = [plain, small, who.ours(shape, sets, name="pages of 64")]
    bench.check(PAGES, field[-1], sets[0])
    row = {"contiguous": row, "pages of 16": small_facts, "pages of 64": facts, "not_accepted": {}}
    try_one(bench, PAGES, NAME, lambda: slot_by_slot(shape, sets), sets[0], field, row)
    bench.finish(PAGES, field, "contiguous", row)


def window(bench: Bench) -> None:
    """The newest 1,024 of 32,768 slots beside a memory of 1,024, beside all; and with four sink tokens."""
    job = WINDOW.name
    shape, sets, facts = bench.inputs(WINDOW)
    with_sinks = replace(shape, sink_tokens=2 if bench.device.rehearsal else 4)
    sinks = [s._replace(options=s.options | {"sink_tokens": with_sinks.sink_tokens}) for s in sets]
    everything = [s._replace(options=s.options | {"window": None}) for s in sets[:1]]
    short, short_facts = bench.ours(job, AS_LONG_AS_THE_WINDOW, "T=W")
    field = [short]
    for name, form, chosen in (
        ("window", shape, sets),
        ("window and sink tokens", with_sinks, sinks),
        ("full", replace(shape, window=None), everything),
    ):
        field.append(who.ours(form, chosen, name=name))
        bench.check(job, field[-1], chosen[0])
    bench.finish(job, field, "T=W", {"window": facts, "T=W": short_facts})


def sinks(bench: Bench) -> None:
    """A learned sink for each query head beside none."""
    plain, row = bench.ours(SINKS, LARGE, "without")
    learned, facts = bench.ours(SINKS, replace(LARGE, sink_logits=True), "sink logits")
    bench.finish(SINKS, [plain, learned], "without", {"without": row, "sink logits": facts})


def latent(bench: Bench, shape: Shape) -> None:
    """Absorbed latent attention: all heads over one latent, which is read once for scores and for values.

    With pages of 64 besides, as our kernel takes them and with another kernel's settings.
    """
    job = shape.name
    ours, facts = bench.ours(job, shape)
    small, sets, paged = bench.inputs(replace(shape, page=64))
    field, row = [ours, who.ours(small, sets, name="pages of 64")], {"ours": facts, "pages of 64": paged}
    bench.check(job, field[-1], sets[0])
    row |= {"flops": {"of one call": small.flops}, "not_accepted": {}}
    try_one(bench, job, NAME, lambda: slot_by_slot(small, sets), sets[0], field, row)
    bench.finish(job, field, "ours", row, pairs=[(NAME, "pages of 64")])
