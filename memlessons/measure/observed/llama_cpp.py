"""llama.cpp's log and its children's (ik_llama.cpp, ollama's runner), 2023 to 2026.

Its "MB" of 2023 and its "MiB" since are both 2^20: `memory_size / 1024.0 / 1024.0`
(ggml-org/llama.cpp, src/llama-kv-cache.cpp; read 2026-11). printf follows the locale: "2160,00 MiB" has a
decimal comma. The line of a cache changed three times: "KV self size" until b5400 (May 2025), "size = ...
(cells, layers, seqs)" from b5600 (June 2025), "seqs/streams" since; recurrent state has its own line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memlessons.measure.observed.figures import NUMBER, WHOLE, Size
from memlessons.measure.observed.reported import Part, Reported, Said
from memlessons.measure.observed.sentences import by_line, bytes_said, last, sentence
from memlessons.units import GIB, MIB

TELLING = frozenset({"size", "buffer", "kv cells"})
LOOKED_FOR = "'llama_kv_cache: size =', 'KV self size', 'llama_memory_recurrent: size ='"
UNITS = {"MB": MIB, "MiB": MIB, "GB": GIB, "GiB": GIB}


def _size(quantity: str) -> str:
    return rf"(?P<{quantity}_s>{NUMBER}) (?P<{quantity}_u>MiB|MB|GiB|GB)"


# ggml's names of types have up to 10 letters: iq4_nl, q8_0, bf16.
_KEYS = rf"(?:\bK|\bR|c\^KV) \((?P<key_type_t>\w{{1,20}})\): *{_size('key')}"
_VALUES = rf"(?:\bV|\bS|kv\^T) \((?P<value_type_t>\w{{1,20}})\): *{_size('value')}"

SENTENCES = (
    sentence("key-value pairs", r"tensors from (?P<file_t>.{1,300}?) \(version"),
    sentence("general.name", r"general\.name(?: +str)? *= *(?P<model_t>\S.{0,299})"),
    sentence(
        "print_info: ",
        rf"print_info: n_layer *= *(?P<model_layers_n>{WHOLE})",
        rf"print_info: file size *= *{_size('weights')}",
    ),
    sentence(
        "llm_load_print_meta: ",
        rf"llm_load_print_meta: n_layer *= *(?P<model_layers_n>{WHOLE})",
        rf"llm_load_print_meta: model size *= *{_size('weights')}",
    ),
    sentence("model buffer size", rf"(?P<device_t>\S{{1,60}}) model buffer size *= *{_size('model_buffer')}"),
    sentence("constructing llama_context", r"(?P<begins_t>constructing llama_context)"),
    *(
        sentence(
            f"{maker}: n_",
            rf"(?P<by_t>{maker}): n_ctx *= *(?P<context_n>{WHOLE})",
            rf": n_seq_max *= *(?P<sequences_n>{WHOLE})",
            rf": n_ctx_(?:seq|per_seq) *= *(?P<slot_n>{WHOLE})",
            rf": n_ubatch *= *(?P<ubatch_n>{WHOLE})",
        )
        for maker in ("llama_context", "llama_new_context_with_model", "llama_init_from_model")
    ),
    sentence("initializing", rf"n_slots ?= ?(?P<slots_n>{WHOLE})"),
    sentence(
        " KV cache, size",
        rf"creating +(?P<banner_t>[\w -]{{0,60}}?) *KV cache, size = *(?P<banner_cells_n>{WHOLE}) cells",
    ),
    sentence(" compressor state", r"creating +(?P<banner_t>[\w -]{0,60}? compressor state)"),
    sentence(
        "kv_size = ",
        rf"kv_size = (?P<kv_cells_n>{WHOLE}),.{{0,40}}? type_k = '(?P<kv_key_type_t>\w+)', "
        rf"type_v = '(?P<kv_value_type_t>\w+)', n_layer = (?P<kv_layers_n>{WHOLE})",
    ),
    sentence(
        " layers",
        rf"(?P<by_t>\w{{1,60}}): size = *{_size('size')} \( *(?P<cells_n>{WHOLE}) cells?, "
        rf"*(?P<layers_n>{WHOLE}) layers?"
        rf"(?:, *(?P<sequences_n>{WHOLE})(?:/ *(?P<streams_n>{WHOLE}))? seqs?)?"
        rf"(?: *(?P<snapshots_n>{WHOLE}) rs_seq)?",
        _KEYS,
        _VALUES,
        rf"\bP \(\w+\): *{_size('other')}",
    ),
    sentence(
        "self size", rf"(?P<by_t>llama\w{{0,60}}): (?:KV|kv) self size *= *{_size('size')}", _KEYS, _VALUES
    ),
    sentence(
        " buffer size",
        rf"(?P<by_t>\w{{1,60}}): *(?P<device_t>\S{{1,60}}) (?P<kind_t>KV|RS) buffer size *= *"
        rf"{_size('buffer')}",
    ),
)
RANK = None

# Servers since 2026 stamp lines "minutes.seconds.milli.micro LEVEL"; a trial that only measures what would
# fit says the same as a real start, at level D.
_TRIAL = re.compile(r"(?:^|\s)\d+\.\d+\.\d+\.\d+ D ")
_NAMES = {"non-SWA": "base", "main": "base", "": "base", "SWA": "swa"}


@dataclass
class _Context:
    """One context that the engine made: its figures, its parts in order, its buffers by device."""

    facts: list[Said] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    buffers: list[Part] = field(default_factory=list)
    trial: bool = False

    @property
    def found(self) -> list[Part]:
        """Parts as summed up, or what was allocated for them where no sum was printed."""
        return self.parts or self.buffers


def gather(lines: Sequence[Said]) -> Reported:
    """What these figures of a llama.cpp log add up to, over all its devices."""
    made = _contexts(lines)
    kept = [c for c in made if c.found and not c.trial] or [c for c in made if c.found]
    contexts: list[_Context] = []
    for context in kept:
        # A start that says the very same as one before is that one's trial, or was asked to say it twice.
        if not any(_same(context, other) for other in contexts):
            contexts.append(context)
    facts = contexts[0].facts if contexts else list(lines)
    parts = tuple(replace(part, context=number) for number, c in enumerate(contexts, 1) for part in c.found)
    base = next((p for p in parts if p.name == "base"), None)
    notes = []
    if len(contexts) > 1:
        notes.append(f"{len(contexts)} contexts were made: the others are a draft model's, or trial runs")
    return Reported(
        engine="llama.cpp",
        lines=tuple(lines),
        model=last(_first(lines, "model"), "model") or last(_first(lines, "file"), "file"),
        context_tokens=last(facts, "context") or last(lines, "context"),
        sequences=last(facts, "sequences") or (base.sequences if base else None) or last(lines, "slots"),
        cells=(base.cells if base else None) or last(facts, "kv cells", "banner cells"),
        layers=last(_first(lines, "model layers"), "model layers"),
        key_type=(base.key_type if base else None) or last(facts, "kv key type"),
        value_type=(base.value_type if base else None) or last(facts, "kv value type"),
        parts=parts,
        weights_bytes=_weights(lines),
        notes=tuple(notes),
    )


def _first(lines: Sequence[Said], quantity: str) -> list[Said]:
    return [said for said in lines if said.quantity == quantity][:1]


def _weights(lines: Sequence[Said]) -> int | None:
    """The model file's size as said, else all buffers of the model, the last start's of each device."""
    whole = bytes_said(next((s for s in lines if s.quantity == "weights"), None), UNITS)
    if whole is not None:
        return whole.bytes
    by_device: dict[str, int] = {}
    for of in by_line(lines):
        found = bytes_said(of.get("model buffer"), UNITS)
        if found is not None:
            by_device[str(of["device"].value)] = found.bytes
    return sum(by_device.values()) or None


def _same(one: _Context, other: _Context) -> bool:
    return one.found == other.found and last(one.facts, "context") == last(other.facts, "context")


def _contexts(lines: Sequence[Said]) -> list[_Context]:
    contexts, banner = [_Context()], ""
    announced = any(said.quantity == "begins" for said in lines)
    for of in by_line(lines):
        # Before mid 2025 a context begins with its length.
        if "begins" in of or (not announced and "context" in of and contexts[-1].found):
            contexts.append(_Context())
            banner = ""
        now = contexts[-1]
        now.facts += of.values()
        if "banner" in of:
            banner = str(of["banner"].value)
        elif "size" in of:
            now.trial = now.trial or bool(_TRIAL.search(of["size"].text))
            _add(now, _part(of, banner))
        elif "buffer" in of:
            found = bytes_said(of["buffer"], UNITS)
            if found is not None:
                _add_buffer(now, _name(of, banner), found)
    return contexts


def _name(of: dict[str, Said], banner: str) -> str:
    by = str(of["by"].value)
    kind = str(of["kind"].value) if "kind" in of else ""
    if "recurrent" in by or kind == "RS":
        return "state"
    if "indexer" in banner:
        return "indexer"
    return _NAMES.get(banner, banner.lower())


def _part(of: dict[str, Said], banner: str) -> Part:
    sizes = {q: bytes_said(of.get(q), UNITS) for q in ("size", "key", "value")}
    total, key, value = sizes["size"] or Size(0, 0), sizes["key"], sizes["value"]

    def number(quantity: str) -> int | None:
        return int(of[quantity].value) if quantity in of else None

    def word(quantity: str) -> str | None:
        return str(of[quantity].value) if quantity in of else None

    return Part(
        _name(of, banner), total.bytes, total.within,
        key.bytes if key else None, value.bytes if value else None, word("key type"), word("value type"),
        number("cells"), number("layers"), number("sequences"), number("streams"),
    )  # fmt: skip


def _add(context: _Context, part: Part) -> None:
    """Add a part, unless it is the one before said again: ik_llama.cpp told a latent twice in May 2025."""
    if context.parts and part.cells is None:
        before = context.parts[-1]
        if before.cells is None and (before.name, before.total_bytes) == (part.name, part.total_bytes):
            context.parts[-1] = part
            return
    context.parts.append(part)


def _add_buffer(context: _Context, name: str, found: Size) -> None:
    for i, part in enumerate(context.buffers):
        if part.name == name:
            total, within = part.total_bytes + found.bytes, part.within_bytes + found.within
            context.buffers[i] = replace(part, total_bytes=total, within_bytes=within)
            return
    context.buffers.append(Part(name, found.bytes, found.within))
