"""Names written at the ends of lines, so that a reader need not look from a legend to a line and back."""

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from memlessons.show.theme import FONT_SIZE, TEXT, Figure, escaped

LINE_PIXELS = 15
"""Height of one line of label text."""
_CHARACTER_PIXELS = 7.0
_WIDEST = 30


class End(NamedTuple):
    """A label, its colour, and where its line ends, in axis coordinates (powers of ten on a log axis)."""

    text: str
    x: float
    y: float
    colour: str


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Centres in pixels, as near to `wanted` as they can be without overlapping or leaving low..high.

    More labels than fit: evenly over the whole length.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[tuple[list[int], float]] = []  # members in order, and the block's centre
    for i in order:
        members, centre = [i], wanted[i]
        while True:
            size = sum(heights[m] for m in members)
            centre = min(max(centre, low + size / 2), max(high - size / 2, low + size / 2))
            if not blocks:
                break
            before, before_centre = blocks[-1]
            before_size = sum(heights[m] for m in before)
            if before_centre + before_size / 2 <= centre - size / 2 + 1e-9:
                break
            blocks.pop()
            centre = (before_centre * len(before) + centre * len(members)) / (len(before) + len(members))
            members = before + members
        blocks.append((members, centre))
    placed = [0.0] * len(wanted)
    for members, centre in blocks:
        edge = centre - sum(heights[m] for m in members) / 2
        for m in members:
            placed[m] = edge + heights[m] / 2
            edge += heights[m]
    return placed


def plot_pixels(fig: Figure) -> float:
    """Height in pixels between the top and bottom margins of a figure."""
    usual, own = fig.layout.template.layout.margin, fig.layout.margin
    above, below = usual.t if own.t is None else own.t, usual.b if own.b is None else own.b
    return float(fig.layout.height - above - below)


def note(fig: Figure, text: str, x: float, y: float, colour: str = TEXT, **place: Any) -> None:
    """Write text at a point given in axis coordinates; `place` takes xanchor, yanchor, xshift, yshift."""
    font = {"color": colour, "size": FONT_SIZE - 1}
    fig.add_annotation(x=x, y=y, text=escaped(text), showarrow=False, font=font, **place)


def label_ends(
    fig: Figure,
    ends: Sequence[End],
    y_range: tuple[float, float],
    *,
    pixels: float | None = None,
    axes: tuple[str, str] = ("x", "y"),
    widest: int = _WIDEST,
    margin: bool = True,
) -> None:
    """Write each label right of its line's end, moved up or down just enough not to overlap.

    `y_range` is the y axis in axis coordinates, `pixels` its height (the whole figure's if not given);
    `margin=True` makes room at the right for the widest label.
    """
    if pixels is None:
        pixels = plot_pixels(fig)
    wrapped = [textwrap.wrap(end.text, widest) or [""] for end in ends]
    scale = pixels / (y_range[1] - y_range[0])
    wanted = [(end.y - y_range[0]) * scale for end in ends]
    heights = [len(lines) * LINE_PIXELS + 2.0 for lines in wrapped]
    for end, lines, want, got in zip(ends, wrapped, wanted, spread(wanted, heights, 0, pixels), strict=True):
        fig.add_annotation(
            x=end.x,
            y=end.y,
            xref=axes[0],
            yref=axes[1],
            xanchor="left",
            yanchor="middle",
            xshift=8,
            yshift=got - want,
            align="left",
            showarrow=False,
            text="<br>".join(escaped(line) for line in lines),
            font={"color": end.colour, "size": FONT_SIZE},
        )
    if margin and ends:
        longest = max(len(line) for lines in wrapped for line in lines)
        fig.update_layout(margin_r=max(24, 16 + round(longest * _CHARACTER_PIXELS)))
