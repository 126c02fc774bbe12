"""What a reader sees: prose from measured values, figures, tables and the scoreboard.

Names load on first use, so that prose does not wait for the drawing library. The scoreboard has a module
of its own: `from memlessons.show.scoreboard import ledger, scoreboard`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memlessons.show.bars import bars_to_scale
    from memlessons.show.curves import Curve, lines, panels
    from memlessons.show.diagrams import tiers_picture, triangle
    from memlessons.show.guesses import predict, reveal
    from memlessons.show.picture import memory_picture
    from memlessons.show.prose import claim, folded, show_source, table
    from memlessons.show.rooflines import roofline
    from memlessons.show.shell import code_span, say
    from memlessons.show.sizer import CacheSizer
    from memlessons.show.sizer_picture import sizer_figure
    from memlessons.show.sizer_state import SizerState
    from memlessons.show.tax import tax_figure
    from memlessons.show.theme import Figure, figure, figure_theme, show
    from memlessons.show.working_set import staircase

__all__ = [
    "CacheSizer", "Curve", "Figure", "SizerState", "bars_to_scale", "claim", "code_span", "figure",
    "figure_theme", "folded", "lines", "memory_picture", "panels", "predict", "reveal", "roofline", "say",
    "show", "show_source", "sizer_figure", "staircase", "table", "tax_figure", "tiers_picture", "triangle",
]  # fmt: skip

_HOME = {
    "bars": ("bars_to_scale",),
    "curves": ("Curve", "lines", "panels"),
    "diagrams": ("tiers_picture", "triangle"),
    "guesses": ("predict", "reveal"),
    "picture": ("memory_picture",),
    "prose": ("claim", "folded", "show_source", "table"),
    "rooflines": ("roofline",),
    "shell": ("code_span", "say"),
    "sizer": ("CacheSizer",),
    "sizer_picture": ("sizer_figure",),
    "sizer_state": ("SizerState",),
    "tax": ("tax_figure",),
    "theme": ("Figure", "figure", "figure_theme", "show"),
    "working_set": ("staircase",),
}
_MODULES = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
