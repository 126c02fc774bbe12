"""Each figure of an engine's report beside its prediction, and the name of the difference."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memlessons.measure.observed.reported import Part, Reported
from memlessons.plan.engines import Allocation, allocation
from memlessons.plan.errors import InvalidPlan
from memlessons.plan.formats import ALIASES, FORMATS
from memlessons.sizing.question import Question
from memlessons.units import bytes_text

# A report's parts by the names of a prediction's.
_PARTS = {"base": "base", "self": "base", "swa": "swa", "state": "rs", "indexer": "idx", "cross": "cross",
          "draft": "draft"}  # fmt: skip
_TYPES = ("f16", "bf16", "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
_A_TENTH = 0.001


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: what was said, what is predicted, and what the difference is, "equal" if there is none."""

    name: str
    said: int
    predicted: int | None
    unit: str
    verdict: str

    @property
    def equal(self) -> bool:
        """Whether prediction and report agree, up to the report's own rounding."""
        return self.verdict.startswith("equal")


def held_against(report: Reported, question: Question) -> list[Line]:
    """Every figure of a report that can be predicted, with its verdict, in the report's order."""
    by_engine: dict[str, Callable[[Reported, Question], list[Line]]] = {
        "llama.cpp": _llama_cpp, "whisper.cpp": _llama_cpp, "vllm": _vllm, "sglang": _sglang,
    }  # fmt: skip
    return by_engine[report.engine](report, question)


def _llama_cpp(report: Reported, question: Question) -> list[Line]:
    lines = []
    for part in report.parts:
        name = _PARTS.get(part.name)
        # A second context is another model's, most often a draft head's.
        label = part.name if part.context == 1 else f"{part.name} of context {part.context}"
        name = "draft" if part.context > 1 and name == "base" else name
        if name is None:
            lines.append(
                Line(label, part.total_bytes, None, "bytes", "not predicted: the engine's own scratch")
            )
            continue
        try:
            found = _predict_part(report, part, question)
            predicted = found.measured(name)
        except InvalidPlan as error:
            lines.append(Line(label, part.total_bytes, None, "bytes", str(error)))
            continue
        verdict = _verdict(part, predicted, found, name)
        lines.append(Line(label, part.total_bytes, predicted, "bytes", verdict))
    return lines


def _predict_part(report: Reported, part: Part, question: Question) -> Allocation:
    key, value = (_type(t) or _type(r) for t, r in ((part.key_type, report.key_type),
                                                    (part.value_type, report.value_type)))  # fmt: skip
    whole = key and value
    arguments: dict[str, Any] = {}
    if report.engine == "llama.cpp":
        slots = part.sequences or report.sequences or 1
        batches = report.said("ubatch")
        arguments = {"n_seq": slots, "unified": (part.streams or 1) == 1}
        if batches and isinstance(batches[-1].value, int):
            arguments["n_ubatch"] = batches[-1].value
        if part.name == "state" and part.cells and part.cells > slots:
            arguments["n_seq"] = part.cells
    else:
        arguments = {"pad": 256} if any(p.name == "pad" for p in report.parts) else {}
    context = report.context_tokens or question.context
    cross = question.encoder if part.name == "cross" else None
    return allocation(
        question.model.config or question.plan,
        engine=report.engine,
        context_tokens=context,
        kv_dtype=f"{key}/{value}" if whole else question.kv_dtype,
        encoder_tokens=cross,
        draft=True if part.context > 1 else question.draft,
        **arguments,
    )


def _type(name: str | None) -> str | None:
    return name if name in _TYPES else None


def _verdict(part: Part, predicted: int, found: Allocation, name: str) -> str:
    """Equal up to rounding, or the first cause that explains the difference."""
    if abs(part.total_bytes - predicted) <= part.within_bytes:
        return "equal"
    ours = next((p for p in found.parts if p.name == name), None)
    if ours is None:
        more = ": a draft head's, which the configuration does not describe?" if name == "draft" else ""
        return f"the plan keeps nothing of this kind{more}"
    if part.name == "state" and predicted and _near(part.total_bytes / predicted):
        return f"{round(part.total_bytes / predicted)} copies of the state, as for drafted tokens"
    causes = []
    if part.layers is not None and part.layers != ours.layers and part.name != "state":
        causes.append(f"{part.layers} layers, the plan has {ours.layers}")
    cells = None if part.cells is None else part.cells * (part.streams or 1)
    if cells is not None and ours.cells and cells != ours.cells:
        causes.append(f"{cells:,} cells, predicted {ours.cells:,}: another -c, -np or -ub, or padding")
    if part.value_bytes and not ours.value_bytes and name in ("base", "idx"):
        causes.append("values are kept beside keys that hold them already: an older build")
    if not causes and cells:
        theirs, mine = part.total_bytes / cells, predicted / max(ours.cells, 1)
        causes.append(f"{theirs:,.0f} bytes a cell, predicted {mine:,.0f}: other heads, widths or formats")
    return f"x {part.total_bytes / max(predicted, 1):.3f}: " + ("; ".join(causes) or "no cause found")


