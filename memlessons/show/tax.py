"""When does the memory outweigh the model? Several models, and one line at which each would.

Flat weights and rising caches of five models would be ten lines that cross at five heights. Each cache
is drawn as a multiple of its own model's weights instead: all weights are then one line, at 1, and the
eye has one place to look for a crossing.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from memlessons.cost import first_context, weight_bytes_read
from memlessons.plan import presets as known
from memlessons.plan.presets import Preset
from memlessons.show.axes import set_axis
from memlessons.show.curves import NothingToDraw
from memlessons.show.labels import LINE_PIXELS, End, label_ends, spread
from memlessons.show.theme import FONT_SIZE, TEXT, Figure, Style, escaped, figure, style
from memlessons.show.values import number_text

_SHORTEST = 1024
_LEAST = 1e-4
_FAINT = 0.45
_CHARACTER_PIXELS = 6.6
# A page may be wider; labels that keep apart at this width keep apart at any greater one.
_PLOT_PIXELS = 480.0


def tax_figure(
    presets: Sequence[str], *, batch: int = 1, longest: int = 10_000_000, id: str | None = "fig-02"
) -> Figure:
    """K and V that one decode step of `batch` readers reads, as a multiple of the model's weights.

    Against the context of each reader, up to `longest` tokens, log against log; one line for each preset
    name. Where a line reaches 1, the memory is as heavy as the weights: that context is written there. A
    line is faint beyond the context its model was trained to read, which a bar marks. Of a mixture of
    experts a small batch reads only a part of the weights; a thin second line compares with that part.
    Raises NothingToDraw, UnknownPreset.
    """
    models = [known.get(name) for name in presets]
    if not models or batch < 1 or longest < 2 * _SHORTEST:
        raise NothingToDraw(
            f"tax_figure({list(presets)!r}, batch={batch}, longest={longest}): needs a preset, "
            f"a batch of at least 1 and a longest context of at least {2 * _SHORTEST:,}"
        )
    drawn = [
        _Line(name, model, weights, style(number))
        for number, model in enumerate(models)
        for name, weights in _weights(model, batch).items()
    ]
    readers = f"{batch:,} reader{'s' * (batch > 1)}"
    fig = figure(
        "When does the memory outweigh the model?",
        "context of each reader (tokens)" if batch > 1 else "context (tokens)",
        "K and V read, for each byte of weights",
        _words(drawn, batch),
        id=id,
        height=460,
        subtitle=f"one decode step, {readers}; a line is faint where its model was not trained to read",
    )
    met = [(line, crossing) for line in drawn if (crossing := line.crossing(batch)) is not None]
    first = min([_SHORTEST, *(crossing for _, crossing in met)])
    span = (2 ** (first.bit_length() - 1), longest)
    set_axis(fig, "x", "tokens", *span, log=True)
    most = max(line.ratio(batch, longest) for line in drawn)
    heights = set_axis(fig, "y", "number", _LEAST, max(most, 10.0) * 1.5, log=True)
    _balance(fig, span)
    ends = [End("the weights", math.log10(longest), 0.0, TEXT)]
    for line in drawn:
        _draw(fig, line, batch, span)
        height = math.log10(max(line.ratio(batch, longest), _LEAST))
        ends.append(End(line.name, math.log10(longest), height, line.look.colour))
    _mark(fig, [(line, crossing) for line, crossing in met if crossing <= longest], span)
    label_ends(fig, ends, heights, widest=16)
    return fig


class _Line(NamedTuple):
    """One model's K and V against `weights` bytes."""

    name: str
    model: Preset
    weights: int
    look: Style

    @property
    def whole(self) -> bool:
        return self.weights == self.model.weights.stored_bytes

    def ratio(self, batch: int, context: int) -> float:
        return batch * self.model.plan.bytes_read(context) / self.weights

    def crossing(self, batch: int) -> int | None:
        return first_context(lambda n: batch * self.model.plan.bytes_read(n), self.weights)


def _weights(model: Preset, batch: int) -> dict[str, int]:
    """The weights to compare with: all of them and, of a mixture, those that a step reads."""
    stored, read = model.weights.stored_bytes, weight_bytes_read(model.weights, batch)
    # Tables that are looked up are never read whole; what is asked here is whether experts sleep.
    asleep = read < 0.999 * (stored - model.weights.lookup_bytes)
    part = {f"{model.name}, experts in use": read} if asleep else {}
    return {model.name: stored, **part}


