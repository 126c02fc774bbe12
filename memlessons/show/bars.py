"""Bytes as bars to scale: what is moved or held, part by part, one row for each way of doing it."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from memlessons.show.axes import set_axis
from memlessons.show.curves import NothingToDraw
from memlessons.show.labels import spread
from memlessons.show.theme import FONT_SIZE, TEXT, Figure, Style, escaped, figure, pattern, style
from memlessons.units import bytes_text

ROW_PIXELS = 64
_THICK = 0.42
_CHARACTER_PIXELS = 7.0
# A page may be wider than that; labels that keep apart at this width keep apart at any greater one.
_PLOT_PIXELS = 420.0

Parts = Mapping[str, Sequence[tuple[str, float]]]


def bars_to_scale(parts: Parts, title: str, alt: str, *, id: str | None = None, subtitle: str = "") -> Figure:
    """Rows of stacked bars of bytes, all to one scale; the total of a row stands at its end.

    `parts` maps the name of a row to its segments from left to right, each (label, bytes). Segments of one
    label look alike in all rows; the label stands above its segment, with its bytes. All bars are equally
    thick, so that area and length are both to scale. NothingToDraw without a row, for a row without
    segments, for negative or endless bytes.
    """
    _check(parts, title)
    looks = {label: style(i) for i, label in enumerate(dict.fromkeys(_labels(parts)))}
    longest = max(sum(size for _, size in row) for row in parts.values()) or 1.0
    words = "; ".join(f"{name}: {_said(row)}" for name, row in parts.items())
    fig = figure(title, "bytes", "", f"{alt} {words}.", id=id, height=118 + ROW_PIXELS * len(parts))
    if subtitle:
        fig.update_layout(title_subtitle_text=escaped(subtitle), margin_t=70)
    for number, (name, row) in enumerate(parts.items()):
        start = 0.0
        for label, size in row:
            fig.add_trace(segment(label, number, start, size, looks[label], name))
            start += size
        _name_segments(fig, row, number, looks, longest)
        _total(fig, start, number)
    names = ["<br>".join(escaped(part) for part in textwrap.wrap(name, 20)) for name in parts]
    fig.update_yaxes(
        range=[len(parts) - 0.5, -0.62],
        tickvals=list(range(len(parts))),
        ticktext=names,
        showgrid=False,
        zeroline=False,
        ticks="",
    )
    set_axis(fig, "x", "bytes", 0, longest * 1.02)
    fig.update_layout(barmode="overlay", margin_r=96)
    return fig


def segment(label: str, row: float, start: float, size: float, look: Style, name: str = "") -> go.Bar:
    """One piece of a row's bar, from `start` on, with its fill pattern and its words on hovering."""
    said = f"{name}, {label}" if name else label
    return go.Bar(
        orientation="h",
        x=[size],
        base=[start],
        y=[row],
        width=_THICK,
        name=escaped(label),
        marker={"color": look.colour, "line": {"width": 0}, "pattern": pattern(look.pattern)},
        customdata=[escaped(f"{said}: {bytes_text(size)}")],
        hovertemplate="%{customdata}<extra></extra>",
    )


def segment_labels(
    row: Sequence[tuple[str, float]], longest: float, pixels: float = _PLOT_PIXELS
) -> list[tuple[float, float, str]]:
    """Where the labels of one row stand: (centre of the segment in bytes, pixels to move it by, text).

    Each above its segment, moved aside just enough that no two overlap on a plot of `pixels` width.
    """
    texts, centres, start = [], [], 0.0
    for label, size in row:
        texts.append(f"{label}: {bytes_text(size)}")
        centres.append(start + size / 2)
        start += size
    scale = pixels / longest
    wide = [len(text) * _CHARACTER_PIXELS + 8 for text in texts]
    places = spread([centre * scale for centre in centres], wide, 0, max(pixels, sum(wide)))
    return [
        (centre, place - centre * scale, text)
        for centre, place, text in zip(centres, places, texts, strict=True)
    ]


def _name_segments(
    fig: Figure, row: Sequence[tuple[str, float]], number: int, looks: Mapping[str, Style], longest: float
) -> None:
    above: dict[str, Any] = {"yanchor": "bottom", "yshift": 1, "showarrow": False}
    for (label, _), (centre, shift, text) in zip(row, segment_labels(row, longest), strict=True):
        font = {"color": looks[label].colour, "size": FONT_SIZE}
        y = number - _THICK / 2
        fig.add_annotation(x=centre, y=y, xshift=shift, text=escaped(text), font=font, **above)


def _total(fig: Figure, total: float, number: int) -> None:
    fig.add_annotation(
        x=total,
        y=number,
        xanchor="left",
        xshift=8,
        showarrow=False,
        text=f"<b>{escaped(bytes_text(total))}</b>",
        font={"color": TEXT, "size": FONT_SIZE},
    )


def _labels(parts: Parts) -> list[str]:
    return [label for row in parts.values() for label, _ in row]


def _said(row: Sequence[tuple[str, float]]) -> str:
    each = ", ".join(f"{label} {bytes_text(size)}" for label, size in row)
    return f"{each}, in all {bytes_text(sum(size for _, size in row))}"


def _check(parts: Parts, title: str) -> None:
    if not parts or not all(parts.values()):
        raise NothingToDraw(f"bars_to_scale({title!r}): give at least one row, and each row a segment")
    for name, row in parts.items():
        for label, size in row:
            if not 0 <= size < float("inf"):
                raise NothingToDraw(f"bars_to_scale({title!r}): {name!r}, {label!r} is {size!r} bytes")
