"""What kind of layer each layer is: the table of all ways in which configurations say so.

Kinds: "full", "sliding" and "chunked" attention; "cross" (to an encoder or to images); "decoder" and "decoder
sliding" (to itself and to an encoder); "indexed" (full attention that an indexer thins out); "linear", "conv"
(a state and no attention); "parallel" and "parallel sliding" (attention and a state in one layer); "heavy"
and "sparse" (DeepSeek-V4's compressed kinds); "none".
"""

from memlessons.plan.huggingface import names
from memlessons.plan.huggingface.blocks import kinds_of_blocks
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import MOST_LAYERS, Fields
from memlessons.plan.huggingface.order import DRAFT
from memlessons.plan.huggingface.patterns import (
    Kinds,
    call_sites,
    kimi_linear,
    letters,
    local_ids,
    numbered,
    ones,
    pattern_text,
    ratios,
    repeated,
    spelled,
    units,
)
from memlessons.plan.huggingface.periods import (
    above_max_window,
    all_full,
    all_sliding,
    all_state,
    chunks,
    counted_from_0,
    in_every_layer,
    interval,
    of_class,
    period,
    plamo_steps,
    sparse_freq,
)
from memlessons.plan.huggingface.rules import Fired, Rule, first


def layer_kinds(fields: Fields) -> tuple[Kinds, Rule[Kinds]]:
    """The kind of each layer and the rule that said so; raises where no rule applies or lengths differ."""
    fired = first(KINDS, fields)
    if fired is None:
        raise UnknownArchitecture("no rule says which layers attend: num_hidden_layers is missing")
    return _checked(fired, fields)


def _checked(fired: Fired[Kinds], fields: Fields) -> tuple[Kinds, Rule[Kinds]]:
    kinds = fired.value
    if not kinds:
        raise BadConfig(f"{fired.rule.name}: no layers")
    if fields.layers is not None and len(kinds) == fields.layers + _drafted(fields):
        kinds = kinds[: fields.layers]
    if fields.layers is not None and len(kinds) != fields.layers:
        raise BadConfig(f"{fired.rule.name}: it names {len(kinds)} layers, but the model has {fields.layers}")
    return kinds, fired.rule


def _drafted(fields: Fields) -> int:
    """Layers of a draft head, whose kinds a list may name after those of the model."""
    found = first(DRAFT, fields)
    return 0 if found is None else found.value


def drafted_kinds(fields: Fields, rule: Rule[Kinds]) -> Kinds:
    """The kinds of a draft head's layers, where the list that gave those of the model names them too."""
    named = rule.apply(fields) or []
    return named[fields.layers :] if fields.layers is not None else []


def layer_count(fields: Fields) -> int | None:
    """Layers by number, None where only a list of kinds gives it. Encoder layers do not count."""
    spellings: tuple[str, ...] = names.LAYERS
    if fields.flag("is_encoder_decoder") or (fields.has("encoder_layers") and fields.has("decoder_layers")):
        # T5 calls its encoder's layers num_layers.
        spellings = ("decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers", *names.LAYERS)
    return fields.whole(*spellings, most=MOST_LAYERS)


def _encoder_decoder(fields: Fields) -> Kinds | None:
    """A decoder's layers are of the kinds that its other fields say, and each looks at the encoder too."""
    around = any(level.get("is_encoder_decoder") is True for level in fields.levels)
    if not (
        around
        or fields.flag("is_encoder_decoder", "add_cross_attention")
        or fields.has("max_source_positions")
    ):
        return None
    own = first(KINDS[1:], fields)
    decoder = {"full": "decoder", "sliding": "decoder sliding"}
    return None if own is None else [decoder.get(kind, kind) for kind in own.value]


_VLLM = "vLLM, transformers_utils/model_arch_config_convertor.py"
_HF = "transformers 5.24, configuration of the class"
KINDS: tuple[Rule[Kinds], ...] = (
    Rule("kinds: an encoder and a decoder", _HF, _encoder_decoder),
    Rule("kinds: layer_types", _HF, spelled("layer_types")),
    Rule("kinds: layers_block_type", f"{_HF} (Bamba, Zamba2)", spelled("layers_block_type")),
    Rule("kinds: hybrid_override_pattern", f"{_HF} (Nemotron-H)", letters),
    Rule("kinds: block_types, repeated", f"{_HF} (RecurrentGemma)", repeated),
    Rule("kinds: full_attn_idxs", f"{_HF} (LFM2)", numbered("full_attn_idxs", "conv")),
    Rule("kinds: mamba_step", "vLLM, models/plamo2.py", plamo_steps),
    Rule("kinds: attn_layer_period", f"{_HF} (Jamba)", period),
    Rule("kinds: attn_layer_indices", f"{_HF} (Bamba)", numbered("attn_layer_indices", "linear")),
    Rule("kinds: full_attention_interval", f"{_HF} (Qwen3-Next)",
         interval("full_attention_interval", "linear")),
    Rule("kinds: layer_group_size", f"{_HF} (Ling hybrid)", interval("layer_group_size", "linear")),
    Rule("kinds: attn_type_list", "MiniMax-Text-01, config.json: 1 is softmax attention",
         ones("attn_type_list", "full", "linear")),
    Rule("kinds: hybrid_layer_pattern", "MiMo-V2-Flash, config.json: 1 is a window",
         ones("hybrid_layer_pattern", "sliding", "full")),
    Rule("kinds: linear_attn_config, counted from 1", "Kimi-Linear, config.json", kimi_linear),
    Rule("kinds: hybrid_layer_ids", f"{_HF} (Zamba2)", call_sites),
    Rule("kinds: attention and a state in every layer", f"{_HF} (Falcon-H1)", in_every_layer),
    Rule("kinds: block_configs", f"{_VLLM} (Nemotron-NAS)", kinds_of_blocks),
    Rule("kinds: cross_attention_layers", f"{_HF} (Llama 3.2 Vision)",
         numbered("cross_attention_layers", "full", "cross")),
    Rule("kinds: local_layer_ids", f"{_HF} (Inkling)", local_ids),
    Rule("kinds: sliding_window_pattern in letters", f"{_HF} (EXAONE 4)", pattern_text),
    Rule("kinds: sliding_window_pattern", f"{_HF} (Gemma 3, Cohere2)",
         interval("sliding_window_pattern", "sliding")),
    Rule("kinds: global_attn_every_n_layers, counted from 0", f"{_HF} (ModernBERT)", counted_from_0),
    Rule("kinds: global_attn_every_n_layers", f"{_HF} (AFMoE)",
         interval("global_attn_every_n_layers", "sliding")),
    Rule("kinds: compress_ratios", f"{_HF} (DeepSeek-V4)", ratios),
    Rule("kinds: sparse_attention_freq", f"{_HF} (MiniMax M3)", sparse_freq),
    Rule("kinds: attention_types", f"{_HF} (GPT-Neo)", units),
    Rule("kinds: attention_layers", f"{_HF} (GPT-Neo)", spelled("attention_layers")),
    Rule("kinds: chunks where RoPE is", f"{_HF} (Llama 4)", chunks),
    Rule("kinds: max_window_layers", f"{_HF} (Qwen2)", above_max_window),
    Rule("kinds: the class's own pattern", _HF, of_class),
    Rule("kinds: a state in every layer", f"{_HF} (Mamba, RWKV, xLSTM)", all_state),
    Rule("kinds: a window in every layer", f"{_HF} (Mistral)", all_sliding),
    Rule("kinds: every layer attends to everything", "the design of the transformer, arXiv:1706.03762",
         all_full),
)  # fmt: skip
