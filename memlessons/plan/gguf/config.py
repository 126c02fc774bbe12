"""The metadata of a GGUF file as the config.json of the same model, for the one parser of both.

A GGUF file names things its own way (`block_count` counts the layers of a draft head, a latent appears as
one head) and leaves to llama.cpp's code what it knows by the architecture's name. Keys: llama.cpp,
src/llama-arch.cpp, read in November 2026.
"""

from typing import Any

from memlessons.plan.gguf import architectures
from memlessons.plan.gguf.errors import UnsupportedModel
from memlessons.plan.gguf.header import GGUFHeader, LongArray
from memlessons.plan.gguf.kinds import layer_types
from memlessons.plan.gguf.metadata import LONGEST, MOST_LAYERS, Metadata
from memlessons.plan.gguf.parts import refuse_later_part
from memlessons.plan.gguf.states import state_fields

Config = dict[str, Any]
# GLM-5.2 shares each indexer among four layers, and its first files do not say so (llama.cpp, glm-dsa.cpp).
_GLM_5_2_CONTEXT = 1_048_576


def as_config(header: GGUFHeader) -> Config:
    """What the header says of the model, in fields of a config.json; `model_type` is the architecture.

    Raises BadMetadata (a value that cannot be), UnknownMetadata (a key that changes what is remembered and
    that no rule here knows), MissingParts (not the first part of a split model) or UnsupportedModel (no
    language model, or one that keeps nothing between tokens).
    """
    refuse_later_part(header)
    data = Metadata(header)
    data.refuse_other_files()
    if architectures.keeps_nothing(data.arch) or data.raw("attention.causal") is False:
        raise UnsupportedModel(
            f"{header.path}: a model of architecture {data.arch!r} reads a text as a whole and keeps nothing "
            "between tokens: there is no memory to size"
        )
    data.refuse_unknown()
    if data.raw("decoder_block_count") is not None or data.arch == "t5":
        return _encoder_decoder(data)
    total = data.need("block_count", most=MOST_LAYERS)
    drafting = data.whole("nextn_predict_layers", most=MOST_LAYERS) or 0
    if drafting >= total:
        raise data.error("nextn_predict_layers", drafting, f"must be less than block_count={total}")
    layers = total - drafting
    config = _general(data) | {"num_hidden_layers": layers}
    heads = data.per_layer("attention.head_count", layers, drafting) or [0] * layers
    kv_heads = data.per_layer("attention.head_count_kv", layers, drafting) or heads
    kinds, size = layer_types(data, layers, drafting, kv_heads)
    config["layer_types"] = kinds
    if size is not None:
        config["attention_chunk_size" if "chunked_attention" in kinds else "sliding_window"] = size
    if any(kv_heads):
        config |= _heads(data, heads, kv_heads) | _widths(data, heads, kv_heads)
        config |= _indexer(data, layers, drafting)
    config |= state_fields(data, heads)
    shared = data.whole("attention.shared_kv_layers", most=MOST_LAYERS)
    if shared is None and data.arch == "gemma3n":
        # Files of 2025 do not say it, and llama.cpp then takes 20 layers to keep their own.
        shared = max(0, layers - 20)
    if shared:
        config["num_kv_shared_layers"] = shared
    if drafting:
        config["num_nextn_predict_layers"] = drafting
    return config


