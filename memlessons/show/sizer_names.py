"""Names of sliders for those who hear a page: ipywidgets names a slider only for the eye."""

import anywidget


class SliderNames(anywidget.AnyWidget):
    """Shows nothing. Gives the sliders of its box their name, and what stands beside them as their value.

    Without it a slider is announced by the number of its stop, "79" for 4,096 tokens.
    """

    _esm = """
function say(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function name(box) {
  for (const slider of box.querySelectorAll(".widget-hslider")) {
    const label = slider.querySelector(".widget-label");
    const handle = slider.querySelector(".noUi-handle");
    const readout = slider.querySelector(".widget-readout");
    if (!label || !handle || !readout) continue;
    say(handle, "aria-label", label.textContent);
    say(handle, "aria-valuetext", readout.textContent);
    say(readout, "aria-label", label.textContent + ", as a number");
  }
}

export default {
  render({ el }) {
    const watch = new MutationObserver(() => name(el.parentElement));
    // It joins its box after it was rendered, and so do the sliders.
    const joined = setInterval(() => {
      if (!el.parentElement) return;
      clearInterval(joined);
      name(el.parentElement);
      watch.observe(el.parentElement, {
        attributeFilter: ["aria-valuetext"], characterData: true, childList: true, subtree: true,
      });
    }, 50);
    return () => { clearInterval(joined); watch.disconnect(); };
  },
};
"""