def _near(ratio: float) -> bool:
    return round(ratio) > 1 and abs(ratio - round(ratio)) < _A_TENTH * ratio


def _vllm(report: Reported, question: Question) -> list[Line]:
    available, tokens = report.available_bytes, report.tokens
    if tokens is None:
        return []
    if available is None:
        return _by_blocks(report, question)
    kv = _format(report, question)
    tp = max(report.ranks or 1, question.tp)
    length = report.concurrency_tokens or report.context_tokens
    found = []
    for mode in ("hybrid", "full"):
        try:
            said = allocation(
                question.model.config or question.plan,
                engine="vllm",
                context_tokens=length or 1,
                kv_dtype=kv,
                tp=tp,
                available_gib=available / 2**30,
                mode=mode,
                max_model_len=length,
            ).measured("tokens")
        except InvalidPlan as error:
            return [Line("tokens that fit", tokens, None, "tokens", str(error))]
        found.append((mode, said))
    # The memory is printed with two decimals: that much of the tokens is its rounding.
    slack = (report.available_within_bytes or 0) / max(available, 1) + _A_TENTH
    for mode, said in found:
        if abs(said - tokens) <= slack * tokens:
            how = "with a pool for groups of layers" if mode == "hybrid" else "every layer charged as full"
            verdict = "equal" if len({n for _, n in found}) == 1 else f"equal, {how}"
            return [Line("tokens that fit", tokens, said, "tokens", verdict)]
    mode, said = min(found, key=lambda pair: abs(pair[1] - tokens))
    verdict = f"x {tokens / max(said, 1):.3f}: a worker with less memory, other blocks, or no {kv}"
    return [Line("tokens that fit", tokens, said, "tokens", verdict)]


def _format(report: Reported, question: Question) -> str:
    """The format that the engine named, else the one that was asked for."""
    named = report.key_type
    known = named in FORMATS or named in ALIASES
    return str(named) if known and named != "auto" else question.kv_dtype


def _by_blocks(report: Reported, question: Question) -> list[Line]:
    used = report.used_tokens
    if used is None and report.usage is not None and report.tokens is not None:
        used = round(report.usage * report.tokens)
    lines = [
        Line("tokens that fit", report.tokens or 0, None, "tokens", "no memory was said to hold it against")
    ]
    if used is not None:
        kept = question.plan.bytes(used, encoder_tokens=0) if used else 0
        verdict = f"{bytes_text(kept)} of one sequence's memory, if it were one"
        lines.append(Line("tokens in use", used, None, "tokens", verdict))
    return lines


def _sglang(report: Reported, question: Question) -> list[Line]:
    lines = []
    for part in report.parts:
        for which, said in (("K", part.key_bytes), ("V", part.value_bytes)):
            if part.name in ("base", "swa") and part.cells is not None and said is not None:
                lines.append(_pool(f"{part.name} {which}", which.lower(), said, part, report, question))
    return lines


def _pool(name: str, measure: str, said: int, part: Part, report: Reported, question: Question) -> Line:
    """One pool's keys or values; no log says of which layers, so the pool that fits is named."""
    pools = {"all": "all layers", "full": "layers that see everything", "swa": "layers with a window"}
    found: dict[str, int] = {}
    for pool in pools:
        try:
            found[pool] = allocation(
                question.model.config or question.plan,
                engine="sglang",
                context_tokens=part.cells or 1,
                kv_dtype=_format(report, question),
                tp=max(report.ranks or 1, question.tp),
                pool=pool,
            ).measured(measure)
        except InvalidPlan as error:
            return Line(name, said, None, "bytes", str(error))
    for pool, predicted in found.items():
        if abs(said - predicted) <= part.within_bytes + _A_TENTH * said:
            verdict = "equal" if pool == "all" else f"equal, the pool of {pools[pool]}"
            return Line(name, said, predicted, "bytes", verdict)
    verdict = (
        f"x {said / max(found['all'], 1):.3f} of {pools['all']}: other heads, widths, formats or devices"
    )
    return Line(name, said, found["all"], "bytes", verdict)
