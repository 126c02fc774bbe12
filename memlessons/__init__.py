"""memlessons: how language models remember, and what it costs.

The value `memlessons.plan.MemoryPlan` says what each layer keeps; everything else prices it, builds
it, runs it and measures it.
"""

from pathlib import Path as _Path

__version__ = "0.1.0"

# A source tree that was not installed: `kernels/` and `book/` stand beside the package, not in it.
_tree = _Path(__file__).resolve().parent.parent
if not (_tree / "memlessons" / "kernels").is_dir() and (_tree / "kernels" / "__init__.py").is_file():
    __path__.append(str(_tree))


def lesson(number: str) -> None:
    """Prepare this kernel for a chapter; the first line of every notebook.

    Where Triton is installed and no GPU is present, it switches Triton's interpreter on, which must
    happen before Triton is first imported; where there is no Triton, cells that need it show what was
    recorded of them. Imports neither torch nor triton itself.
    """
    from memlessons.places import prepare_lesson
    from memlessons.recorded import stand_in_for_triton

    prepare_lesson(number)
    stand_in_for_triton()
