"""What moving, keeping and recomputing memory costs: data-sheet figures and bounds in seconds.

Pure Python: imports neither torch nor numpy.
"""

from memlessons.cost.accelerators import Accelerator, MissingFigure, UnknownAccelerator, accelerators, get
from memlessons.cost.roofline import (
    Bound,
    ImpossibleWork,
    attention_flops,
    decode_bound,
    prefill_bound,
    ridge,
    time_bound,
    weight_bytes_read,
)

__all__ = [
    "Accelerator", "Bound", "ImpossibleWork", "MissingFigure", "UnknownAccelerator", "accelerators",
    "attention_flops", "decode_bound", "get", "prefill_bound", "ridge", "time_bound", "weight_bytes_read",
]  # fmt: skip
