"""A state to take along: as Python, as an engine's flags, and a field that copies either.

The field is a widget of its own, because a page runs no script that stands in an output's HTML.
"""

from typing import Any

import anywidget
import traitlets

from memlessons.errors import MemlessonsError
from memlessons.show.sizer_state import SizerState
from memlessons.sizing.export import as_python, flags
from memlessons.sizing.whatif import Edit

_OWN_FILE = "config.json"


def python_text(state: SizerState) -> str:
    """Lines of Python that give the numbers of this state."""
    path = None if state.config is None else _OWN_FILE
    return as_python(state.published(), _taken(state), path=path)


def flags_text(state: SizerState) -> str:
    """The command that serves this state, of vLLM where no engine is chosen; or why there is none."""
    engine = "vllm" if state.engine == "ideal" else state.engine
    try:
        command = flags(state.question(), engine)
    except MemlessonsError as error:
        return f"# {error}"
    shapes = [edit.name for edit in _taken(state) if edit.kind != "format"]
    return "\n".join([*(f"# no flag does this to a trained model: {name}" for name in shapes), command])


def _taken(state: SizerState) -> list[Edit]:
    """The edits that the model could take."""
    steps = zip(state.edits, state.waterfall()[1:], strict=True)
    return [edit for edit, step in steps if not step.refused]


class CopyField(anywidget.AnyWidget):
    """Two buttons and a field: a button puts its text into the field, selects it, and copies it if it may."""

    python = traitlets.Unicode("").tag(sync=True)
    flags = traitlets.Unicode("").tag(sync=True)
    _esm = """
const NAMES = [["copy as Python", "python"], ["copy as flags", "flags"]];

async function copied(field) {
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch (refused) {
    // Without a secure page or permission there is no clipboard; the older way needs a selection.
    try { return document.execCommand("copy"); } catch (unknown) { return false; }
  }
}

export default {
  render({ model, el }) {
    let shown = "python";
    const row = document.createElement("div");
    const field = document.createElement("textarea");
    const status = document.createElement("span");
    const fill = () => {
      field.value = model.get(shown);
      field.rows = field.value.split("\\n").length + 1;
      status.textContent = "";
    };
    for (const [label, name] of NAMES) {
      const button = document.createElement("button");
      button.textContent = label;
      button.className = "jupyter-button lm-Widget";
      button.style.cssText = "margin: 2px 8px 2px 0; padding: 0 12px; min-height: 28px";
      button.addEventListener("click", async () => {
        shown = name;
        fill();
        field.focus();
        field.select();
        status.textContent = (await copied(field)) ? "copied" : "selected: press Ctrl+C, or Cmd+C on a Mac";
      });
      row.append(button);
    }
    status.setAttribute("role", "status");
    field.readOnly = true;
    field.spellcheck = false;
    field.setAttribute("aria-label", "this state as text");
    field.style.cssText = "box-sizing: border-box; width: 100%; max-width: 720px; font-family: monospace; " +
      "font-size: 12px; color: inherit; background: transparent; border: 1px solid #797979";
    row.append(status);
    el.append(row, field);
    fill();
    model.on("change:python", fill);
    model.on("change:flags", fill);
    // The figure above follows the window only, and no window changes when a side panel opens. And once
    // its height was changed, it holds on to the width of that moment.
    const fit = () => {
      for (const plot of el.parentElement?.querySelectorAll(".js-plotly-plot") ?? []) {
        const drawn = plot.querySelector(".main-svg");
        if (!drawn || Math.abs(drawn.clientWidth - plot.clientWidth) <= 1) continue;
        delete plot.layout?.width;
        window.dispatchEvent(new Event("resize"));
      }
    };
    const fitSoon = () => setTimeout(fit, 500);
    model.on("change:python", fitSoon);
    const width = new ResizeObserver(fit);
    width.observe(el);
    return () => {
      width.disconnect();
      model.off("change:python", fitSoon);
      model.off("change:python", fill);
      model.off("change:flags", fill);
    };
  },
};
"""

    def put(self, state: SizerState) -> None:
        """Offer this state."""
        texts: dict[str, Any] = {"python": python_text(state), "flags": flags_text(state)}
        with self.hold_sync():
            self.set_trait("python", texts["python"])
            self.set_trait("flags", texts["flags"])
