"""Why a layer takes more or less than planned, in words, from the shapes that were found."""

from collections.abc import Sequence

from memlessons.measure.entry import Entry
from memlessons.plan import MemoryPlan, Store


def cause(
    layer: int | None, entries: Sequence[Entry], plan: MemoryPlan, rows: int, ends: Sequence[int]
) -> str:
    """The differences between what was found in a layer and what its plan asks for; never empty."""
    if layer is None:
        return "storage shared by several layers is larger than what they use of it"
    if not 0 <= layer < len(plan.layers):
        return "the plan has no such layer"
    planned = plan.layers[layer]
    own = [e for e in entries if e.held_bytes or e.room_bytes]
    if planned.reads_from is not None and own and not planned.stores:
        return f"a memory of its own, where the plan reads layer {planned.reads_from}'s"
    if planned.stores and not own:
        return "nothing found"
    found = [
        text for entry in entries for text in _of_entry(entry, _store_of(entry, planned.stores), rows, ends)
    ]
    found += [
        f"no {s.role} memory found" for s in planned.stores if not any(_store_of(e, (s,)) for e in entries)
    ]
    if any(s.value_width for s in planned.stores) and not any(e.what.split()[1:2] == ["v"] for e in entries):
        found.append("no values found")
    # K and V usually differ in the same way: said once.
    texts = list(dict.fromkeys(found))
    return "; ".join(texts) or "other content than planned: are contexts and capacity those of this state?"


def _store_of(entry: Entry, stores: Sequence[Store]) -> Store | None:
    return next((s for s in stores if entry.what.split()[0] == s.role), None)


def _of_entry(entry: Entry, store: Store | None, rows: int, ends: Sequence[int]) -> list[str]:
    if not entry.shape:
        return [f"{entry.what}: {entry.room_bytes:,} B"] if entry.room_bytes else []
    if store is None:
        return [f"{entry.what}: the plan keeps nothing of this kind here"]
    texts = []
    if entry.shape[0] != rows:
        texts.append(f"{entry.shape[0]} rows, {rows} planned")
    if store.grows_with == "nothing":
        return texts
    heads, slots = entry.shape[1], entry.shape[2]
    if heads != store.kv_heads:
        texts.append(f"{heads} heads kept, {store.kv_heads} planned")
    wanted = max((store.slots(end) for end in ends), default=0)
    if store.grows_with == "tokens" and slots != wanted:
        texts.append(f"{slots:,} slots of room, {wanted:,} planned")
    if len(entry.shape) == 4:
        texts += _of_rows(entry, store)
    return texts


def _of_rows(entry: Entry, store: Store) -> list[str]:
    is_value = entry.what.split()[1].startswith("v")
    width, format = (
        (store.value_width, store.value_format) if is_value else (store.key_width, store.key_format)
    )
    bits = _BITS.get(entry.dtype)
    if bits is None or bits == format.bits:
        return [] if entry.shape[3] == width else [f"rows of {entry.shape[3]}, {width} planned"]
    if entry.shape[3] * bits == width * format.bits:
        return []  # narrow codes packed into wider elements
    return [f"{entry.dtype} elements, {format.name} planned"]


_BITS = {
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8,
    "int32": 32, "int16": 16, "int8": 8, "uint8": 8,
}  # fmt: skip
