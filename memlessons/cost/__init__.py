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
from memlessons.cost.errors import ImpossibleWork
from memlessons.cost.roofline import (
    Bound,
    attention_flops,
    decode_bound,
    prefill_bound,
    ridge,
    time_bound,
)
from memlessons.cost.weights_read import WeightsRead, weight_bytes_read, weights_read

__all__ = [
    "Accelerator", "Bound", "ImpossibleWork", "Lengths", "MissingFigure", "UnknownAccelerator", "WeightsRead",
    "accelerators", "attention_flops", "decode_bound", "first_context", "get", "prefill_bound", "ridge",
    "sequences_that_fit", "time_bound", "varied_sequences_that_fit", "weight_bytes_read", "weights_read",
]  # fmt: skip
