"""What the kernels are aimed at, as data: which value of a record, how much it must be, and why so much.

Anchors are figures that others published, on the devices named; none was measured by this project.
"""

from dataclasses import dataclass

NO_KERNEL = "there is no kernel for it yet"
WITHOUT_RIVAL = "no such rival in this race"


@dataclass(frozen=True, slots=True)
class Target:
    """One aim: the `value` of a record, from its `job`, must reach `must`; `good` is better. None: no such.

    `least`: more is better. `inverse`: the record has the reciprocal. A `value` with a star stands for the
    smallest of all that match. `missing` says why no record can have it, for aims without a value.
    """

    name: str
    metric: str
    must: float | None
    good: float | None
    anchors: str
    job: str = ""
    value: str = ""
    least: bool = True
    inverse: bool = False
    unit: str = "share"
    missing: str = ""


def _share(name: str, job: str, must: float, good: float, anchors: str) -> Target:
    return Target(name, "share of the ceiling", must, good, anchors, job, f"{job} ours of ceiling")


def _ratio(
    name: str, metric: str, limits: tuple[float | None, float | None], anchors: str, job: str, ratio: str,
    least: bool = False, inverse: bool = False,
) -> Target:  # fmt: skip
    value = f"{job} {ratio}"
    return Target(name, metric, *limits, anchors, job, value, least, inverse, unit="times")


_ALONE = ("gqa B1 T8192", "gqa B1 T32768")
_INT8, _PAGES, _WINDOW = "int8 B32 T4096", "pages B32 T4096", "window 1024 of 32768"

GPU = (
    _share("grouped, 512 MiB", "gqa B32 T4096", 0.85, 0.92, "TileOps 92 %, FlashInfer B200 90 %"),
    *(_share(f"grouped, alone, {job[7:]}", job, 0.50, 0.65, "B200, one of 16,384: 47 %") for job in _ALONE),
    *(
        _ratio(f"grouped, alone, {job[7:]}", f"time / {rival}", (1.15, 1.05), "as fast as a library",
               f"{job}, libraries", f"{rival} / ours", inverse=True)
        for job in _ALONE for rival in ("flashinfer", "flash-attn 3")
    ),
    Target("short, 1,024 tokens", "time, both steps", None, 12e-6, "H200: TileOps 6.9, FlashInfer 9.5, "
           "FlashAttention-3 16.2 us", "short B1 T1024", "short B1 T1024 ours", False, unit="seconds"),
    Target("short, 1,024 tokens", "time / fastest rival", 1.5, None, "the same", "short B1 T1024",
           "short B1 T1024* / ours", False, inverse=True, unit="times"),
    _share("multi-head", "mha 256 MiB", 0.85, 0.92, "padding to 16 rows must cost nothing"),
    _share("multi-query", "mqa 256 MiB", 0.85, 0.92, "padding to 16 rows must cost nothing"),
    _ratio("int8", "time / 16-bit", (0.65, 0.57), "0.516 by bytes, with scales of 32 bits", _INT8,
           "int8 / 16-bit"),
    _ratio("window of 1,024 in 32,768", "time / memory of 1,024", (1.3, 1.1), "the loop begins at the window",
           _WINDOW, "window / T=W"),
    _ratio("pages of 64", "time / contiguous", (1.08, 1.03), "FlashAttention-3 lost 45 % with pages of 8",
           _PAGES, "pages of 64 / contiguous"),
    Target("shared prefix", "speedup over pages", 4.0, 8.0, "16.5 by bytes", unit="times", missing=NO_KERNEL),
    _share("latent, 16 heads", "mla 16 heads", 0.70, 0.85, "FlashInfer: RTX 4090 94 %, H100 60 %"),
    Target("latent, 128 heads", "speedup over FlashMLA", 0.5, 0.65, "FlagGems 0.51 to 0.64", unit="times",
           missing=WITHOUT_RIVAL),
    _ratio("latent, 128 heads", "speedup over slot by slot", (1.0, 1.2), "our kernel in SGLang's settings",
           "mla 128 heads", "slot by slot / pages of 64", least=True),
    _ratio("grouped, 32,768", "speedup over torch's flash", (1.0, 1.3), "FlexAttention 1.12 on average",
           _ALONE[1], "sdpa flash / ours", least=True),
    _ratio("grouped, 512 MiB", "speedup over torch's flash", (1.0, None), "the same", "gqa B32 T4096",
           "sdpa flash / ours", least=True),
    _ratio("grouped, 32,768", "speedup over FlexAttention", (1.0, 1.1), "its splits are chosen by torch",
           f"{_ALONE[1]}, flex", "flex / ours", least=True),
    Target("recurrence, in blocks", "speedup over torch", 20.0, 40.0, "152 ms to 1.99 ms", unit="times",
           missing=NO_KERNEL),
    Target("recurrence, whole card", "time / cuDNN", 3.0, 1.5, "2 us a step", least=False, unit="times",
           missing=NO_KERNEL),
)  # fmt: skip
"""On a GPU; the ceiling is the faster of copying and reading in the same run."""


def cpu_targets(tokens: int) -> tuple[Target, ...]:
    """On a CPU, at so many tokens; 32 query heads of width 128 in float32."""
    row = f"T{tokens}"

    def aim(name: str, metric: str, must: float, value: str, least: bool, anchors: str) -> Target:
        unit = "times" if "/" in metric else "share"
        return Target(name, metric, must, None, anchors, "cpu", f"{row} {value}", least, unit=unit)

    bound = "here arithmetic is what takes time"
    return (
        aim("multi-head", "share of bare reading", 0.80, "kv32 stream / twin", True, "it waits for bytes"),
        aim("multi-head", "time / 8 kv heads", 2.8, "kv32 twin / kv8 twin", True, "a quarter of the bytes"),
        aim("multi-head, int8", "time / float32", 0.45, "kv32 int8 / twin", False, "0.26 by bytes"),
        aim("4 kv heads", "share of matmul rate", 0.40, "kv4 twin's share of matmul", True, bound),
        aim("1 kv head", "share of matmul rate", 0.40, "kv1 twin's share of matmul", True, bound),
    )
