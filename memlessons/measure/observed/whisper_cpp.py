"""whisper.cpp's log, 2022 to 2026: what its "MB" means changed and the line did not.

The versions of 1.4 (2023) divide by 1024 twice, those from 1.5 on (November 2023) by 1e6
(ggml-org/whisper.cpp, `whisper_init_state`: `memory_size / 1024.0 / 1024.0`, then `memory_size / 1e6`; read
2026-11). The cross cache of the base model reads 17.58 in the first and 18.43 or, padded to
256 positions, 18.87 in the second. Which one it was follows from the model's own shape where that was
printed, else from "mem required", a line that only the first kind has.
"""

from collections.abc import Sequence

from memlessons.measure.observed.figures import DECIMAL, NUMBER, WHOLE
from memlessons.measure.observed.reported import Part, Reported, Said
from memlessons.measure.observed.sentences import by_line, bytes_said, last, sentence
from memlessons.units import MIB

TELLING = frozenset({"size"})
LOOKED_FOR = "'kv self size', 'kv cross size'"

_SHAPE = ("n_audio_ctx", "n_audio_state", "n_text_ctx", "n_text_state", "n_text_layer")
SENTENCES = (
    sentence("loading model from", r"whisper_\w+: loading model from '(?P<model_t>[^']{1,300})'"),
    sentence(
        "whisper_model_load", *(rf"\b{name} *= *(?P<{name}_n>{WHOLE})" for name in _SHAPE),
        rf"\bmodel size *= *(?P<weights_s>{NUMBER}) (?P<weights_u>MB)",
        rf"\bmem required *= *(?P<required_s>{NUMBER}) (?P<required_u>MB)",
    ),
    # Until early 2023 the function was whisper_model_load, later whisper_init_state.
    sentence(
        ": kv ",
        rf"whisper_\w+: kv (?P<part_t>self|cross|pad) +size *= *(?P<size_s>{NUMBER}) (?P<size_u>MB|MiB)",
    ),
)  # fmt: skip
RANK = None


def gather(lines: Sequence[Said]) -> Reported:
    """What these figures of a whisper.cpp log add up to."""
    mb, why = _mb(lines)
    units = {"MB": mb, "MiB": MIB}
    parts: dict[str, Part] = {}
    for of in by_line(lines):
        found = bytes_said(of.get("size"), units)
        if found is not None:
            # Once for each decoder: the last state made stands for all.
            name = str(of["part"].value)
            parts[name] = Part(name, *found, layers=last(lines, "n text layer"))
    weights = next((bytes_said(said, units) for said in lines if said.quantity == "weights"), None)
    return Reported(
        engine="whisper.cpp",
        lines=tuple(lines),
        model=last(lines, "model"),
        context_tokens=last(lines, "n text ctx"),
        layers=last(lines, "n text layer"),
        parts=tuple(parts.values()),
        weights_bytes=weights.bytes if weights else None,
        notes=(f"MB is {'10^6' if mb == DECIMAL['MB'] else '2^20'} bytes here: {why}",),
    )


def _mb(lines: Sequence[Said]) -> tuple[int, str]:
    """Bytes that "MB" means in this log, and how that is known."""
    for said in lines:
        if said.quantity == "size" and said.unit == "MB" and isinstance(said.value, float):
            fitting = [mb for mb in (DECIMAL["MB"], MIB) if _fits(lines, said, mb)]
            if len(fitting) == 1:
                return fitting[0], "it fits the model's shape"
    if any(said.quantity == "required" for said in lines):
        return MIB, "the log is of the kind that prints 'mem required', before 1.5.0"
    return DECIMAL["MB"], "as printed since 1.5.0"


def _fits(lines: Sequence[Said], said: Said, mb: int) -> bool:
    """Whether this is K and V of a cross cache, 16 bits each, for the positions that the encoder has."""
    layers, width, positions = (last(lines, q) for q in ("n text layer", "n text state", "n audio ctx"))
    if None in (layers, width, positions) or " cross " not in said.text:
        return False
    found = bytes_said(said, {"MB": mb})
    padded = -(-positions // 256) * 256
    return found is not None and any(
        abs(found.bytes - 2 * 2 * layers * width * n) <= found.within for n in (positions, padded)
    )
