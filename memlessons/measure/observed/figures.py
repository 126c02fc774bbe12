"""Printed figures: whole numbers with thousands separators, sizes with a decimal point or comma."""

from typing import NamedTuple

from memlessons.units import GIB, KIB, MIB

# Engines mean powers of two by both names; who does not says so in its own file.
BINARY = {"KiB": KIB, "KB": KIB, "MiB": MIB, "MB": MIB, "GiB": GIB, "GB": GIB}
DECIMAL = {"KB": 10**3, "MB": 10**6, "GB": 10**9}

# Longer runs of digits are junk: no engine prints them, and converting them takes quadratic time.
NUMBER = r"-?\d[\d.,]{0,20}"
WHOLE = r"\d[\d,]{0,20}"


class Size(NamedTuple):
    """Bytes read from a rounded figure, and how far they may be off."""

    bytes: int
    within: int


def whole(text: str) -> int:
    """The number of "302,921" or "4096"; ValueError for anything else."""
    return int(text.rstrip(".,").replace(",", ""))


def number(text: str) -> tuple[float, int]:
    """The value of "2160.00", "2160,00" or "1,024.5", and how many decimals it has.

    A lone comma is a decimal one: locales print it, and no engine separates thousands in a size.
    """
    text = text.rstrip(".,")
    mark = max(text.rfind("."), text.rfind(","))
    if mark < 0:
        return float(int(text)), 0
    before, after = text[:mark].replace(",", "").replace(".", ""), text[mark + 1 :]
    return float(f"{before}.{after}"), len(after)


def size(value: float, decimals: int, unit_bytes: int) -> Size:
    """Bytes of a figure printed with so many decimals in units of `unit_bytes`."""
    return Size(round(value * unit_bytes), -(-unit_bytes // (2 * 10**decimals)))
