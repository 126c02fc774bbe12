"""Controls for a model of the reader's own: its config.json, pasted or uploaded."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from memlessons.plan.huggingface import BadConfig
from memlessons.plan.huggingface.source import MOST_BYTES


class OwnModel:
    """A field for a configuration's text and a button that fills it from a file, both in `panel`.

    `on_text` is called with the text, or None where the field is empty; `on_error` with what is wrong with a
    file.
    """

    def __init__(self, on_text: Callable[[str | None], None], on_error: Callable[[Exception], None]) -> None:
        self._on_text, self._on_error = on_text, on_error
        self._quiet = False
        self.text = ipywidgets.Textarea(
            description="config.json", placeholder="paste a model's config.json here",
            rows=5, style={"description_width": "84px"}, layout={"width": "330px"},
        )  # fmt: skip
        self.file = ipywidgets.FileUpload(
            description="or upload a file", accept=".json,application/json", multiple=False,
            layout={"width": "auto", "margin": "2px 2px 2px 92px"},
        )  # fmt: skip
        self.panel = ipywidgets.VBox([self.text, self.file])
        self.text.observe(self._typed, names="value")
        self.file.observe(self._uploaded, names="value")

    def put(self, config: str | None, *, open: bool) -> None:
        """Show this text, if any, and the field only if `open`."""
        self._quiet = True
        try:
            if config is not None:
                self.text.value = config
        finally:
            self._quiet = False
        self.panel.layout.display = None if open else "none"

    @property
    def config(self) -> str | None:
        """The text in the field; None where there is none."""
        return self.text.value if self.text.value.strip() else None

    def _typed(self, _: Any) -> None:
        if not self._quiet:
            self._on_text(self.config)

    def _uploaded(self, event: Any) -> None:
        if not event["new"]:
            return
        try:
            self.text.value = decoded(event["new"][0]["name"], bytes(event["new"][0]["content"]))
        except BadConfig as error:
            self._on_error(error)


def decoded(name: str, content: bytes) -> str:
    """The text of an uploaded file; BadConfig where it is too large or no text."""
    if len(content) > MOST_BYTES:
        raise BadConfig(f"{name[:80]} has {len(content):,} bytes: a configuration has at most {MOST_BYTES:,}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadConfig(f"{name[:80]} is no text: it is not UTF-8") from None
