"""Rows stored with scales of their own, whatever format was asked for: index keys, packed latents."""

from dataclasses import replace

from memlessons.plan.engines.asked import Asked, rows
from memlessons.plan.formats import BF16, Format, formats_named
from memlessons.plan.memory_plan import MemoryPlan
from memlessons.plan.store import Store

DS_MLA = "fp8_ds_mla"
"""A name of vLLM's for latents in 8 bits with scales, their positions in 16."""

INDEX_KEYS = Format("fp8, a scale each 128", 8, group=128, scale_bits=32)
"""DeepSeek's own inference code (V3.2, 2025-09) and its engines: 132 bytes for 128 numbers."""


def packed_bytes(store: Store) -> int:
    """Bytes of one token's latent as `fp8_ds_mla` stores it: 656 of DeepSeek-V3.2, 584 of V4.

    V3.2: rank x 8 bits, a 32-bit scale each 128, the position in 16 bits (vLLM, MLAAttentionSpec). A rank of
    no whole 128s, as V4's 448, has 8-bit scales each 64, made up to 8 bytes.
    """
    rank = store.key_width - store.rope_width
    scales = rank // 128 * 4 if rank % 128 == 0 else -(-rank // 64 // 8) * 8
    return rank + scales + store.rope_width * 2


def packed_format(store: Store) -> Format:
    """The same as a format of a row: a byte a number, and one scale that holds all the rest."""
    return Format(DS_MLA, 8, scale_bits=8 * (packed_bytes(store) - store.key_width))


def formats_asked(kv_dtype: str) -> tuple[Format, Format]:
    """Formats of keys and values; what is no latent stays in 16 bits beside packed ones."""
    return (BF16, BF16) if kv_dtype.lower() == DS_MLA else formats_named(kv_dtype)


def in_formats(plan: MemoryPlan, kv_dtype: str) -> MemoryPlan:
    """The plan with everything that attention looks back on in the formats asked for, and index keys too.

    Index keys take the smaller of the key format and 8 bits with scales, because no model needs more: its own
    code keeps them so. Engines therefore never reserve less than the plan for the same `kv_dtype`. Raises
    InvalidPlan for a format that is not known.
    """
    key, value = formats_asked(kv_dtype)
    packs = kv_dtype.lower() == DS_MLA

    def stored(store: Store) -> Store:
        if store.role == "index":
            smaller = min(key, INDEX_KEYS, key=lambda format: format.row_bytes(store.key_width))
            return replace(store, key_format=smaller)
        if store.role == "state":
            return store
        keys = packed_format(store) if packs and store.role == "latent" else key
        return replace(store, key_format=keys, value_format=value)

    layers = tuple(replace(layer, stores=tuple(map(stored, layer.stores))) for layer in plan.layers)
    return replace(plan, layers=layers)


def served_rows(asked: Asked, store: Store, engine: str) -> tuple[int, int]:
    """Bytes of keys and of values of one token in a GPU server, by the rules of that name in its RULES.

    Index keys have 8 bits and scales whatever is asked for. Latents are packed where that is asked for by
    name, and where 8 bits are asked for beside an indexer, whose kernels read no other 8-bit latents.
    """
    if store.role == "index" and asked.on(f"{engine}: index keys have 8 bits"):
        return rows(INDEX_KEYS, store.kv_heads, store.key_width), 0
    if store.role == "latent" and _packs(asked, engine):
        return store.kv_heads * packed_bytes(store), 0
    keys = rows(asked.key_format, store.kv_heads, store.key_width)
    return keys, rows(asked.value_format, store.kv_heads, store.value_width)


def served_words(asked: Asked, store: Store, engine: str) -> str:
    """What `served_rows` does beside the format that was asked for, in words; empty where nothing."""
    if store.role == "index" and asked.on(f"{engine}: index keys have 8 bits"):
        return "in 8 bits and a scale for each 128 whatever is asked"
    if store.role == "latent" and _packs(asked, engine):
        return f"packed in {packed_bytes(store):,} bytes a token"
    return ""


def _packs(asked: Asked, engine: str) -> bool:
    if asked.kv_dtype.lower() == DS_MLA:
        return asked.on(f"{engine}: fp8_ds_mla")
    if asked.key_format.name != "fp8" or not asked.on(f"{engine}: 8 bits beside an indexer are packed"):
        return False
    return any(store.role == "index" for layer in asked.plan.layers for store in layer.stores)
