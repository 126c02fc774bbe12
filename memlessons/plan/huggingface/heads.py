"""How many heads a layer has and how wide they are: query heads, key and value heads, widths of K and V."""

from collections.abc import Callable
from dataclasses import replace

from memlessons.plan.huggingface import names
from memlessons.plan.huggingface.blocks import attention_of_block
from memlessons.plan.huggingface.errors import BadConfig, UnknownArchitecture
from memlessons.plan.huggingface.fields import Fields
from memlessons.plan.huggingface.rules import Fired, Rule, first
from memlessons.plan.huggingface.source import keeps_query_heads

_HF = "transformers 5.24, configuration of the class"
_VLLM = "vLLM, transformers_utils/model_arch_config_convertor.py"


def query_heads(fields: Fields) -> int | None:
    """Query heads of a layer; None where the configuration does not say."""
    fired = first(QUERY_HEADS, fields)
    return None if fired is None else fired.value


def kv_heads(fields: Fields) -> Fired[int]:
    """Heads that a layer stores; UnknownArchitecture where nothing says how many."""
    fired = first(KV_HEADS, fields)
    if fired is None:
        raise UnknownArchitecture(
            f"model_type={fields.model_type!r} names no key and value heads ({', '.join(names.KV_HEADS)}): "
            "only of types that are known to keep as many as query heads would that be assumed. A model that "
            "attends to nothing has a state, and no rule knows this one's"
        )
    return fired


def key_width(fields: Fields) -> Fired[int]:
    """Numbers of a key of one head; UnknownArchitecture where nothing says how many."""
    fired = first(KEY_WIDTH, fields)
    if fired is None:
        raise UnknownArchitecture(
            "no rule gives the width of a head: no head_dim, and no hidden_size or no num_attention_heads"
        )
    return fired


def value_width(fields: Fields) -> Fired[int] | None:
    """Numbers of a value of one head, where a field says that it is not the key's."""
    return first(VALUE_WIDTH, fields)


def hidden_size(fields: Fields) -> int | None:
    """Width of the residual stream."""
    return fields.whole(*names.HIDDEN)


def _named(*spellings: str, kinds: str | None = None) -> Callable[[Fields], int | None]:
    """The first of these fields, in layers of these kinds only if any are named."""

    def value(fields: Fields) -> int | None:
        if kinds is not None and fields.kind not in kinds.split():
            return None
        return fields.whole(*spellings)

    return value


def _global_heads(fields: Fields) -> int | None:
    # Gemma 4 has fewer heads there only where keys are values too. What the class fills in does not count:
    # its default is false, and published figures of files that leave it out have the fewer heads.
    said = replace(fields, defaults={})
    if fields.kind != "full" or said.flag("attention_k_eq_v") is False:
        return None
    return fields.whole("num_global_key_value_heads")


def _other_setting(fields: Fields) -> int | None:
    inner = fields.inner("attention_other_setting") if fields.kind == "sliding" else None
    return None if inner is None else inner.whole("num_attention_heads")


def _of_group(fields: Fields) -> int | None:
    """Nemotron-NAS: so many query heads share a K and V, layer by layer."""
    attention, heads = attention_of_block(fields), query_heads(fields)
    size = None if attention is None else attention.whole("n_heads_in_group")
    if size is None or heads is None:
        return None
    if heads % size:
        raise BadConfig(f"block_configs[{fields.layer}]: {heads} heads are no multiple of groups of {size}")
    return heads // size


def _multi_query(fields: Fields) -> int | None:
    if fields.flag("new_decoder_architecture"):
        return None
    return 1 if fields.flag("multi_query") else None


def _named_multi_query(fields: Fields) -> int | None:
    return 1 if fields.text("attention_head_type") == "multiquery" else None


def _first_chatglm(fields: Fields) -> int | None:
    return query_heads(fields) if fields.flag("position_encoding_2d") else None


def _chatglm(fields: Fields) -> int | None:
    if fields.flag("multi_query_attention") is False:
        return query_heads(fields)
    return None


def _mpt(fields: Fields) -> int | None:
    attention = fields.inner("attn_config")
    if attention is None:
        return None
    return 1 if attention.text("attn_type") == "multiquery_attention" else attention.whole("kv_n_heads")


def _null(fields: Fields) -> int | None:
    return query_heads(fields) if fields.is_null(*names.KV_HEADS) else None


def _known_multi_head(fields: Fields) -> int | None:
    if any(fields.has(name) for name in names.KV_HEADS) or not keeps_query_heads(fields.model_type):
        return None
    # A layer of an encoder-decoder of unknown heads stores d_model numbers however they are divided.
    return query_heads(fields) or (1 if fields.kind == "decoder" else None)


def _of_two_streams(fields: Fields) -> int | None:
    wide, heads = fields.whole("attention_hidden_size"), query_heads(fields)
    if wide is None or heads is None or fields.has("head_dim"):
        return None
    if wide % heads:
        raise BadConfig(f"attention_hidden_size={wide} is no multiple of {heads} heads")
    return wide // heads


