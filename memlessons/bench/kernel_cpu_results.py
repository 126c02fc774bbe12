"""What a CPU's times say: ratios of the same round, and whether they reach what was aimed at."""

from collections.abc import Mapping, Sequence

from memlessons.measure import Timing, Value
from memlessons.units import flops_text, seconds_text

RATIO = "ratio of the same round"
OF_STREAM, FEWER_HEADS, OF_PRODUCT = 0.80, 2.8, 0.40
"""What is aimed at: multi-head decode's share of the bare stream's speed; its time over that of 8 kv heads;
the share of the matrix product's arithmetic rate where many query heads share one memory."""
MANY = 8
"""Query heads over one memory from which a CPU is bound by arithmetic."""


def row_name(kv_heads: int) -> str:
    """The row of so many heads of keys and values."""
    return f"kv{kv_heads}"


def values_of(
    times: Mapping[str, Timing], kv_heads: Sequence[int], tokens: int, heads: int, width: int, flops: int
) -> dict[str, Value]:
    """Seconds of every contestant, and ratios round by round; `flops` are those of "matmul"."""
    values = {f"T{tokens} {name}": Value.of(t) for name, t in times.items()}

    def ratio(over: str, under: str, factor: float = 1.0) -> Value:
        pairs = zip(times[over].samples, times[under].samples, strict=True)
        return Value.of([factor * a / b for a, b in pairs], RATIO)

    decode_flops = 4 * heads * tokens * width  # q · k and shares · v, a multiply and an add each
    for name in map(row_name, kv_heads):
        values[f"T{tokens} {name} stream / twin"] = ratio(f"{name} stream", f"{name} twin")
        values[f"T{tokens} {name} sdpa / twin"] = ratio(f"{name} sdpa", f"{name} twin")
        values[f"T{tokens} {name} twin's share of matmul"] = ratio(
            "matmul", f"{name} twin", decode_flops / flops
        )
    most = row_name(max(kv_heads))
    for kv in kv_heads:
        name = row_name(kv)
        if name != most:
            values[f"T{tokens} {most} twin / {name} twin"] = ratio(f"{most} twin", f"{name} twin")
        for what in ("copied twin", "copied sdpa"):
            if f"{name} {what}" in times:
                values[f"T{tokens} {name} {what} / twin"] = ratio(f"{name} {what}", f"{name} twin")
    values["matmul rate"] = Value.of([flops / s for s in times["matmul"].samples], "FLOP/s")
    return values


def table(values: Mapping[str, Value], kv_heads: Sequence[int], tokens: int, heads: int = 32) -> str:
    """Times and ratios for people, and beside each target whether it was reached."""
    found = [f"decode of one sequence, {tokens:,} tokens, {heads} query heads, float32"]
    for name, value in values.items():
        if value.unit == "seconds":
            low, high = seconds_text(value.low), seconds_text(value.high)
            found.append(f"  {name:34}{seconds_text(value.median):>10}   half within {low} to {high}")
    found.append(f"  {'matmul rate':34}{flops_text(values['matmul rate'].median):>10}")
    targets = targets_of(kv_heads, tokens, heads)
    for name, value in values.items():
        if value.unit != RATIO:
            continue
        aim = ""
        if name in targets:
            aim = f"   >= {targets[name]:.2f} {'reached' if value.median >= targets[name] else 'not reached'}"
        found.append(f"  {name:34}{value.median:10.2f}   ({value.low:.2f} to {value.high:.2f}){aim}")
    return "\n".join(found)


def targets_of(kv_heads: Sequence[int], tokens: int, heads: int) -> dict[str, float]:
    """The values that have a target, by name."""
    most = row_name(heads)
    found = {f"T{tokens} {most} stream / twin": OF_STREAM, f"T{tokens} {most} twin / kv8 twin": FEWER_HEADS}
    for kv in kv_heads:
        if heads // kv >= MANY:
            found[f"T{tokens} {row_name(kv)} twin's share of matmul"] = OF_PRODUCT
    return found
