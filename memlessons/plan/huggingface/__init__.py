"""From a published config.json to a plan: every rule by which configurations say what a model keeps."""

from memlessons.plan.huggingface.build import Reading, from_huggingface, read_huggingface
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.rules import Rule
from memlessons.plan.huggingface.source import load_config

__all__ = [
    "BadConfig", "Reading", "Rule", "UnknownArchitecture", "from_huggingface", "load_config",
    "read_huggingface",
]  # fmt: skip
