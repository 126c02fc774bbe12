"""Numbers for people: one formatter for bytes, seconds and rates.

Bytes are printed in binary units (KiB, MiB, GiB), rates in decimal ones (GB/s), as memory and its
makers do; a number is always given with its unit.
"""

KIB = 1024
MIB = 1024**2
GIB = 1024**3

_BINARY = ((1024**4, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
_DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def _three_digits(value: float) -> str:
    """Three significant digits without an exponent, "0.50", "12.3", "456", "7,890"."""
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def bytes_text(count: float) -> str:
    """Bytes in the largest binary unit that keeps at least one, "1.50 GiB"."""
    for size, unit in _BINARY:
        # Rounding must not print "1,024 KiB" where "1.00 MiB" is meant.
        if abs(count) >= size * 0.9995:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count:,.0f} B"


def seconds_text(seconds: float) -> str:
    """Seconds in s, ms, µs or ns, "12.3 ms"."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= size * 0.9995:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def _decimal(value: float, unit: str) -> str:
    for size, prefix in _DECIMAL:
        if abs(value) >= size * 0.9995:
            return f"{_three_digits(value / size)} {prefix}{unit}"
    return f"{_three_digits(value)} {unit}".rstrip()


def rate_text(bytes_per_second: float) -> str:
    """Bytes per second in decimal units, "16.6 GB/s"."""
    return _decimal(bytes_per_second, "B/s")


def flops_text(flop_per_second: float) -> str:
    """Floating-point operations per second, "73.0 GFLOP/s"."""
    return _decimal(flop_per_second, "FLOP/s")


def count_text(count: float) -> str:
    """A count of things, "134 M"."""
    return _decimal(count, "").strip()
