"""What a model remembers, as a value: which state each layer keeps, and in what form.

Pure Python: imports neither torch nor numpy, so it starts in milliseconds and runs in a browser.
"""

from memlessons.plan.errors import InvalidPlan, PlanMismatch
from memlessons.plan.formats import BF16, F16, F32, F64, FORMATS, FP8, INT4, INT8, Format
from memlessons.plan.layer import Layer
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.presets import Preset, full_attention
from memlessons.plan.store import Store
from memlessons.plan.text import LayerGroup
from memlessons.plan.weights import Weights

__all__ = [
    "BF16", "F16", "F32", "F64", "FORMATS", "FP8", "INT4", "INT8", "Format", "InvalidPlan", "Layer",
    "LayerGroup", "MemoryPlan", "PlanMismatch", "Preset", "Store", "Weights", "full_attention",
]  # fmt: skip
