"""An answer as plain values, for --json: every number with its unit in its name."""

from typing import Any

from memlessons.cost import Bound
from memlessons.sizing.answer import Answer
from memlessons.sizing.times import band

FORM = "memlessons.size/1"


def plain(found: Answer) -> dict[str, Any]:
    """The answer as dictionaries, lists and numbers; what could not be computed is null."""
    q, weights = found.question, found.question.weights
    return {
        "form": FORM,
        "model": q.model.name,
        "source": q.model.source,
        "context_tokens": q.context,
        "sequences": q.batch,
        "kv_dtype": q.kv_dtype,
        "devices": q.tp,
        "card": None if q.card is None else q.card.name,
        "engine": q.engine,
        "longest_context": q.model.longest_context,
        "layers": [
            {
                "name": group.name,
                "layers": group.layers,
                "rule": group.rule,
                "bytes_per_sequence": group.bytes_per_sequence,
                "bytes_per_next_token": group.bytes_per_token,
                "bytes_read_per_step": group.read_bytes,
            }
            for group in found.groups
        ],
        "kv_bytes": found.kv_bytes,
        "kv_bytes_per_sequence": found.kv_per_sequence,
        "kv_bytes_per_device": found.kv_per_device,
        "kv_bytes_all_devices": found.kv_cluster,
        "kv_bytes_per_next_token": found.slope,
        "kv_bytes_per_token_average": found.average,
        "constant_bytes_per_sequence": found.constant_bytes,
        "weights": None
        if weights is None
        else {
            "stored_bytes": weights.stored_bytes,
            "bytes_per_device": found.weights_per_device,
            "parameters": weights.parameters,
            "active_parameters": weights.active_parameters,
            "source": weights.source,
        },
        "engines": {
            engine.engine: {
                "bytes_per_device": engine.device_bytes,
                "bytes_all_devices": engine.cluster_bytes,
                "why": engine.why or engine.reason,
                "parts": [
                    {
                        "name": each.name,
                        "layers": each.part.layers,
                        "cells": each.part.cells,
                        "bytes": each.part.bytes,
                        "kept_cells": each.kept_cells,
                        "kept_bytes": each.kept_bytes,
                        "why": each.why,
                    }
                    for each in engine.parts
                ],
                "assumed": list(engine.assumed),
            }
            for engine in found.engines
        },
        "reserved_bytes_per_device": found.reserved,
        "reserve_bytes": q.reserve_bytes,
        "card_bytes": found.card_bytes,
        "needed_bytes_per_device": found.needed_per_device,
        "fits": found.fits,
        "sequences_that_fit": found.sequences_fit,
        "varied_sequences_that_fit": found.varied_fit,
        "crossing_tokens": found.crossing,
        "sequences_to_outweigh_weights": found.sequences_to_outweigh,
        "decode_step": None
        if found.step is None
        else {
            **_bound(found.step.bound),
            "weight_bytes_read": found.step.weight_bytes,
            "kv_bytes_read": found.step.kv_bytes,
        },
        "first_token": None if found.first_token is None else _bound(found.first_token),
        "dominates": found.dominates,
        "notes": list(found.notes),
    }


def _bound(bound: Bound) -> dict[str, Any]:
    low, high = band(bound.seconds)
    return {
        "least_seconds": bound.seconds,
        "expected_seconds": [low, high],
        "limit": bound.limit,
        "flops": bound.flops,
        "bytes_moved": bound.bytes_moved,
    }
