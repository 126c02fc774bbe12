"""Building every type and writing down what it keeps."""

import json
import signal
from typing import Any

import transformers

from tests.plan.huggingface import peer, record
from tests.plan.huggingface.peer_types import CHANGES, ON_CPU, TYPES, UNWRITTEN

_SECONDS = 90


def asked(model_type: str, changes: dict[str, Any] | None = None) -> tuple[dict[str, Any], list[peer.Run]]:
    """The configuration of a type as its class writes it, and what a model of it keeps."""
    given = CHANGES.get(model_type, {}) if changes is None else changes
    config = peer.configuration(model_type, given)
    model = peer.build(config, "cpu" if model_type in ON_CPU else "meta")
    written: dict[str, Any] = json.loads(json.dumps(config.to_dict(), default=str))
    return record.trimmed(written) | UNWRITTEN.get(model_type, {}), peer.runs(model, config)


def write_record(names: list[str] | None = None) -> None:
    """Ask for every type, or for these; those that cannot be built or run are recorded with the reason."""
    types: dict[str, Any] = {}
    failed: dict[str, str] = {}
    if names:
        before = record.read()
        types, failed = before["types"], before["failed"]
    signal.signal(signal.SIGALRM, _late)
    for name in names or TYPES:
        types.pop(name, None)
        failed.pop(name, None)
        signal.alarm(_SECONDS)
        try:
            config, runs = asked(name)
            types[name] = {"config": config, "runs": runs}
        except Exception as error:  # what the peer raises is its own affair
            failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
        finally:
            signal.alarm(0)
        print(name, failed.get(name, "ok"), flush=True)
    record.write(transformers.__version__, types, failed)
    print(f"{len(types)} recorded, {len(failed)} not; {record.RECORD.stat().st_size:,} bytes")


def _late(*_: object) -> None:
    raise TimeoutError(f"not done in {_SECONDS} s")
