"""What SGLang reserves (python/sglang/srt/mem_cache/memory_pool.py): one slot a token, pools by reach.

Models with windows have two pools of slots, one for layers that see everything and one for the others; the
log prints a line for each.
"""

from collections.abc import Iterator
from typing import Literal

from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, gathered, kept, rows
from memlessons.plan.engines.ideal import on_device
from memlessons.plan.errors import whole
from memlessons.units import GIB

RULES = {
    "sglang: heads are divided": "memory_pool.py: head_num = kv_heads // tp on each device, at least 1",
    "sglang: layers of one pool": "SWAKVPool: layers with windows in a pool of their own (sglang#18039)",
    "sglang: a page beside": "memory_pool.py: size + page_size slots, the first for padding tokens",
}


def sglang(
    asked: Asked,
    *,
    pool: Literal["all", "full", "swa"] = "all",
    page_size: int = 1,
    available_gib: float | None = None,
) -> Allocation:
    """Bytes of its token pools for `context_tokens` slots a sequence; with memory given, slots that fit."""
    whole("page_size", page_size, least=1)
    if pool not in ("all", "full", "swa"):
        raise BadEngineArgument(f"pool={pool!r}: must be 'all', 'full' or 'swa'")
    plan = on_device(asked.plan, asked.tp if asked.on("sglang: heads are divided") else 1)
    wanted = {"full": ("base", "idx"), "swa": ("swa",)}.get(
        pool, ("base", "swa", "idx", "cross", "draft", "rs")
    )
    if not asked.on("sglang: layers of one pool"):
        wanted = ("base", "swa", "idx", "cross", "draft", "rs")
    slots = asked.context_tokens * asked.batch
    slots += page_size if asked.on("sglang: a page beside") else 0
    slots = -(-slots // page_size) * page_size

    def pieces() -> Iterator[tuple[str, int, int, int, str]]:
        for name, store in kept(plan):
            if name not in wanted:
                continue
            if name == "rs":
                yield name, 0, 0, store.state_bytes * asked.batch, "a state for each request"
                continue
            keys = rows(asked.key_format, store.kv_heads, store.key_width)
            values = rows(asked.value_format, store.kv_heads, store.value_width)
            yield name, slots, slots * keys, slots * values, "a slot for each token"

    found = gathered("sglang", pieces())
    if available_gib is None:
        return found
    growing = sum(part.bytes for part in found.parts if part.name != "rs")
    return Allocation("sglang", (), tokens=int(available_gib * GIB * slots // growing) if growing else 0)
