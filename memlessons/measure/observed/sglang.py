"""SGLang's log, versions 0.3 (2024) to 0.5 (2026).

Its "GB" is 2^30 throughout: `GB = 1024 * 1024 * 1024` in mem_cache/memory_pool.py, and free memory is
divided by `1 << 30` (sgl-project/sglang; read 2026-11). Every rank prints its own lines.
"""

from collections.abc import Sequence

from memlessons.measure.observed.figures import BINARY, NUMBER, WHOLE
from memlessons.measure.observed.reported import Part, Reported, Said
from memlessons.measure.observed.sentences import by_line, bytes_said, last, sentence

TELLING = frozenset({"pool tokens", "max tokens", "swa total", "state slots"})
LOOKED_FOR = "'KV Cache is allocated', 'max_total_num_tokens='"


def _size(quantity: str) -> str:
    return rf"(?P<{quantity}_s>{NUMBER}) ?(?P<{quantity}_u>GB|GiB)"


SENTENCES = (
    sentence(
        "server_args=",
        r"\bmodel_path'?(?:=|: )'(?P<model_t>[^']{1,300})'",
        rf"\btp_size'?(?:=|: )(?P<ranks_n>{WHOLE})",
        rf"\bpage_size'?(?:=|: )(?P<page_n>{WHOLE})",
        r"\bkv_cache_dtype'?(?:=|: )'(?P<kv_type_t>[\w.]{1,40})'",
    ),
    sentence("Load weight end", rf"mem usage={_size('weights')}"),
    sentence(
        "KV Cache is allocated",
        rf"#tokens: (?P<pool_tokens_n>{WHOLE})",
        r"\bdtype: (?:torch\.)?(?P<pool_type_t>\w{1,40})",
        rf"\bK size: {_size('key')}",
        rf"\bV size: {_size('value')}",
        rf"\bKV size: {_size('size')}",
    ),
    sentence(
        "SWAKVPool",
        rf"mem usage: {_size('swa_total')}",
        rf"\bswa size: (?P<swa_tokens_n>{WHOLE}), full size: (?P<full_tokens_n>{WHOLE})",
    ),
    sentence(
        "Mamba Cache is allocated",
        rf"max_mamba_cache_size: (?P<state_slots_n>{WHOLE})",
        rf"\bconv_state size: {_size('conv')}",
        rf"\bssm_state size: {_size('ssm')}",
        rf"intermediate_ssm_state_cache size: {_size('draft_ssm')}",
        rf"intermediate_conv_window_cache size: {_size('draft_conv')}",
    ),
    sentence(
        "max_total_num_tokens=",
        rf"\bmax_total_num_tokens=(?P<max_tokens_n>{WHOLE})",
        rf"\bmax_running_requests=(?P<sequences_n>{WHOLE})",
        rf"\bcontext_len=(?P<context_n>{WHOLE})",
        rf"\bavailable_gpu_mem={_size('left')}",
    ),
)
RANK = r"\[[^\]]{0,60}\bTP(?P<rank_n>\d{1,4})"


def gather(lines: Sequence[Said]) -> Reported:
    """What these figures of an SGLang log add up to: parts, weights and memory left of its first rank."""
    ranks_seen = sorted({said.value for said in lines if said.quantity == "rank" and said.value != ""})
    said = [of for of in by_line(lines) if _rank(of) in (None, *ranks_seen[:1])]
    parts = _parts(said)
    weights = next((bytes_said(of["weights"], BINARY) for of in said if "weights" in of), None)
    types = [of["pool type"].value for of in said if "pool type" in of] or [last(lines, "kv type")]
    tokens = last(lines, "max tokens", "pool tokens")
    page = last(lines, "page")
    return Reported(
        engine="sglang",
        lines=tuple(lines),
        model=last(lines, "model"),
        context_tokens=last(lines, "context"),
        sequences=last(lines, "sequences"),
        cells=next((p.cells for p in parts if p.name == "base"), None),
        key_type=_text(types[0]),
        value_type=_text(types[0]),
        parts=parts,
        tokens=tokens,
        block_tokens=page,
        weights_bytes=weights.bytes if weights else None,
        ranks=last(lines, "ranks") or (len(ranks_seen) or None),
        notes=_notes(lines),
    )


def _rank(of: dict[str, Said]) -> object:
    return of["rank"].value if "rank" in of else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _parts(said: Sequence[dict[str, Said]]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for of in said:
        if "pool tokens" in of:
            parts.append(_pool(of, "base" if not any(p.name == "base" for p in parts) else "draft"))
        elif "swa tokens" in of:
            parts = _split_by_window(parts, int(of["swa tokens"].value), int(of["full tokens"].value), of)
        elif "state slots" in of:
            parts += _states(of)
    return tuple(part for part in parts if part is not None)


def _pool(of: dict[str, Said], name: str) -> Part:
    key, value = bytes_said(of.get("key"), BINARY), bytes_said(of.get("value"), BINARY)
    both = bytes_said(of.get("size"), BINARY)
    known = [size for size in (both, key, value) if size is not None]
    known = known[:1] if both is not None else known
    kind = _text(of["pool type"].value) if "pool type" in of else None
    return Part(
        name,
        sum(size.bytes for size in known),
        sum(size.within for size in known),
        key.bytes if key else None,
        value.bytes if value else None,
        kind,
        kind,
        cells=int(of["pool tokens"].value),
    )


def _split_by_window(parts: list[Part], swa: int, full: int, of: dict[str, Said]) -> list[Part]:
    """Name the two pools that a window's line sums up; without their own lines, one part of both."""
    pools = [part for part in parts if part.name in ("base", "draft")][-2:]
    if len(pools) == 2 and sorted(p.cells or 0 for p in pools) == sorted((swa, full)):
        # The pool of the windows is allocated first where both are as large.
        small, large = pools if pools[0].cells == swa else pools[::-1]
        rest = [part for part in parts if part not in pools]
        return [*rest, _renamed(large, "base"), _renamed(small, "swa")]
    total = bytes_said(of["swa total"], BINARY) if "swa total" in of else None
    if total is None or pools:
        return parts
    return [*parts, Part("base and swa", total.bytes, total.within, cells=full)]


def _renamed(part: Part, name: str) -> Part:
    return Part(
        name, part.total_bytes, part.within_bytes, part.key_bytes, part.value_bytes, part.key_type,
        part.value_type, part.cells,
    )  # fmt: skip


def _states(of: dict[str, Said]) -> list[Part]:
    slots = int(of["state slots"].value)
    found = []
    for name, quantities in (("state", ("conv", "ssm")), ("draft state", ("draft conv", "draft ssm"))):
        sizes = [s for q in quantities if (s := bytes_said(of.get(q), BINARY)) is not None]
        if sizes:
            total, within = sum(s.bytes for s in sizes), sum(s.within for s in sizes)
            found.append(Part(name, total, within, cells=slots))
    return found


def _notes(lines: Sequence[Said]) -> tuple[str, ...]:
    if any(said.quantity == "swa tokens" for said in lines):
        return ("two pools: the tokens that fit are those of the full one",)
    return ()
