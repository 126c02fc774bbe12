"""What moving, keeping and recomputing memory costs: data-sheet figures and bounds in seconds.

Pure Python: imports neither torch nor numpy.
"""

from memlessons.cost.accelerators import Accelerator, MissingFigure, UnknownAccelerator, accelerators, get
from memlessons.cost.capacity import (
    Lengths,
    first_context,
    sequences_that_fit,
    varied_sequences_that_fit,
)
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
    "Accelerator", "Bound", "ImpossibleWork", "Lengths", "MissingFigure", "UnknownAccelerator",
    "accelerators", "attention_flops", "decode_bound", "first_context", "get", "prefill_bound", "ridge",
    "sequences_that_fit", "time_bound", "varied_sequences_that_fit", "weight_bytes_read",
]  # fmt: skip