def _general(data: Metadata) -> Config:
    tokens = data.header.metadata.get("tokenizer.ggml.tokens")
    listed = (
        tokens.length if isinstance(tokens, LongArray) else len(tokens) if isinstance(tokens, list) else None
    )
    found = {
        "model_type": data.arch,
        "hidden_size": data.need("embedding_length"),
        "vocab_size": data.whole("vocab_size", least=1) or listed,
        "max_position_embeddings": data.whole("context_length", most=LONGEST) or None,
        "num_experts": data.whole("expert_count") or None,
        "num_experts_per_tok": data.whole("expert_used_count") or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _heads(data: Metadata, heads: list[int], kv_heads: list[int]) -> Config:
    if not any(heads):
        raise data.error("attention.head_count", data.raw("attention.head_count"), "must be at least 1")
    latent = bool(data.whole("attention.kv_lora_rank"))
    # Where a latent is kept, one head is what files say of it; a config.json says what comes out of it.
    stored = heads if latent else kv_heads
    return {"num_attention_heads": _one(heads), "num_key_value_heads": _one(stored)}


def _one(values: list[int]) -> int | list[int]:
    """One number if all layers that attend have the same, else one a layer (nobody asks the others')."""
    found = set(values) - {0}
    return found.pop() if len(found) == 1 else [value or max(values) for value in values]


def _widths(data: Metadata, heads: list[int], kv_heads: list[int]) -> Config:
    hidden, most = data.need("embedding_length"), max(heads)
    key = data.whole("attention.key_length", least=1)
    if key is None:
        # llama.cpp divides by the heads of the first layer.
        first = heads[0] or most
        if hidden % first:
            raise data.error("attention.head_count", first, f"does not divide embedding_length={hidden}")
        key = hidden // first
    value = data.whole("attention.value_length", least=1) or key
    rank = data.whole("attention.kv_lora_rank")
    if rank:
        return _latent(data, rank, key, value)
    found: Config = {"head_dim": key}
    if value != key:
        found["v_head_dim"] = value
    key_swa = data.whole("attention.key_length_swa", least=1) or key
    value_swa = data.whole("attention.value_length_swa", least=1) or value
    if (key_swa, value_swa) != (key, value):
        found |= {"swa_head_dim": key_swa, "swa_v_head_dim": value_swa}
    return found


def _latent(data: Metadata, rank: int, key: int, value: int) -> Config:
    """DeepSeek's latent: files since April 2025 state its width as the key's, older ones the heads'."""
    key_mla, value_mla = (data.whole(f"attention.{part}_length_mla", least=1) for part in ("key", "value"))
    if key_mla is not None:
        # rope.dimension_count would say it too, but files of Kimi-Linear state the whole head there.
        rope = key - rank
        key, value = key_mla, value_mla or value
    else:
        rope = data.need("rope.dimension_count", least=0)
    if not 0 <= rope <= key:
        raise data.error("attention.kv_lora_rank", rank, f"leaves {rope} numbers for RoPE of a key of {key}")
    return {
        "kv_lora_rank": rank,
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": key - rope,
        "v_head_dim": value,
    }


def _indexer(data: Metadata, layers: int, drafting: int) -> Config:
    """The indexer of sparse attention: one head of keys a token, read in full to pick `top_k` tokens."""
    group = "attention.indexer" if data.raw("attention.indexer.key_length") is not None else "indexer"
    width = data.whole(f"{group}.key_length")
    if not width:
        return {}
    found: Config = {"index_head_dim": width}
    for name, key in (("index_n_heads", "head_count"), ("index_topk", "top_k")):
        value = data.whole(f"{group}.{key}", least=1)
        if value is not None:
            found[name] = value
    owners = data.flags(f"{group}.types", layers, drafting)
    if (
        owners is None
        and data.arch == "glm-dsa"
        and (data.whole("context_length", most=LONGEST) or 0) >= (_GLM_5_2_CONTEXT)
    ):
        owners = [i < 2 or i % 4 == 2 for i in range(layers)]
    if owners is not None:
        found["indexer_types"] = ["full" if own else "shared" for own in owners]
    return found


def _encoder_decoder(data: Metadata) -> Config:
    """T5: `block_count` are the encoder's layers, the decoder's too unless `decoder_block_count` differs."""
    encoder = data.need("block_count", most=MOST_LAYERS)
    decoder = data.whole("decoder_block_count", least=1, most=MOST_LAYERS) or encoder
    heads = data.need("attention.head_count")
    hidden = data.need("embedding_length")
    return _general(data) | {
        "is_encoder_decoder": True,
        "num_layers": encoder,
        "num_decoder_layers": decoder,
        "num_attention_heads": heads,
        "num_key_value_heads": data.whole("attention.head_count_kv", least=1) or heads,
        "head_dim": data.whole("attention.key_length", least=1) or max(1, hidden // heads),
    }
