"""The model, and room for what lessons keep on disk."""

import shlex

from memlessons.doctor.check import Check
from memlessons.doctor.facts import Facts, Space
from memlessons.errors import MemlessonsError
from memlessons.units import GIB, MIB, bytes_text

# The model (94 MiB) and its dequantised weights (514 MiB), with room for a second one.
CACHE_NEEDS, CACHE_WANTS = 700 * MIB, 2 * GIB
WORK_NEEDS, WORK_WANTS = 20 * MIB, 200 * MIB


def check_model(facts: Facts) -> Check:
    """SmolLM2 lies where lessons look for it."""
    fetch = shlex.join([facts.executable, "-m", "memlessons", "fetch", "smollm2"])
    try:
        from memlessons.model.fetch import locate
    except ImportError as error:
        return Check("model SmolLM2", "WARN", f"cannot be looked for: {error}", fetch)
    try:
        path = locate("smollm2")
    except MemlessonsError:
        return Check("model SmolLM2", "WARN", "not fetched yet (94 MiB, once)", fetch)
    except OSError as error:
        return Check("model SmolLM2", "FAIL", str(error), fetch)
    return Check("model SmolLM2", "PASS", f"{bytes_text(path.stat().st_size)} at {path}")


def _room(name: str, place: Space | None, needs: int, wants: int, variable: str) -> Check:
    if place is None:
        return Check(name, "WARN", "not looked at")
    text = f"{bytes_text(place.free_bytes)} free at {place.folder}"
    elsewhere = f"export {variable}=/a/folder/with/room"
    if not place.writable:
        return Check(name, "FAIL", f"{place.folder} cannot be written", elsewhere)
    if place.free_bytes < needs:
        return Check(name, "FAIL", f"{text}, {bytes_text(needs)} are needed", elsewhere)
    if place.free_bytes < wants:
        return Check(name, "WARN", f"{text}; {bytes_text(wants)} would be comfortable", elsewhere)
    return Check(name, "PASS", text)


def check_cache_room(facts: Facts) -> Check:
    """Room for models in the cache folder."""
    return _room("disk for models", facts.cache, CACHE_NEEDS, CACHE_WANTS, "MEMLESSONS_CACHE")


def check_work_room(facts: Facts) -> Check:
    """Room for notebooks in the work folder."""
    return _room("disk for work", facts.work, WORK_NEEDS, WORK_WANTS, "MEMLESSONS_WORK")
