"""How the sizer says things: lengths, factors, shares, bands of time, whether it fits."""

from collections.abc import Callable

from memlessons.show.values import number_text
from memlessons.sizing import Answer
from memlessons.sizing.times import BAND
from memlessons.units import bytes_text

ROOF = f"{BAND[0] * 100:.0f}-{BAND[1] * 100:.0f} % of the roof, assumed"
"""Where the expected times lie; `memlessons.sizing.times.BAND` says why that is an assumption."""


def sequences(count: int) -> str:
    """A number of sequences, "1 sequence"."""
    return f"{count:,} sequence{'s' * (count != 1)}"


def tokens(count: int) -> str:
    """A number of tokens, "4,096 tokens"."""
    return f"{count:,} token{'s' * (count != 1)}"


def growth(found: Answer) -> str:
    """What the next token of a sequence adds, and its mean where that differs."""
    average = f"{bytes_text(found.average)} on average so far"
    if found.slope == 0:
        return f"nothing, all windows are full ({average})" if found.average else "nothing"
    even = abs(found.slope / found.average - 1) < 0.01 if found.average else False
    return bytes_text(found.slope) + ("" if even else f" ({average})")


def reach(found: Answer, crossing: int | None) -> str:
    """Where a crossing lies, and whether the model reads so far."""
    longest = found.question.model.longest_context
    if crossing is None:
        return "never: it stops growing first"
    if longest is None or crossing <= longest:
        return f"from {tokens(crossing)} on"
    return f"at {tokens(crossing)}, beyond the {longest:,} it was made to read"


def ratio(times: float) -> str:
    """One size as a multiple of another, or as a share of it."""
    if times < 1:
        return f"{share_text(times)} of that"
    return f"{times:.2f} times that" if times < 10 else f"{number_text(times)} times that"


def speed(batch: int, least: float, unit: str = "") -> str:
    """Tokens a second of all sequences, and of each, from the least seconds of a step."""
    each = span(BAND[0] / least, BAND[1] / least, _rate)
    if batch == 1:
        return f"{each}{unit}"
    return f"{span(batch * BAND[0] / least, batch * BAND[1] / least, _rate)}{unit} in all, {each} each"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}"


def verdict(found: Answer) -> str:
    """Whether it fits on the card, and by how much."""
    if found.card_bytes is None:
        return "no card"
    has = f"{bytes_text(found.card_bytes)}{' each' if found.question.tp > 1 else ''}"
    if found.needed_per_device is None:
        return f"{has}: not computed without weights"
    spare = found.card_bytes - found.needed_per_device
    if spare < 0:
        return f"{has}: does not fit, {bytes_text(-spare)} too much"
    return f"{has}: fits, {bytes_text(spare)} to spare"


def times_text(factor: float) -> str:
    """A factor of a waterfall, "× 12.0"."""
    return f"× {factor:.1f}" if 0.95 <= factor < 1000 else f"× {number_text(factor)}"


def span(low: float, high: float, text: Callable[[float], str]) -> str:
    """Two values as "12.3 to 18.5 ms"; the unit once where both have the same."""
    first, second = text(low), text(high)
    number, _, unit = first.partition(" ")
    return f"{number} to {second}" if unit and second.endswith(f" {unit}") else f"{first} to {second}"


def share_text(share: float) -> str:
    """A share in per cent; with one decimal where whole per cents would hide a small part."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    digits = 0 if 0.1 <= share <= 0.9 or share in (0, 1) else 1
    return f"{100 * share:.{digits}f} %"


def sentence(note: str) -> str:
    """A note with its capital letter and full stop."""
    return f"{note[0].upper()}{note[1:]}."
