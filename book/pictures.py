"""Static pictures beside plotly's JSON, so that a committed notebook shows its figures anywhere.

Authors only: drawing needs a Chrome or Chromium. One browser process serves all pictures, because
starting it takes seconds and drawing tenths of a second.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from nbformat import NotebookNode

from memlessons.errors import MemlessonsError

from . import browser
from .tidy import PLOTLY

WIDTH, HEIGHT = 800, 450  # pixels, where the figure itself does not say
HEAVY_SVG_BYTES = 60_000
# plotly draws a random number of six hexadecimal digits for the names inside a picture.
_RANDOM_NAME = re.compile(r"(?<![A-Za-z0-9])((?:top)?defs-|clip|legend|trace|[gp])([0-9a-f]{6})(?![0-9a-f])")

Draw = Callable[[Mapping[str, Any], str], bytes]


class NoAltText(MemlessonsError):
    """A figure says nothing to a reader who cannot see it; the message names its cell."""


@contextmanager
def drawing() -> Iterator[Draw]:
    """Start a browser that draws figures; gives `draw(figure, "svg" | "png") -> bytes`.

    Raises NoBrowser where neither BROWSER_PATH nor the search path leads to one.
    """
    import kaleido

    path = browser.find()
    kaleido.start_sync_server(n=1, path=str(path), mathjax=False, silence_warnings=True)

    def draw(figure: Mapping[str, Any], kind: str) -> bytes:
        layout = figure.get("layout", {})
        size = {"width": layout.get("width") or WIDTH, "height": layout.get("height") or HEIGHT}
        options = {"format": kind, "scale": 2 if kind == "png" else 1, **size}
        picture: bytes = kaleido.calc_fig_sync(dict(figure), opts=options)
        return picture

    try:
        yield draw
    finally:
        kaleido.stop_sync_server(silence_warnings=True)


def alt_text(figure: Mapping[str, Any]) -> str:
    """What a figure shows, in words: `layout.meta.alt`, or an empty text."""
    meta = figure.get("layout", {}).get("meta")
    return str(meta.get("alt", "")) if isinstance(meta, Mapping) else ""


def add_pictures(notebook: NotebookNode, draw: Draw) -> int:
    """Add to each plotly output, in place, a static picture and the alt text; returns how many.

    The picture is SVG, or PNG at twice the size where the SVG is heavier than that. Raises NoAltText.
    """
    count = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PLOTLY not in output.get("data", {}):
                continue
            figure = output.data[PLOTLY]
            alt = alt_text(figure)
            if not alt:
                raise NoAltText(
                    f"the figure in cell {cell.id!r} has no alt text: set layout.meta = {{'alt': '...'}}, "
                    "as memlessons.show does"
                )
            _add_picture(output, figure, alt, draw)
            count += 1
    return count


def _add_picture(output: NotebookNode, figure: Mapping[str, Any], alt: str, draw: Draw) -> None:
    picture = _stable(draw(figure, "svg").decode("utf-8"), figure)
    kind, content = "image/svg+xml", _labelled(picture, alt)
    if len(picture.encode("utf-8")) > HEAVY_SVG_BYTES:
        png = draw(figure, "png")
        if len(png) * 4 / 3 < len(picture.encode("utf-8")):
            kind, content = "image/png", base64.b64encode(png).decode("ascii")
    output.data[kind] = content
    output.data["text/plain"] = alt
    output.metadata[kind] = {"alt": alt}


def _stable(svg: str, figure: Mapping[str, Any]) -> str:
    """The same picture with names that follow from the figure, so that equal figures give equal bytes."""
    seed = hashlib.sha256(json.dumps(figure, sort_keys=True).encode()).hexdigest()
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        prefix, random = match.groups()
        fresh = hashlib.sha256(f"{seed}{len(names)}".encode()).hexdigest()[:6]
        return prefix + names.setdefault(random, fresh)

    return _RANDOM_NAME.sub(rename, svg)


def _labelled(svg: str, alt: str) -> str:
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(alt, quote=True)}" ', 1)
