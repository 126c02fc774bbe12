"""One HTML file that needs nothing beside it: the figure with its script, its words, and the table."""

import html
from pathlib import Path

from memlessons.files import write_whole
from memlessons.show.theme import Figure

_LOOK = """
:root { color-scheme: light dark; }
body { font-family: system-ui, sans-serif; max-width: 62rem; margin: 1.5rem auto; padding: 0 1rem; }
pre { overflow-x: auto; line-height: 1.35; }
.alt { font-size: 0.9rem; opacity: 0.8; }
"""


def write_page(path: Path, title: str, fig: Figure, table: str, notes: str) -> Path:
    """Write the figure, what it shows in words, the table and notes under it; returns the path."""
    drawn = fig.to_html(
        full_html=False, include_plotlyjs=True, config={"displaylogo": False, "responsive": True}
    )
    text = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_LOOK}</style></head>\n'
        f"<body>\n{drawn}\n<p>{html.escape(notes)}</p>\n<pre>{html.escape(table)}</pre>\n"
        f'<details class="alt"><summary>The figure in words</summary>{html.escape(fig.alt)}</details>\n'
        "</body></html>\n"
    )
    write_whole(path, text)
    return path
