"""What SGLang reserves (python/sglang/srt/mem_cache/memory_pool.py): one slot a token, pools by reach.

Models with windows have two pools of slots, one for layers that see everything and one for the others; the
log prints a line for each. All requests share them, and the second has a fixed share of the first's slots:
whole contexts of a window or less fill it first, and then need a first pool larger than they are.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Literal

from memlessons.plan.engines.asked import Allocation, Asked, BadEngineArgument, Piece, gathered, kept
from memlessons.plan.engines.divided import refuse_uneven
from memlessons.plan.engines.ideal import on_device
from memlessons.plan.engines.packed import served_rows, served_words
from memlessons.plan.engines.reasons import in_steps
from memlessons.plan.errors import whole
from memlessons.plan.store import Store
from memlessons.units import GIB

RULES = {
    "sglang: heads are divided": "memory_pool.py: head_num = kv_heads // tp on each device, at least 1",
    "sglang: heads come out even": "models/*.py: heads % tp == 0; kv heads % tp == 0, or tp % kv heads == 0",
    "sglang: windows have a share of the slots": "server_args.py: swa_full_tokens_ratio = 0.8; "
    "swa tokens = int(full tokens x ratio)",
    "sglang: index keys have 8 bits": "DSATokenToKVPool (2025-09): index_head_dim + index_head_dim // 128 * "
    "4 bytes, whatever --kv-cache-dtype",
    "sglang: fp8_ds_mla": "the same bytes as vLLM's, where 8 bits are asked for by that name",
    "sglang: 8 bits beside an indexer are packed": "calculate_mla_kv_cache_dim (2025-09): rank + rank // "
    "128 * 4 + 2 x the position, but for the backend trtllm",
    "sglang: layers of one pool": "SWAKVPool: layers with windows in a pool of their own (sglang#18039)",
    "sglang: a page beside": "memory_pool.py: size + page_size slots, the first for padding tokens",
}

_SHARE = "sglang: windows have a share of the slots"


def sglang(
    asked: Asked,
    *,
    pool: Literal["all", "full", "swa"] = "all",
    page_size: int = 1,
    swa_full_tokens_ratio: float = 0.8,
    available_gib: float | None = None,
) -> Allocation:
    """Bytes of its token pools for `context_tokens` slots a sequence; with memory given, slots that fit.

    `pool="all"` is the smallest pair of pools that holds these sequences, the windowed layers' with
    `swa_full_tokens_ratio` of the other's slots; "full" or "swa" is one pool of the slots given.
    """
    whole("page_size", page_size, least=1)
    if pool not in ("all", "full", "swa"):
        raise BadEngineArgument(f"pool={pool!r}: must be 'all', 'full' or 'swa'")
    if not 0 < swa_full_tokens_ratio <= 1:
        raise BadEngineArgument(f"swa_full_tokens_ratio={swa_full_tokens_ratio}: must be above 0, at most 1")
    refuse_uneven(asked, "sglang")
    plan = on_device(asked.plan, asked.tp if asked.on("sglang: heads are divided") else 1)
    wanted = {"full": ("base", "idx"), "swa": ("swa",)}.get(
        pool, ("base", "swa", "idx", "cross", "draft", "rs")
    )
    if not asked.on("sglang: layers of one pool"):
        wanted = ("base", "swa", "idx", "cross", "draft", "rs")
    tokens = asked.context_tokens * asked.batch
    windows = [store.slots(asked.context_tokens) * asked.batch for name, store in kept(plan) if name == "swa"]
    most = max(windows, default=0)
    both = windows and any(name == "base" for name, _ in kept(plan)) and pool == "all"
    ratio = Fraction(1)
    asked_for, shares = tokens, both and asked.on("sglang: layers of one pool") and asked.on(_SHARE)
    if shares:
        ratio = Fraction(str(swa_full_tokens_ratio))
        tokens = max(tokens, ceil(most / ratio))

    beside = page_size if asked.on("sglang: a page beside") else 0
    room = (f" and {beside:,} beside for padding" if beside else "") + in_steps(page_size)

    def pooled(wanted: int) -> int:
        return -(-(wanted + beside) // page_size) * page_size

    slots = pooled(tokens)
    of = {"swa": pooled(int(tokens * ratio))}

    def said(name: str, store: Store) -> tuple[str, str]:
        """What a pool has slots for, and why: a share for windows, or tokens added so that it holds them."""
        pulled, share, why = tokens > asked_for, f"{float(ratio):g}", []
        rule = f"a slot for each of {tokens:,} tokens{room}"
        if pulled:
            why.append(f"{asked_for:,} are asked for, but {share} of the slots must hold windows of {most:,}")
        if shares and name == "swa":
            rule = f"{share} slots for each of {tokens:,} tokens{room}"
            why = ["swa_full_tokens_ratio"]
        near, needs = store.window or store.block, store.slots(asked.context_tokens) * asked.batch
        if near and needs < int(tokens * ratio) and pool == "all":
            kind = "window" if store.window else "chunk"
            why.append(f"{'although ' if why else ''}a {kind} of {near:,} needs {needs:,} in all")
        return rule, ", ".join(filter(None, [*why, served_words(asked, store, "sglang")]))

    def pieces() -> Iterator[Piece]:
        for name, store in kept(plan):
            if name not in wanted:
                continue
            if name == "rs":
                one = "a state" + (f" for each of {asked.batch:,} requests" if asked.batch > 1 else "")
                yield Piece(name, 0, 0, store.state_bytes * asked.batch, one)
                continue
            keys, values = served_rows(asked, store, "sglang")
            cells = of.get(name, slots)
            yield Piece(name, cells, cells * keys, cells * values, *said(name, store))

    growing = any(name != "rs" for name, _ in kept(plan))
    assumed = [("page_size", page_size), ("swa_full_tokens_ratio", swa_full_tokens_ratio)]
    found = gathered("sglang", pieces(), assumed=tuple(assumed if shares else assumed[:growing]))
    if available_gib is None:
        return found
    size = sum(part.bytes for part in found.parts if part.name != "rs")
    return Allocation("sglang", (), tokens=int(available_gib * GIB * slots // size) if size else 0)
