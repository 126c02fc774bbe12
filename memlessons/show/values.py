"""Values for people, with their units; the package's formatter where it knows the unit."""

import math
from collections.abc import Callable

from memlessons.units import bytes_text, count_text, flops_text, rate_text, seconds_text


def tokens_text(tokens: float) -> str:
    """A length in tokens as people say it: "512", "8k" for 8,192, "1.5k"."""
    if tokens < 1024 or tokens % 128:
        return f"{tokens:,.0f}" if float(tokens).is_integer() else f"{tokens:,.1f}"
    return f"{tokens / 1024:.4g}k" if tokens < 1024**2 else f"{tokens / 1024**2:.4g}M"


def value_text(value: float, unit: str) -> str:
    """A value with its unit, through the book's one formatter; `unit` may be any word, "layers".

    Three significant digits; whole numbers whole.
    """
    known: dict[str, Callable[[float], str]] = {
        "bytes": bytes_text,
        "seconds": seconds_text,
        "bytes/s": rate_text,
        "FLOP/s": flops_text,
        "FLOP": lambda n: f"{count_text(n)}FLOP" if count_text(n)[-1].isalpha() else f"{count_text(n)} FLOP",
        "perplexity": lambda n: f"perplexity {number_text(n)}",
        "tokens": lambda n: f"{n:,.0f} tokens" if float(n).is_integer() else f"{number_text(n)} tokens",
    }
    if unit in known:
        return known[unit](value)
    number = number_text(value)
    return number if unit in ("number", "") else f"{number} {unit}"


def number_text(value: float) -> str:
    """A bare number: whole numbers with commas, others with three significant digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "not a number")
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 100 and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.3g}"
