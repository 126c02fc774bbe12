"""A question as what serves it: flags for an engine, or lines of Python."""

from collections.abc import Sequence
from shlex import quote

from memlessons.plan.engines import UnknownEngine
from memlessons.sizing.answer import answer
from memlessons.sizing.question import BadQuestion, Question
from memlessons.sizing.reserved import FORMATS_OF
from memlessons.sizing.whatif import Edit

EXPORTS = ("vllm", "sglang", "llama.cpp")
_SIXTEEN = {"f16": "f16", "fp16": "f16", "float16": "f16", "bf16": "bf16", "bfloat16": "bf16"}
_VLLM = {"fp8": "fp8", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2", "int8": "int8_per_token_head"}


def flags(question: Question, engine: str) -> str:
    """The command that serves this question with `engine`: "vllm", "sglang" or "llama.cpp" (as of 2026).

    The memory fraction is what is left of the card once the reserve is taken off, rounded down. Raises
    UnknownEngine, and BadQuestion for a format that the engine does not store.
    """
    if engine not in EXPORTS:
        raise UnknownEngine(f"no flags for engine {engine[:40]!r}; there are some for {', '.join(EXPORTS)}")
    parts = question.kv_dtype.lower().split("/")
    if any(part not in FORMATS_OF[engine] for part in parts):
        raise BadQuestion(f"{engine} does not store keys and values in {question.kv_dtype}")
    if engine != "llama.cpp" and len(set(parts)) > 1:
        raise BadQuestion(f"{engine} stores keys and values in one format, not in {question.kv_dtype}")
    words = {"vllm": _vllm, "sglang": _sglang, "llama.cpp": _llama_cpp}[engine](question, parts)
    return " ".join(words)


def _vllm(q: Question, parts: list[str]) -> list[str]:
    words = ["vllm serve", _place(q), f"--max-model-len {q.context}", f"--max-num-seqs {q.batch}"]
    words += [f"--tensor-parallel-size {q.tp}"] if q.tp > 1 else []
    words += [] if parts[0] in (*_SIXTEEN, "auto") else [f"--kv-cache-dtype {_VLLM.get(parts[0], parts[0])}"]
    return words + ([f"--gpu-memory-utilization {_share(q)}"] if _share(q) else [])


def _sglang(q: Question, parts: list[str]) -> list[str]:
    words = ["python -m sglang.launch_server", f"--model-path {_place(q)}", f"--context-length {q.context}"]
    words += [f"--max-running-requests {q.batch}"]
    words += [f"--tp-size {q.tp}"] if q.tp > 1 else []
    kind = "fp8_e4m3" if parts[0] == "fp8" else parts[0]
    words += [] if parts[0] in (*_SIXTEEN, "auto") else [f"--kv-cache-dtype {kind}"]
    return words + ([f"--mem-fraction-static {_share(q)}"] if _share(q) else [])


def _llama_cpp(q: Question, parts: list[str]) -> list[str]:
    key, value = (_SIXTEEN.get(part, part) for part in (parts[0], parts[-1]))
    words = ["llama-server", f"-m {_place(q, '.gguf')}", f"-c {q.context * q.batch}", f"-np {q.batch}"]
    words += ["--no-kv-unified"] if q.batch > 1 else []
    words += [] if key == value == "f16" else [f"-ctk {key}", f"-ctv {value}"]
    # Values in blocks can only be read by flash attention.
    words += ["-fa on"] if value not in ("f16", "bf16", "f32") else []
    return [*words, "-ngl 99"] + (["--split-mode layer"] if q.tp > 1 else [])


def _place(q: Question, ending: str = "") -> str:
    """Where the checkpoint is, as one word of a shell's command; a gap to fill where nobody knows."""
    place = q.model.place or f"PATH/TO/{q.model.name}{ending}"
    return quote(place if not place.startswith("-") else f"./{place}")


def warnings(question: Question, engine: str) -> tuple[str, ...]:
    """What would keep the exported command from doing what was asked, one sentence each."""
    found = answer(question.with_(engine=engine if engine in FORMATS_OF else "ideal"))
    q, longest, said = question, question.model.longest_context, []
    if longest is not None and q.context > longest:
        said.append(f"{q.model.name} was made to read {longest:,} tokens, {q.context:,} are asked for")
    if found.fits is False:
        said.append(f"by this count it does not fit on {q.tp} x {q.card.name if q.card else 'the device'}")
    if not q.model.place:
        said.append(
            f"{q.model.name} is a name of ours: put your checkpoint's path or repository in its place"
        )
    return tuple(said)


def _share(q: Question) -> str:
    if not q.reserve_bytes or not q.card_bytes or q.reserve_bytes >= q.card_bytes:
        return ""
    return f"{(q.card_bytes - q.reserve_bytes) * 100 // q.card_bytes / 100:.2f}"


def as_python(question: Question, edits: Sequence[Edit] = (), *, path: str | None = None) -> str:
    """Lines of Python that ask the same question and print its answer.

    `question` is about the model as published, `edits` follow; `path` is where its configuration lies, where
    it has no name.
    """
    q = question
    measured = q.card is not None and q.card.confidence == "measured here"
    lines = [] if q.card is None or measured else ["from memlessons.cost import get"]
    lines += ["from memlessons.measure import machine"] if measured else []
    lines.append("from memlessons.sizing import Question, answer, resolve")
    lines += ["from memlessons.sizing.whatif import Edit, edited"] if edits else []
    lines += ["", f"# {path}: the configuration, saved under this name"] if path is not None else [""]
    fields = [f"resolve({path or q.model.name!r})", f"context={q.context}", f"batch={q.batch}"]
    fields.append(f"kv_dtype={q.kv_dtype!r}")
    if q.card is not None:
        fields.append("card=machine().accelerator()" if measured else f"card=get({q.card.name!r})")
    fields += [f"tp={q.tp}"] if q.tp > 1 else []
    fields += [f"engine={q.engine!r}"] if q.engine != "ideal" else []
    fields += [f"reserve_bytes={q.reserve_bytes}"] if q.reserve_bytes else []
    fields += [f"visible_bytes={q.visible_bytes}"] if q.visible_bytes is not None else []
    lines.append(f"question = Question({', '.join(fields)})")
    lines += [f"question = edited(question, [{', '.join(edit.code for edit in edits)}])"] if edits else []
    lines += ["found = answer(question)", "print(found.kv_bytes, found.fits, found.sequences_fit)"]
    return "\n".join(lines)
