"""Which rule adds up which type of model."""

from collections.abc import Callable, Mapping

from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.weights.decoder import decoder
from memlessons.plan.huggingface.weights.families.bert import BERT, bert
from memlessons.plan.huggingface.weights.families.early import chatglm, dbrx, xlm, xlnet, xlstm
from memlessons.plan.huggingface.weights.families.gemma import gemma3n, gemma4
from memlessons.plan.huggingface.weights.families.mamba import (
    mamba2_alone,
    mamba_alone,
    nemotron_h,
    zamba,
    zamba2,
)  # fmt: skip
from memlessons.plan.huggingface.weights.families.recent import axk2, deepseek_v4, hrm_text, inkling, zaya
from memlessons.plan.huggingface.weights.families.seq2seq import SEQ2SEQ, seq2seq
from memlessons.plan.huggingface.weights.families.single import (
    cpmant,
    falcon,
    jetmoe,
    longcat,
    modernbert_decoder,
    opt,
    refined_web,
    rwkv,
)  # fmt: skip
from memlessons.plan.huggingface.weights.families.t5 import T5, t5
from memlessons.plan.huggingface.weights.families.uneven import hunyuan, nemotron_nas, openelm
from memlessons.plan.huggingface.weights.ledger import Ledger
from memlessons.plan.huggingface.weights.shape import Shape
from memlessons.plan.huggingface.weights.tables.dense import DENSE
from memlessons.plan.huggingface.weights.tables.experts import EXPERTS
from memlessons.plan.huggingface.weights.tables.hybrid import HYBRID
from memlessons.plan.huggingface.weights.tables.older import OLDER

Count = Callable[[Fields, Ledger], None]

SINGLE: Mapping[str, Count] = {
    "gemma3n_text": gemma3n, "gemma4_text": gemma4, "gemma4_unified_text": gemma4,
    "mamba": mamba_alone, "falcon_mamba": mamba_alone, "mamba2": mamba2_alone, "nemotron_h": nemotron_h,
    "zamba": zamba, "zamba2": zamba2, "falcon": falcon, "opt": opt, "modernbert-decoder": modernbert_decoder,
    "cpmant": cpmant, "rwkv": rwkv, "jetmoe": jetmoe, "longcat_flash": longcat,
    "xlnet": xlnet, "xlm": xlm, "xlstm": xlstm, "dbrx": dbrx, "chatglm": chatglm, "deepseek_v4": deepseek_v4,
    "RefinedWeb": refined_web, "RefinedWebModel": refined_web, "openelm": openelm,
    "nemotron-nas": nemotron_nas, "hunyuan": hunyuan, "axk2": axk2, "zaya": zaya, "hrm_text": hrm_text,
    "inkling_text": inkling,
}  # fmt: skip

_TABLES = (DENSE, EXPERTS, HYBRID, OLDER)
# Rules outside the tables that count experts where a file has them; Doge's own says that it does not.
_WITH_EXPERTS = frozenset((
    "gemma4_text", "gemma4_unified_text", "nemotron_h", "jetmoe", "longcat_flash", "dbrx", "deepseek_v4",
    "axk2", "zaya", "inkling_text", "hunyuan", "doge",
))  # fmt: skip


def shape_of(model_type: str) -> Shape | None:
    """The facts about the layers of this type; None where it has a rule of its own, or none."""
    return next((table[model_type] for table in _TABLES if model_type in table), None)


def counts_experts(model_type: str) -> bool:
    """Whether the rule of this type counts experts."""
    shape = shape_of(model_type)
    return model_type in _WITH_EXPERTS or (shape is not None and shape.experts is not None)


def count_of(model_type: str) -> Count | None:
    """The rule that adds up models of this type; None where there is none."""
    shape = shape_of(model_type)
    if shape is not None:
        return lambda fields, ledger: decoder(fields, shape, ledger)
    if model_type in BERT:
        return lambda fields, ledger: bert(fields, BERT[model_type], ledger)
    if model_type in SEQ2SEQ:
        return lambda fields, ledger: seq2seq(fields, SEQ2SEQ[model_type], ledger)
    if model_type in T5:
        return lambda fields, ledger: t5(fields, T5[model_type], ledger)
    return SINGLE.get(model_type)


def known_types() -> tuple[str, ...]:
    """All types whose weights a rule adds up, in order of name."""
    tables: tuple[Mapping[str, object], ...] = (*_TABLES, BERT, SEQ2SEQ, T5, SINGLE)
    return tuple(sorted({name for table in tables for name in table}))
