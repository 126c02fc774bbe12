"""Pictures of whole built pages, in light and dark, for an author to look at."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_WIDTH, _HEIGHT = 1100, 1600  # pixels of the window, and of one picture


def take_screens(built: Path, names: Sequence[str], to: Path) -> Iterator[Path]:
    """Open each built page from its folder, without a network, and write its pictures into `to`.

    They are called NAME.SCHEME.1.png and so on, from top to bottom. Needs playwright and a Chromium.
    Pages that were not built are left out; the contents page is always among them. Raises NoBrowser.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=str(browser.find()), args=list(browser.FLAGS))
        for scheme in SCHEMES:
            context = chromium.new_context(
                color_scheme=scheme, offline=True, viewport={"width": _WIDTH, "height": _HEIGHT}
            )
            page = context.new_page()
            for name in ("index", *names):
                path = built / f"{name}.html"
                if path.is_file():
                    page.goto(path.absolute().as_uri())
                    page.wait_for_timeout(500)  # plotly sizes its figures after the first layout
                    height = int(page.evaluate("document.body.getBoundingClientRect().bottom"))
                    yield from in_parts(page, height, to / f"{name}.{scheme}")
            context.close()
        chromium.close()


def in_parts(page: "Page", height: int, to: Path) -> Iterator[Path]:
    """Pictures of a page, each at most 1,600 pixels high, as TO.1.png, TO.2.png ... ; returns their paths.

    One picture of a whole chapter would be too long to look at.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    for stale in to.parent.glob(f"{to.name}.*.png"):
        stale.unlink()
    width = int(page.evaluate("window.innerWidth"))
    for number, top in enumerate(range(0, height, _HEIGHT), start=1):
        picture = to.with_name(f"{to.name}.{number}.png")
        rest = min(_HEIGHT, height - top)
        page.screenshot(path=picture, full_page=True, clip={"x": 0, "y": top, "width": width, "height": rest})
        yield picture
