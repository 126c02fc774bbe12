"""All configurations that rules are tried on: published figures, the peer's types, and derived ones."""

import json
from pathlib import Path
from typing import Any

from memlessons.plan.truths import named_rows, read_rows
from tests.plan.huggingface import record
from tests.plan.huggingface.legacy import LEGACY

DERIVED = Path(__file__).with_name("derived.jsonl")
_UNKNOWN_ORIGIN = Path(__file__).parents[1] / "truths" / "unknown_origin.jsonl"


def derived() -> dict[str, dict[str, Any]]:
    """The rows of derived.jsonl by their names."""
    rows = [json.loads(line) for line in DERIVED.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {row["name"]: row for row in rows}


def configurations() -> dict[str, dict[str, Any]]:
    """Each configuration by a name that says where it is from."""
    found = {f"derived {name}": row["config"] for name, row in derived().items()}
    for row in [*named_rows(), *read_rows(_UNKNOWN_ORIGIN)]:
        found[f"truth {row.id}"] = dict(row.config)
    for i, (model_type, fields) in enumerate(LEGACY):
        found[f"legacy {i} {model_type}"] = {"model_type": model_type} | fields
    for name, entry in record.read()["types"].items():
        found[f"peer {name}"] = entry["config"]
    return found