def _divided(fields: Fields) -> int | None:
    hidden, heads = hidden_size(fields), query_heads(fields)
    if hidden is None:
        return None
    if heads is None:
        return hidden if fields.kind == "decoder" else None
    if hidden % heads:
        raise BadConfig(f"hidden_size={hidden} is no multiple of {heads} heads, and no head_dim is given")
    return hidden // heads


def _apart(fields: Fields) -> int | None:
    if fields.flag("use_mla") is False:
        # A file of a class that can keep latents has a 0 where this model has no width of its own.
        return fields.whole("v_head_dim", least=0) or None
    # In a latent's configuration v_head_dim is what is computed from it, not what is kept.
    return None if fields.raw("kv_lora_rank") is not None else fields.whole("v_head_dim")


QUERY_HEADS: tuple[Rule[int], ...] = (
    Rule("query_heads: swa_num_attention_heads", f"{_HF} (MiMo-V2)",
         _named("swa_num_attention_heads", kinds="sliding")),
    Rule("query_heads: attention_other_setting", "Step-3.5, config.json: with a window", _other_setting),
    Rule("query_heads: num_sliding_attention_heads", f"{_HF} (Step 3.5)",
         _named("num_sliding_attention_heads", kinds="sliding")),
    Rule("query_heads: num_attention_heads_per_layer", f"{_HF} (Laguna)",
         _named("num_attention_heads_per_layer")),
    Rule("query_heads: by name", _VLLM, _named(*names.QUERY_HEADS)),
)  # fmt: skip
KV_HEADS: tuple[Rule[int], ...] = (
    Rule("kv_heads: n_heads_in_group", f"{_VLLM} (Nemotron-NAS)", _of_group),
    Rule("kv_heads: num_global_key_value_heads", f"{_HF} (Gemma 4): layers that see everything",
         _global_heads),
    Rule("kv_heads: swa_num_key_value_heads", f"{_HF} (MiMo-V2): layers with a window",
         _named("swa_num_key_value_heads", kinds="sliding")),
    Rule("kv_heads: multi_query", f"{_VLLM} (Falcon, GPT-BigCode): one head, unless new_decoder_architecture",
         _multi_query),
    Rule("kv_heads: attention_head_type", "SantaCoder, config.json: multiquery", _named_multi_query),
    Rule("kv_heads: position_encoding_2d", "ChatGLM-6B, modeling_chatglm.py: every head keeps its own",
         _first_chatglm),
    Rule("kv_heads: multi_query_attention is false", "ChatGLM2, config.json", _chatglm),
    Rule("kv_heads: attn_config", f"{_VLLM} (MPT, DBRX)", _mpt),
    Rule("kv_heads: n_head_kv", f"{_VLLM} (Falcon)", _named("n_head_kv")),
    Rule("kv_heads: num_kv_heads", f"{_VLLM} (Falcon 40B, OpenELM)", _named("num_kv_heads")),
    Rule("kv_heads: num_key_value_heads", _VLLM, _named("num_key_value_heads")),
    Rule("kv_heads: multi_query_group_num", f"{_VLLM} (ChatGLM)", _named("multi_query_group_num")),
    Rule("kv_heads: num_attention_groups", f"{_VLLM} (Step)", _named("num_attention_groups")),
    Rule("kv_heads: decoder_num_key_value_heads", f"{_HF} (Moonshine)",
         _named("decoder_num_key_value_heads")),
    Rule("kv_heads: null means as many as query heads", _HF, _null),
    Rule("kv_heads: a type with as many as query heads", _HF, _known_multi_head),
)  # fmt: skip
KEY_WIDTH: tuple[Rule[int], ...] = (
    Rule("width: global_head_dim", f"{_HF} (Gemma 4): layers that see everything",
         _named("global_head_dim", kinds="full")),
    Rule("width: swa_head_dim", f"{_HF} (MiMo-V2, Inkling): layers with a window",
         _named("swa_head_dim", kinds="sliding")),
    Rule("width: head_dim", _HF, _named("head_dim")),
    Rule("width: attention_head_dim", f"{_VLLM} (Zamba2)", _named("attention_head_dim")),
    Rule("width: attention_hidden_size / heads", f"{_HF} (Zamba): attention reads two residual streams",
         _of_two_streams),
    Rule("width: kv_channels", f"{_HF} (GLM, JetMoe)", _named("kv_channels")),
    Rule("width: hidden_size_per_head", f"{_VLLM} (PLaMo)", _named("hidden_size_per_head")),
    Rule("width: d_kv", f"{_HF} (T5)", _named("d_kv")),
    Rule("width: hidden size / heads", "arXiv:1706.03762", _divided),
)  # fmt: skip
VALUE_WIDTH: tuple[Rule[int], ...] = (
    Rule("values: swa_v_head_dim", f"{_HF} (MiMo-V2): layers with a window",
         _named("swa_v_head_dim", kinds="sliding")),
    Rule("values: v_head_dim", f"{_HF} (MiMo-V2): where no latent is kept", _apart),
)  # fmt: skip
