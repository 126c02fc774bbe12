"""The theme: readable on both pages and in any colour vision, small, and never without words."""

import itertools
import json

import pytest

from memlessons.show import theme
from memlessons.show.theme import COLOURS, TEXT, FigureWithoutAlt, bundle, describe, escaped, figure, style

PAGES = {"white": "#ffffff", "dark": "#111111"}

# G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, "A physiologically-based model for simulation of
# color vision deficiency", 2009: full severity, linear RGB.
VISION = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def contrast(one, other):
    """WCAG 2: (lighter + 0.05) / (darker + 0.05) of relative luminances."""
    lights = sorted(
        sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x), strict=True)) for x in (one, other)
    )
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def lab(colour, matrix):
    seen = [min(1, max(0, sum(m * c for m, c in zip(row, linear(colour), strict=True)))) for row in matrix]
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    xyz = [sum(m * c for m, c in zip(row, seen, strict=True)) for row in to_xyz]
    f = [
        t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
        for t in (xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089)
    ]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_text_has_the_best_contrast_any_colour_can_have_on_both_pages(page):
    best = contrast("#ffffff", "#111111") ** 0.5
    assert contrast(TEXT, page) > best - 0.02
    assert best == pytest.approx(4.35, abs=0.01)


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("colour", COLOURS)
def test_each_series_colour_stands_out_by_three_to_one_on_both_pages(colour, page):
    assert contrast(colour, page) >= 3.0


@pytest.mark.parametrize("vision", VISION)
def test_series_and_text_stay_apart_in_every_colour_vision(vision):
    colours = [lab(c, VISION[vision]) for c in (*COLOURS, TEXT)]
    nearest = min(
        sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) ** 0.5
        for p, q in itertools.combinations(colours, 2)
    )
    assert nearest > 15  # CIELAB units; about 2.3 is just noticeable


def test_the_simulation_finds_colours_that_are_known_to_be_confused():
    red, green = lab("#c05000", VISION["deuteranopia"]), lab("#7d7500", VISION["deuteranopia"])
    assert sum((a - b) ** 2 for a, b in zip(red, green, strict=True)) ** 0.5 < 15


def test_no_two_series_share_both_colour_and_dash():
    looks = [(style(i).colour, style(i).dash) for i in range(25)]
    assert len(set(looks)) == 25
    for first in range(0, 25, 5):
        group = [style(i) for i in range(first, first + 5)]
        for cue in ("colour", "dash", "symbol", "pattern"):
            assert len({getattr(look, cue) for look in group}) == 5


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_a_figure_without_words_is_refused(alt):
    with pytest.raises(FigureWithoutAlt, match="alt="):
        figure("Speed", "x", "y", alt)
    with pytest.raises(FigureWithoutAlt):
        describe(figure("Speed", "x", "y", "a line"), alt)


def test_a_figure_carries_its_id_and_words_and_no_background():
    fig = figure("Speed", "bytes", "rate", "A line that falls.", id="fig-00")
    assert fig.layout.meta == {"alt": "A line that falls.", "id": "fig-00"}
    assert (fig.id, fig.alt) == ("fig-00", "A line that falls.")
    layout = fig.layout.template.layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.font.color == TEXT
    assert 360 <= fig.layout.height <= 420
    describe(fig, "A line that rises.")
    assert (fig.id, fig.alt) == ("fig-00", "A line that rises.")
    assert figure("Speed", alt="A line.").id is None


def test_a_notebook_stores_the_plot_and_the_words_and_nothing_else():
    fig = figure("Speed", "x", "y", "A line that falls.", id="fig-00")
    fig.add_scatter(x=[1, 2], y=[2, 1])
    shown = fig._repr_mimebundle_()
    assert set(shown) == {theme.PLOTLY_MIMETYPE, "text/plain"}
    assert shown["text/plain"] == "[figure] fig-00: A line that falls."
    assert len(json.dumps(shown)) < 6_000
    assert fig._repr_html_() is None
    assert fig._ipython_display_ is None


def test_in_a_shell_a_figure_is_its_words(capsys):
    fig = figure("Speed", "x", "y", "A line that falls.", id="fig-00")
    fig.show()
    theme.show(fig)
    assert capsys.readouterr().out == "[figure] fig-00: A line that falls.\n" * 2


def test_a_plain_plotly_figure_can_be_shown_too():
    import plotly.graph_objects as go

    assert bundle(go.Figure())["text/plain"] == "[figure] no description"


def test_titles_are_text_not_tags():
    assert escaped("a<b>c $x$\nd & e") == "a&lt;b&gt;c &#36;x&#36;<br>d &amp; e"
    assert figure("<b>", "<i>", "<u>", "words").layout.title.text == "&lt;b&gt;"