def _draw(fig: Figure, line: _Line, batch: int, span: tuple[int, int]) -> None:
    trained = min(max(line.model.longest_context, span[0]), span[1])
    name = escaped(line.name)
    for low, high, opacity in ((span[0], trained, 1.0), (trained, span[1], _FAINT)):
        x = _contexts(low, high)
        y = [line.ratio(batch, n) for n in x]
        pen = {
            "color": line.look.colour,
            "dash": "solid" if line.whole else "dot",
            "width": 2.5 if line.whole else 1.5,
        }
        said = [f"{name}: {number_text(b)} at {a:,} tokens" for a, b in zip(x, y, strict=True)]
        fig.add_trace(
            go.Scatter(x=x, y=y, name=name, mode="lines", line=pen, opacity=opacity, **_hover(said))
        )
    if line.whole and trained < span[1]:
        bar = {"symbol": "line-ns", "size": 15, "line": {"color": line.look.colour, "width": 3}}
        said = [f"{name} was trained to read {trained:,} tokens"]
        y = [line.ratio(batch, trained)]
        fig.add_trace(
            go.Scatter(x=[trained], y=y, name="trained to read", mode="markers", marker=bar, **_hover(said))
        )


def _contexts(low: int, high: int) -> list[int]:
    """Contexts from low to high, 8 an octave, so that the corner of a window is seen as one."""
    if high <= low:
        return [low]
    steps = max(2, round(8 * math.log2(high / low)))
    return sorted({round(low * (high / low) ** (i / steps)) for i in range(steps + 1)})


def _balance(fig: Figure, span: tuple[int, int]) -> None:
    line = {"color": TEXT, "dash": "dash", "width": 2}
    fig.add_trace(
        go.Scatter(x=list(span), y=[1, 1], name="weights", mode="lines", line=line, hoverinfo="name")
    )


def _mark(fig: Figure, met: Sequence[tuple[_Line, int]], span: tuple[int, int]) -> None:
    """A mark where a line reaches 1, and the context below it, moved aside where two are close."""
    scale = _PLOT_PIXELS / math.log2(span[1] / span[0])
    centres = [math.log2(crossing / span[0]) * scale for _, crossing in met]
    texts = [f"{crossing:,}" for _, crossing in met]
    wide = [len(text) * _CHARACTER_PIXELS + 8 for text in texts]
    # Right of its line, where there is nothing: the lines all rise to the right.
    wanted = [centre + width / 2 for centre, width in zip(centres, wide, strict=True)]
    places = spread(wanted, wide, 0, _PLOT_PIXELS)
    for (line, crossing), text, centre, place in zip(met, texts, centres, places, strict=True):
        colour = line.look.colour
        fig.add_annotation(
            x=math.log10(crossing),
            y=0,
            xshift=place - centre,
            yshift=2 - LINE_PIXELS,
            text=f"<b>{text}</b>",
            font={"color": colour, "size": FONT_SIZE - 1},
        )
        mark = {"symbol": f"{line.look.symbol}-open", "size": 10, "color": colour, "line": {"width": 2.5}}
        said = [f"{escaped(line.name)}: as heavy as the weights at {crossing:,} tokens"]
        fig.add_trace(
            go.Scatter(x=[crossing], y=[1], name="crossing", mode="markers", marker=mark, **_hover(said))
        )


def _hover(said: Sequence[str]) -> dict[str, Any]:
    return {"customdata": list(said), "hovertemplate": "%{customdata}<extra></extra>"}


def _words(drawn: Sequence[_Line], batch: int) -> str:
    said = []
    for line in drawn:
        crossing = line.crossing(batch)
        where = "never" if crossing is None else f"at {crossing:,} tokens"
        said.append(f"{line.name} {where} (trained to read {line.model.longest_context:,})")
    return (
        f"K and V that one decode step reads, for {batch:,} reader{'s' * (batch > 1)}, as a multiple of the "
        "model's weights, against context, both axes logarithmic. The lines rise in proportion to the "
        f"context; where there are only windows, they stop. The weights are reached: {'; '.join(said)}."
    )
