"""What each engine reserves for a question on one device, and why that is not what the model needs."""

from dataclasses import dataclass
from typing import Any

from memlessons.plan.engines import Allocation, BadEngineArgument, Part, allocation
from memlessons.plan.errors import InvalidPlan
from memlessons.sizing.question import Question

_SIXTEEN = ("bf16", "f16", "fp16", "float16", "bfloat16", "auto")
# Formats that an engine stores keys and values in (--cache-type-k, --kv-cache-dtype), as of 2026.
FORMATS_OF = {
    "llama.cpp": (*_SIXTEEN, "f32", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"),
    "vllm": (
        *_SIXTEEN, "fp8", "fp8_e4m3", "fp8_e5m2", "fp8_ds_mla", "int8_per_token_head", "fp8_per_token_head",
        "int8", "nvfp4",
    ),
    "sglang": (*_SIXTEEN, "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4"),
    "whisper.cpp": (*_SIXTEEN, "f32"),
}  # fmt: skip


PARTS = {
    "base": "layers that see everything", "swa": "layers with windows", "rs": "states", "idx": "index keys",
    "cross": "cross-attention", "draft": "draft head",
}  # fmt: skip
"""An engine's pools by their names in an allocation."""


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """One pool of an engine on one device, and what is kept of it, ideally."""

    part: Part
    kept_cells: int
    kept_bytes: int

    @property
    def name(self) -> str:
        """The pool in words."""
        return PARTS[self.part.name]

    @property
    def why(self) -> str:
        """What is reserved for it, and the reason."""
        return f"{self.part.rule}: {self.part.reason}" if self.part.reason else self.part.rule


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What one engine reserves: on the fullest device, on all together, and why it differs from the need.

    `reason` says, where nothing could be computed, why not. `assumed` are options that were not given and
    made a difference, with the defaults they were counted with.
    """

    engine: str
    device_bytes: int | None
    cluster_bytes: int | None
    why: str
    reason: str = ""
    parts: tuple[PartAnswer, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def briefly(self) -> str:
        """What is reserved for the pool that takes most beyond what is kept; empty where nothing is."""
        if not self.parts:
            return ""
        most = max(self.parts, key=lambda each: each.part.bytes - each.kept_bytes)
        return most.part.rule if len(self.parts) == 1 else f"{most.name}: {most.part.rule}"


def engine_answers(question: Question) -> tuple[EngineAnswer, ...]:
    """The engines that serve this kind of model, each with its reservation or the reason why it has none."""
    crosses = any(s.role == "cross" for layer in question.plan.layers for s in layer.stores)
    listens = crosses and question.model.encoder_tokens is not None
    # Of what has an encoder, only one that listens is served by an engine whose rules are known.
    names = ["whisper.cpp"] if listens else [] if crosses else ["llama.cpp", "vllm", "sglang"]
    if question.engine not in (*names, "ideal"):
        names.append(question.engine)
    return tuple(_engine(question, name) for name in names)


def reserved_bytes(question: Question, context: int, batch: int) -> int:
    """Bytes that the asked engine reserves on the fullest device for so many sequences of one length."""
    return reserve(question, question.engine, context, batch, question.tp).total


def reserve(
    question: Question,
    engine: str,
    context: int,
    batch: int,
    tp: int,
    without: frozenset[str] = frozenset(),
) -> Allocation:
    """One engine's reservation on the fullest of `tp` devices; BadEngineArgument for what it cannot do.

    `without` leaves out rules of the engine by their names.
    """
    formats = FORMATS_OF.get(engine)
    parts = question.kv_dtype.lower().split("/")
    grows = any(s.grows_with != "nothing" for layer in question.plan.layers for s in layer.stores)
    if formats is not None and grows and any(part not in formats for part in parts):
        raise BadEngineArgument(f"{engine} does not store keys and values in {question.kv_dtype}")
    expanding = engine == "naive_mla" and question.model.config is not None
    source: Any = question.model.config if expanding else question.model.plan
    return allocation(
        source,
        engine=engine,
        context_tokens=context,
        batch=batch,
        kv_dtype=question.kv_dtype,
        tp=tp,
        encoder_tokens=question.encoder if engine in ("ideal", "whisper.cpp") else None,
        without=without,
        **_arguments(engine, context),
    )


def _arguments(engine: str, context: int) -> dict[str, Any]:
    """What builds of 2026 do unless told otherwise."""
    if engine == "vllm":
        return {"mode": "hybrid", "max_model_len": context}
    return {"pad": 256} if engine == "whisper.cpp" else {}


def _engine(question: Question, engine: str) -> EngineAnswer:
    try:
        device = reserve(question, engine, question.context, question.batch, question.tp)
        # llama.cpp splits a model between layers, so what all devices keep is what one would.
        whole = engine == "llama.cpp" and question.tp > 1
        alone = reserve(question, engine, question.context, question.batch, 1) if whole else device
        parts = _parts(device, reserve(question, "ideal", question.context, question.batch, question.tp))
    except InvalidPlan as error:
        return EngineAnswer(engine, None, None, "", str(error))
    cluster = alone.total if whole else device.total * question.tp
    said = (f"{each.name}, {each.why}" if len(parts) > 1 else each.why for each in parts)
    why = "; ".join(dict.fromkeys([*said, *device.notes]))
    assumed = tuple(f"{name}={value:,}" for name, value in device.assumed)
    return EngineAnswer(engine, device.total, cluster, why, parts=parts, notes=device.notes, assumed=assumed)


def _parts(device: Allocation, ideal: Allocation) -> tuple[PartAnswer, ...]:
    pools = {part.name for part in device.parts}
    found = []
    for part in device.parts:
        # Where windows are not used, their layers are among those that see everything.
        kept = [
            one for one in ideal.parts
            if one.name == part.name or (part.name == "base" and one.name == "swa" and "swa" not in pools)
        ]  # fmt: skip
        cells, size = max((one.cells for one in kept), default=0), sum(one.bytes for one in kept)
        found.append(PartAnswer(part, cells, size))
    return tuple(found)
