"""What a CPU's times say: seconds, ratios of the same round, shares of the matrix product's rate."""

import re
from collections.abc import Mapping

from memlessons.measure import Timing, Value
from memlessons.units import flops_text, seconds_text

RATIO = "ratio of the same round"
_KV = re.compile(r"kv\d+")


def values_of(
    times: Mapping[str, Timing], tokens: int, flops: Mapping[str, int], product_flops: int
) -> dict[str, Value]:
    """Seconds of every contestant, and ratios round by round.

    `flops` are those of each row ("kv8", "mla 16 heads"), `product_flops` those of "matmul". Every
    contestant of a row stands over its twin, and the twin of most heads over those of fewer; bare reading
    and torch's attention as "stream / twin" and "sdpa / twin".
    """
    row = f"T{tokens}"
    values = {f"{row} {name}": Value.of(t) for name, t in times.items()}

    def ratio(over: str, under: str, factor: float = 1.0) -> Value:
        pairs = zip(times[over].samples, times[under].samples, strict=True)
        return Value.of([factor * a / b for a, b in pairs], RATIO)

    heads = [name.removesuffix(" twin") for name in times if re.fullmatch(r"kv\d+ twin", name)]
    most = max(heads, key=lambda name: int(name[2:]))
    for name in times:
        kv, _, what = name.partition(" ")
        if kv in heads and what != "twin":
            values[f"{row} {name} / twin"] = ratio(name, f"{kv} twin")
    for kv in heads:
        name = f"{kv} twin"
        values[f"{row} {name}'s share of matmul"] = ratio("matmul", name, flops[kv] / product_flops)
        if kv != most:
            values[f"{row} {most} twin / {name}"] = ratio(f"{most} twin", name)
    for name in times:
        if name in flops and not _KV.match(name):
            values[f"{row} {name}' share of matmul"] = ratio("matmul", name, flops[name] / product_flops)
    values["matmul rate"] = Value.of([product_flops / s for s in times["matmul"].samples], "FLOP/s")
    return values


def table(values: Mapping[str, Value], tokens: int, heads: int = 32) -> str:
    """Times and ratios for people."""
    found = [f"decode of one sequence, {tokens:,} tokens, {heads} query heads, float32"]
    for name, value in values.items():
        if value.unit == "seconds":
            low, high = seconds_text(value.low), seconds_text(value.high)
            found.append(f"  {name:38}{seconds_text(value.median):>10}   half within {low} to {high}")
    found.append(f"  {'matmul rate':38}{flops_text(values['matmul rate'].median):>10}")
    for name, value in values.items():
        if value.unit == RATIO:
            found.append(f"  {name:38}{value.median:10.2f}   ({value.low:.2f} to {value.high:.2f})")
    return "\n".join(found)
