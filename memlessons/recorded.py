"""Cells that need Triton, on systems that have none: what they said where they ran is shown instead.

Such a cell begins with the line MARK. Where Triton is missing (macOS, Windows), `memlessons.lesson` makes
the notebook show the outputs that the committed chapter holds for that very cell, and say that it does.
"""

import importlib.util
import json
import sys
from collections.abc import Iterator
from typing import Any

from memlessons.places import book_folder

MARK = "# needs Triton"
SAID = "Triton does not run on this system; it exists for Linux. Below is what this cell gave where it ran."
EDITED = (
    "This cell needs Triton, which does not run on this system. For the cell as it came, "
    "its recorded output would stand here; this one was changed."
)


def stand_in_for_triton() -> None:
    """Make marked cells of a running notebook show their recorded outputs, if there is no Triton here."""
    ipython = sys.modules.get("IPython")
    shell = (
        ipython.get_ipython() if ipython is not None and importlib.util.find_spec("triton") is None else None
    )
    if shell is not None:
        install(shell)


def install(shell: Any) -> None:
    """From now on, marked cells of this IPython shell show their recorded outputs; once is enough."""
    if instead not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(instead)


def instead(lines: list[str]) -> list[str]:
    """The lines of a cell, or, of a marked one, a call that shows what was recorded of it."""
    if not lines or lines[0].strip() != MARK:
        return lines
    return ["from memlessons.recorded import show_recorded\n", f"show_recorded({''.join(lines)!r})\n"]


def show_recorded(source: str) -> None:
    """Show the committed outputs of the cell with this source, as this notebook's own."""
    outputs = next(_outputs(source.strip()), None)
    print(EDITED if outputs is None else SAID)
    for output in outputs or []:
        if output["output_type"] == "stream":
            print("".join(output["text"]), end="")
        elif "data" in output:
            _publish({kind: _text(data) for kind, data in output["data"].items()})


def _outputs(source: str) -> Iterator[list[dict[str, Any]]]:
    for path in sorted(book_folder().glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code" and _text(cell["source"]).strip() == source:
                yield cell["outputs"]


def _text(data: Any) -> Any:
    return "".join(data) if isinstance(data, list) and all(isinstance(x, str) for x in data) else data


def _publish(bundle: dict[str, Any]) -> None:
    from IPython import get_ipython  # only a notebook comes here

    shell = get_ipython()  # type: ignore[no-untyped-call]
    if shell is None:
        print(bundle.get("text/plain", ""))
    else:
        shell.display_pub.publish(data=bundle, metadata={})
