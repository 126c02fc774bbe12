"""A result made of numbers that a reader can check in the head."""

from memlessons.device.contestants import Contestant
from memlessons.device.field import Roof
from memlessons.device.result import Result, result_of
from memlessons.measure import Timing

GB = 10**9
PROVENANCE = {"device": "A <CPU>", "date": "2026-01-31T12:00:00+00:00", "commit": "abc", "versions": {}}


def nothing() -> None:
    """What is never called."""


def a_result(mha: list[float] | None = None, **facts: object) -> Result:
    """Reads 10 GB/s, copies 8, multiplies 100 GFLOP/s; MHA by us and by torch, MQA by us."""
    roofs = {"read": Roof(nothing, GB), "copy": Roof(nothing, GB), "multiply": Roof(nothing, 10 * GB)}
    field = [
        Contestant("MHA", "memlessons", nothing, GB // 2, GB // 4),
        Contestant("MHA", "torch", nothing, GB // 2, GB // 4, "FLASH"),
        Contestant("MQA", "memlessons", nothing, GB // 100, GB // 5),
    ]
    times = {
        "read": [0.1, 0.1, 0.1],
        "copy": [0.125, 0.125, 0.125],
        "multiply": [0.1, 0.1, 0.1],
        "MHA, memlessons": mha or [0.0625, 0.1, 0.05],
        "MHA, torch": [0.125, 0.2, 0.2],
        "MQA, memlessons": [0.004, 0.004, 0.004],
    }
    told = {"tokens": 8192, "dtype": "float32", "threads": 2, "memory_bytes": 2**33, "quick": False}
    told |= {"caches": [["L2", 2**19, 2], ["L3", 2**25, 1]], "sequences": {}, "product_width": 4096} | facts
    left_out = {"GQA int8, torch": "torch's attention takes no int8 memory"}
    return result_of({n: Timing.of(s) for n, s in times.items()}, field, roofs, told, PROVENANCE, left_out)
