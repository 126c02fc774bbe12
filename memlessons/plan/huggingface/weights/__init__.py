"""Weights by rule: parameters, active parameters and stored bytes of a model from its config.json."""

from memlessons.plan.huggingface.weights.count import ledger_of, parts_of, stored_of, weights_of, why_not
from memlessons.plan.huggingface.weights.registry import known_types
from memlessons.plan.huggingface.weights.stored import Stored

__all__ = ["Stored", "known_types", "ledger_of", "parts_of", "stored_of", "weights_of", "why_not"]
