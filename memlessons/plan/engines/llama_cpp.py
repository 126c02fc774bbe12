"""What llama.cpp reserves (src/llama-kv-cache*.cpp, src/llama-memory-recurrent.cpp, as of 2026).

Everything is reserved at the start, in cells of one token. Slots (`n_seq`) either share one pool
("unified") or have a stream of cells each.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from memlessons.plan.engines.asked import (
    Allocation,
    Asked,
    BadEngineArgument,
    Piece,
    gathered,
    kept,
    kept_in,
    rows,
)
from memlessons.plan.engines.divided import whole_layers
from memlessons.plan.engines.ideal import without_windows
from memlessons.plan.engines.reasons import Cells
from memlessons.plan.errors import whole
from memlessons.plan.formats import F32, Format
from memlessons.plan.layer import Layer
from memlessons.plan.memory_plan import MemoryPlan

PAD = 256
RULES = {
    "llama.cpp: cells come in 256": "llama-context.cpp: n_ctx_seq padded to 256, each slot by itself",
    "llama.cpp: slots have cells of their own": "llama-kv-cache.cpp: n_stream = unified ? 1 : n_seq",
    "llama.cpp: windows for each slot and a batch": "llama-kv-cache-iswa.cpp: PAD(min(n_ctx_seq, "
    "W * (unified ? n_seq : 1) + n_ubatch), 256), since #13194 (2025-05)",
    "llama.cpp: --swa-full keeps every cell": "llama-kv-cache-iswa.cpp: size_swa = size_base",
    "llama.cpp: builds without windows": "before #13194 (2025-05) every layer kept every cell",
    "llama.cpp: windows only beside full layers": "windows in every layer (Mistral 7B v0.1, Phi-3) are "
    "disabled when the model is loaded",
    "llama.cpp: values as wide as the widest": "llama-kv-cache.cpp: without flash attention V is transposed "
    "and padded to n_embd_v_gqa_max",
    "llama.cpp: states in 32 bits": "llama-memory-recurrent.cpp: R and S are F32 whatever the KV type",
    "llama.cpp: a state for each slot": "llama-memory-recurrent.cpp: one cell a sequence",
    "llama.cpp: copies of the state for drafts": "a state cannot be taken back: one for each drafted token",
    "llama.cpp: a latent is kept once": "since #19067 (2026-01) V is read from K; before, a copy",
    "llama.cpp: latents expanded": "GGUFs made before MLA support (2025-04) hold expanded heads",
    "llama.cpp: blocks divide the head width": "llama-context.cpp (2025): a cache type whose block does not "
    "divide n_embd_head_k or n_embd_head_v is refused",
    "llama.cpp: devices take whole layers": "llama-model.cpp, --split-mode layer: layer i of n on device "
    "floor(i x devices / (n + 1)), the output being one more",
    "llama.cpp: unused values of index keys": "a build of 2026 reserved V for the indexer too",
}


def llama_cpp(
    asked: Asked,
    *,
    n_seq: int | None = None,
    unified: bool | None = None,
    n_ubatch: int = 512,
    no_iswa: bool = False,
    swa_full: bool = False,
    flash_attn: bool = True,
    mla: Literal["latent", "k_plus_v", "naive"] = "latent",
    rs_copies: int = 1,
    indexer_unused_v_width: int = 0,
) -> Allocation:
    """Bytes of its pools, on the fullest of `tp` equal devices that whole layers are shared out to.

    With `n_seq`, `context_tokens` is what `-c` says, shared by so many slots, unified unless said otherwise;
    without it, `batch` slots of `context_tokens` each with cells of their own. BadEngineArgument where a
    block of the format does not divide a head.
    """
    slots = asked.batch if n_seq is None else n_seq
    for name, value in (("n_seq", slots), ("n_ubatch", n_ubatch), ("rs_copies", rs_copies)):
        whole(name, value, least=1)
    whole("indexer_unused_v_width", indexer_unused_v_width)
    if mla not in ("latent", "k_plus_v", "naive"):
        raise BadEngineArgument(f"mla={mla!r}: must be 'latent', 'k_plus_v' or 'naive'")
    total = asked.context_tokens * (asked.batch if n_seq is None else 1)
    shared = n_seq is not None if unified is None else unified
    shared = shared or not asked.on("llama.cpp: slots have cells of their own")
    plan = _plan(asked, mla, no_iswa)
    _refuse_broken_blocks(asked, plan)
    streams = 1 if shared else slots
    base = _padded(asked, total if shared else total // slots)

    every = swa_full and asked.on("llama.cpp: --swa-full keeps every cell")
    batched = asked.on("llama.cpp: windows for each slot and a batch")
    said = Cells(
        PAD if asked.on("llama.cpp: cells come in 256") else 1,
        total if shared else total // slots,
        base, slots, shared, n_ubatch if batched else 0, every,
    )  # fmt: skip

    def window_cells(window: int) -> int:
        if every:
            return base
        if not batched:
            return min(base, window)
        return min(base, _padded(asked, window * (slots if shared else 1) + n_ubatch))

    widest = max((rows(asked.value_format, s.kv_heads, s.value_width) for _, s in kept(plan)), default=0)
    padded = not flash_attn and asked.on("llama.cpp: values as wide as the widest")

    def pieces(layers: Iterable[Layer]) -> Iterator[Piece]:
        for name, store in kept_in(layers):
            if name == "rs":
                state = _state(asked, store.state, slots, rs_copies)
                yield Piece(name, 0, 0, state, *_state_said(asked, slots, rs_copies))
                continue
            local = store.window or store.block
            each = window_cells(local) if local else base
            cells = streams * each
            encoder = asked.encoder_tokens if store.grows_with == "encoder_tokens" else None
            cells = cells if encoder is None else encoder * slots
            keys = rows(asked.key_format, store.kv_heads, store.key_width)
            values = rows(asked.value_format, store.kv_heads, store.value_width)
            if name in ("base", "swa", "draft") and values and padded:
                values = widest
            if store.role == "latent" and mla == "k_plus_v" and asked.on("llama.cpp: a latent is kept once"):
                values = rows(asked.value_format, 1, store.key_width - store.rope_width)
            if name == "idx" and asked.on("llama.cpp: unused values of index keys"):
                values = rows(asked.value_format, 1, indexer_unused_v_width)
            stored = cells // store.stride
            words = said.words(store, each) if encoder is None else said.of_encoder(encoder)
            yield Piece(name, stored, stored * keys, stored * values, *words)

    devices = asked.tp if asked.on("llama.cpp: devices take whole layers") else 1
    shares = whole_layers(plan.layers, devices)
    found = [gathered("llama.cpp", pieces(share)) for share in shares]
    fullest = max(range(len(found)), key=lambda i: found[i].total)
    notes = [*_opened(asked, plan)]
    if len(shares) > 1:
        notes.append(f"whole layers: {len(shares[fullest])} of {len(plan.layers)} on the fullest device")
    near = any(s.window or s.block for _, s in kept(plan))
    assumed = (("n_ubatch", n_ubatch),) if near and batched and not every else ()
    return replace(found[fullest], notes=tuple(notes), assumed=assumed)


def _refuse_broken_blocks(asked: Asked, plan: MemoryPlan) -> None:
    if not asked.on("llama.cpp: blocks divide the head width"):
        return
    for name, store in kept(plan):
        if name == "idx":  # its row may hold more than a head
            continue
        for letter, format, width in (
            ("K", asked.key_format, store.key_width),
            ("V", asked.value_format, store.value_width),
        ):
            if format.group is not None and width % format.group:
                raise BadEngineArgument(
                    f"{letter} cache type {format.name} with block size {format.group} does not divide the "
                    f"head width {width}: llama.cpp does not start; ask for f16, or a type without blocks"
                )


def _plan(asked: Asked, mla: str, no_iswa: bool) -> MemoryPlan:
    plan = asked.plan
    if mla == "naive" and asked.on("llama.cpp: latents expanded"):
        if asked.expanded is None:
            raise BadEngineArgument("mla='naive': give a configuration with qk_nope_head_dim and v_head_dim")
        plan = asked.expanded
    reaches = {s.window is None and s.block is None for name, s in kept(plan) if name in ("base", "swa")}
    everywhere = reaches == {False} and asked.on("llama.cpp: windows only beside full layers")
    blind = no_iswa and asked.on("llama.cpp: builds without windows")
    return without_windows(plan) if blind or everywhere else plan


def _opened(asked: Asked, plan: MemoryPlan) -> Iterator[str]:
    """Says so where the plan counted is not the one asked about because its windows are not used."""
    if plan.layers != asked.plan.layers and plan.layers == without_windows(asked.plan).layers:
        yield "windows are not used: every layer keeps every cell"


def _state_said(asked: Asked, slots: int, copies: int) -> tuple[str, str]:
    each = slots if asked.on("llama.cpp: a state for each slot") else 1
    drafts = copies > 1 and asked.on("llama.cpp: copies of the state for drafts")
    rule = f"{each:,} state{'s' * (each != 1)} a layer" + (f", {copies:,} times" if drafts else "")
    return rule, "one a slot, in 32 bits" if asked.on("llama.cpp: states in 32 bits") else "one a slot"


def _padded(asked: Asked, cells: int) -> int:
    return -(-cells // PAD) * PAD if asked.on("llama.cpp: cells come in 256") else cells


def _state(asked: Asked, state: tuple[tuple[int, Format], ...], slots: int, copies: int) -> int:
    wide = asked.on("llama.cpp: states in 32 bits")
    one = sum((F32 if wide else format).row_bytes(elements) for elements, format in state)
    one *= slots if asked.on("llama.cpp: a state for each slot") else 1
    return one * (copies if asked.on("llama.cpp: copies of the state for drafts") else 1)
