"""One HTML page for an executed chapter: opens from a folder, live figures, no network.

Figures and formulas come with the page: plotly.js is written into it once, TeX becomes MathML, which
browsers draw by themselves. The colours follow the reader's light or dark setting.
"""

import copy
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode

from .pictures import HEIGHT, alt_text
from .tidy import PLOTLY

_PLOTLY_MARK = "<!-- plotly.js -->"
_TEMPLATE = """\
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_css -%}
<style>@media (prefers-color-scheme: dark) { {{ resources.chapter.dark }} }</style>
<style>{{ resources.chapter.style }}</style>
{{ resources.chapter.plotly_mark }}
{%- endblock -%}
{%- block body_header -%}
{{ super() }}
<nav class="chapter-links" aria-label="Chapters">{{ resources.chapter.links }}</nav>
{%- endblock -%}
"""


@dataclass(frozen=True, slots=True)
class Link:
    """A neighbouring page: its text, and its address relative to this one."""

    text: str
    address: str

    def to_html(self) -> str:
        """The link as HTML."""
        return f'<a href="{html.escape(self.address)}">{html.escape(self.text)}</a>'


class _Renderer(IPythonRenderer):
    """Markdown with formulas as MathML."""

    def inline_math(self, body: str) -> str:
        return _mathml(body, "inline")

    def block_math(self, body: str) -> str:
        return _mathml(body, "block")


def _mathml(tex: str, display: str) -> str:
    from latex2mathml.converter import convert

    return str(convert(tex.strip(), display=display))


class _Exporter(HTMLExporter):
    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Markdown to HTML, with our formulas."""
        renderer = _Renderer(escape=False, exclude_anchor_links=True)
        return MarkdownWithMath(renderer=renderer).render(source)


def page(notebook: NotebookNode, title: str, links: tuple[Link, ...] = ()) -> str:
    """The HTML page of an executed notebook; the notebook is not changed."""
    notebook = copy.deepcopy(notebook)
    notebook.metadata["title"] = title
    figures = _draw_figures(notebook)
    exporter = _Exporter(
        template_file="chapter.html.j2", extra_loaders=[DictLoader({"chapter.html.j2": _TEMPLATE})]
    )
    chapter = {
        "dark": _dark_theme(exporter),
        "style": (resources.files(__package__) / "page.css").read_text(encoding="utf-8"),
        "plotly_mark": _PLOTLY_MARK if figures else "",
        "links": " · ".join(link.to_html() for link in links),
    }
    text, _ = exporter.from_notebook_node(notebook, resources={"chapter": chapter})
    # Put in last: nbconvert parses its result once more, and plotly.js is several megabytes.
    return str(text).replace(_PLOTLY_MARK, _plotly_script(), 1)


def _dark_theme(exporter: HTMLExporter) -> str:
    for folder in exporter.template_paths:
        theme = Path(folder, "static", "theme-dark.css")
        if theme.is_file():
            return theme.read_text(encoding="utf-8")
    return ""


def _plotly_script() -> str:
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def _draw_figures(notebook: NotebookNode) -> int:
    """Replace each plotly output by HTML that draws it; returns how many there were."""
    count = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if PLOTLY in output.get("data", {}):
                count += 1
                output.data = NotebookNode(
                    {"text/html": _figure_html(output.data[PLOTLY], f"figure-{count}")}
                )
    return count


def _figure_html(figure: Mapping[str, Any], name: str) -> str:
    drawn = {key: figure[key] for key in ("data", "layout", "frames") if key in figure}
    drawn["config"] = {**figure.get("config", {}), "responsive": True, "displaylogo": False}
    # "<" would end the script where a text in the figure contains a tag.
    script = json.dumps(drawn).replace("<", "\\u003c")
    height = figure.get("layout", {}).get("height") or HEIGHT
    alt = html.escape(alt_text(figure), quote=True)
    role = f'role="img" aria-label="{alt}"' if alt else ""
    return (
        f'<div class="chapter-figure" {role}><div id="{name}" style="height:{height}px"></div></div>'
        f'<script>Plotly.newPlot("{name}", {script});</script>'
    )
