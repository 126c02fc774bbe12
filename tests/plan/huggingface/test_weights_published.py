"""Parameters by rule against figures that are public: model cards and the counts of published checkpoints.

The configurations are written by hand as their files say, without what does not change a count.
"""

from typing import Any

import pytest

from memlessons.plan.huggingface.weights import parts_of, stored_of, weights_of


def llama(
    hidden: int, inner: int, layers: int, heads: int, kv: int, vocab: int, **more: Any
) -> dict[str, Any]:
    return {
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocab,
        "tie_word_embeddings": False, **more,
    }  # fmt: skip


DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128, "n_routed_experts": 256,
    "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "moe_layer_freq": 1,
    "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "num_nextn_predict_layers": 1, "tie_word_embeddings": False, "vocab_size": 129280,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128],
                            "activation_scheme": "dynamic"},
}  # fmt: skip
GPT_OSS_120B = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36,
    "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 128,
    "num_experts_per_tok": 4, "experts_per_token": 4, "vocab_size": 201088, "attention_bias": True,
    "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 18,
    "tie_word_embeddings": False,
    "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]},
}  # fmt: skip
MIXTRAL = {
    **llama(4096, 14336, 32, 32, 8, 32000), "model_type": "mixtral", "num_local_experts": 8,
    "num_experts_per_tok": 2,
}  # fmt: skip
QWEN3_30B = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768,
    "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
    "num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": [],
    "vocab_size": 151936, "tie_word_embeddings": False, "attention_bias": False,
}  # fmt: skip
GEMMA3_27B = {
    "model_type": "gemma3", "vision_config": {"hidden_size": 1152},
    "text_config": {
        "model_type": "gemma3_text", "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504,
        "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16,
        "query_pre_attn_scalar": 168, "sliding_window": 1024,
    },
}  # fmt: skip
GEMMA3_4B = {
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text", "num_hidden_layers": 34,
        "sliding_window": 1024,
    },
}  # fmt: skip
WHISPER_LARGE_V3 = {
    "model_type": "whisper", "is_encoder_decoder": True, "d_model": 1280, "encoder_layers": 32,
    "decoder_layers": 32, "encoder_ffn_dim": 5120, "decoder_ffn_dim": 5120, "encoder_attention_heads": 20,
    "decoder_attention_heads": 20, "num_mel_bins": 128, "max_source_positions": 1500,
    "max_target_positions": 448, "vocab_size": 51866,
}  # fmt: skip
T5_SMALL = {
    "model_type": "t5", "is_encoder_decoder": True, "d_model": 512, "d_ff": 2048, "d_kv": 64, "num_layers": 6,
    "num_heads": 8, "relative_attention_num_buckets": 32, "vocab_size": 32128,
}  # fmt: skip
BART_LARGE = {
    "model_type": "bart", "is_encoder_decoder": True, "d_model": 1024, "encoder_layers": 12,
    "decoder_layers": 12, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "encoder_attention_heads": 16,
    "decoder_attention_heads": 16, "max_position_embeddings": 1024, "vocab_size": 50265,
}  # fmt: skip
PHI_MOE = {
    **llama(4096, 6400, 32, 32, 8, 32064), "model_type": "phimoe", "attention_bias": True,
    "lm_head_bias": True,
    "num_local_experts": 16, "num_experts_per_tok": 2,
}  # fmt: skip
CHATGLM3 = {
    "model_type": "chatglm", "hidden_size": 4096, "ffn_hidden_size": 13696, "num_layers": 28,
    "num_attention_heads": 32, "kv_channels": 128, "multi_query_attention": True, "multi_query_group_num": 2,
    "padded_vocab_size": 65024, "add_bias_linear": False, "add_qkv_bias": True, "post_layer_norm": True,
    "tie_word_embeddings": False,
}  # fmt: skip
QWEN_7B = {
    "model_type": "qwen", "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
    "num_attention_heads": 32, "kv_channels": 128, "no_bias": True, "vocab_size": 151936,
    "tie_word_embeddings": False,
}  # fmt: skip
DEEPSEEK_MOE = {
    **llama(2048, 10944, 28, 16, 16, 102400), "model_type": "deepseek", "moe_intermediate_size": 1408,
    "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
}  # fmt: skip
DBRX = {
    "model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352,
    "attn_config": {"kv_n_heads": 8}, "tie_word_embeddings": False,
    "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
}  # fmt: skip
PUBLISHED = {
    "Llama-3.1-8B": (llama(4096, 14336, 32, 32, 8, 128256), 8_030_261_248),
    "Llama-3.1-70B": (llama(8192, 28672, 80, 64, 8, 128256), 70_553_706_496),
    "Llama-3.1-405B": (llama(16384, 53248, 126, 128, 8, 128256), 405_853_388_800),
    "Llama-3.2-1B": (llama(2048, 8192, 16, 32, 8, 128256, tie_word_embeddings=True), 1_235_814_400),
    "SmolLM2-135M": (llama(576, 1536, 30, 9, 3, 49152, tie_word_embeddings=True), 134_515_008),
    "Mistral-7B": ({**llama(4096, 14336, 32, 32, 8, 32000), "model_type": "mistral"}, 7_241_732_096),
    "Mixtral-8x7B": (MIXTRAL, 46_702_792_704),
    "Mixtral-8x22B": ({**MIXTRAL, "hidden_size": 6144, "intermediate_size": 16384, "num_hidden_layers": 56,
                       "num_attention_heads": 48}, 140_620_634_112),
    "Qwen2.5-7B": ({**llama(3584, 18944, 28, 28, 4, 152064), "model_type": "qwen2"}, 7_615_616_512),
    "Qwen3-30B-A3B": (QWEN3_30B, 30_532_122_624),
    "Gemma-2-9B": ({**llama(3584, 14336, 42, 16, 8, 256000), "model_type": "gemma2", "head_dim": 256,
                    "tie_word_embeddings": True}, 9_241_705_984),
    "Gemma-3-27B, text": (GEMMA3_27B, 27_009_346_304),
    # The whole has 4,300,079,472: the rest is a vision tower of 416,866,032 and a projector of 2,950,272.
    "Gemma-3-4B, text": (GEMMA3_4B, 3_880_263_168),
    "DeepSeek-V3": (DEEPSEEK_V3, 671_026_404_352),
    "gpt-oss-120b": (GPT_OSS_120B, 116_829_156_672),
    "gpt-oss-20b": ({**GPT_OSS_120B, "num_hidden_layers": 24, "num_local_experts": 32,
                     "layer_types": ["sliding_attention", "full_attention"] * 12}, 20_914_757_184),
    "Phi-3-mini": ({**llama(3072, 8192, 32, 32, 32, 32064), "model_type": "phi3"}, 3_821_079_552),
    "Phi-3.5-MoE": (PHI_MOE, 41_873_153_344),
    "GPT-2": ({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
               "vocab_size": 50257}, 124_439_808),
    "BLOOM": ({"model_type": "bloom", "n_embed": 14336, "hidden_size": 14336, "n_layer": 70,
               "num_attention_heads": 112, "vocab_size": 250880}, 176_247_271_424),
    "Falcon-7B": ({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
                   "num_attention_heads": 71, "multi_query": True, "parallel_attn": True, "bias": False,
                   "vocab_size": 65024}, 6_921_720_704),
    "T5-small": (T5_SMALL, 60_506_624),
    "BART-large": (BART_LARGE, 406_291_456),
    "Whisper-large-v3": (WHISPER_LARGE_V3, 1_543_490_560),
    "ChatGLM3-6B": (CHATGLM3, 6_243_584_000),
    "Qwen-7B": (QWEN_7B, 7_721_324_544),
    "Baichuan2-7B": ({**llama(4096, 11008, 32, 32, 32, 125696), "model_type": "baichuan"}, 7_505_973_248),
    "InternLM2-7B": ({**llama(4096, 14336, 32, 32, 8, 92544), "model_type": "internlm2", "bias": False},
                     7_737_708_544),
    "MiniCPM-2B": ({**llama(2304, 5760, 40, 36, 36, 122753), "model_type": "minicpm",
                    "tie_word_embeddings": True}, 2_724_880_896),
    "DeepSeek-MoE-16B": (DEEPSEEK_MOE, 16_375_728_128),
    "DBRX": (DBRX, 131_596_523_520),
    # The files have 60 x 384 numbers more: they correct the router's scores, and are no parameters.
    "Kimi-K2": ({**DEEPSEEK_V3, "model_type": "kimi_k2", "num_attention_heads": 64, "n_routed_experts": 384,
                 "first_k_dense_replace": 1, "vocab_size": 163840}, 1_026_408_232_448 - 60 * 384),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_equal_the_published_count(name: str) -> None:
    config, expected = PUBLISHED[name]
    parts = parts_of(config)
    assert parts is not None
    assert sum(parts.values()) == expected


@pytest.mark.parametrize(
    ("name", "active"),
    [
        ("Mixtral-8x7B", 12.9e9),
        ("Mixtral-8x22B", 39.2e9),
        ("Qwen3-30B-A3B", 3.35e9),
        ("DeepSeek-V3", 37.55e9),
        ("Phi-3.5-MoE", 6.64e9),
        ("DBRX", 36.47e9),
        ("DeepSeek-MoE-16B", 2.83e9),
    ],
)  # fmt: skip
def test_active_parameters_are_those_of_the_model_card(name: str, active: float) -> None:
    found = weights_of(PUBLISHED[name][0])
    assert found is not None
    assert found.active_parameters == pytest.approx(active, rel=0.003)


def test_the_published_active_count_of_gpt_oss_leaves_out_its_embedding_too() -> None:
    found, parts = weights_of(GPT_OSS_120B), parts_of(GPT_OSS_120B)
    assert found is not None and parts is not None
    assert found.active_parameters - parts["embeddings"] == pytest.approx(5.13e9, rel=0.001)


def test_dense_models_are_active_as_a_whole() -> None:
    found = weights_of(PUBLISHED["Llama-3.1-8B"][0])
    assert found is not None
    assert found.active_parameters == found.parameters


def test_bytes_of_gpt_oss_are_those_of_its_files() -> None:
    large, small = weights_of(GPT_OSS_120B), weights_of(PUBLISHED["gpt-oss-20b"][0])
    assert large is not None and small is not None
    assert (large.stored_bytes, small.stored_bytes) == (65_248_815_744, 13_761_264_768)


def test_a_token_of_gpt_oss_touches_more_bytes_a_parameter_than_the_whole_has() -> None:
    kept, parts = stored_of(GPT_OSS_120B), parts_of(GPT_OSS_120B)
    assert kept is not None and parts is not None
    biases = 36 * 128 * (2 * 2880 + 2880)
    experts = (parts["experts"] - biases) * 17 // 32 + 2 * biases
    others = 2 * sum(count for part, count in parts.items() if part != "experts")
    assert kept.active_bytes == experts * 4 // 128 + others
    assert kept.bytes == experts + others


def test_bytes_of_deepseek_v3_are_a_byte_a_weight_and_scales() -> None:
    found, parts = weights_of(DEEPSEEK_V3), parts_of(DEEPSEEK_V3)
    assert found is not None and parts is not None
    kept = parts["embeddings"] + parts["head"] + parts["norms"] + parts["router"]
    quantised = found.parameters - kept
    # All its matrices but those of 576 rows are whole blocks of 128 x 128.
    assert found.stored_bytes == pytest.approx(2 * kept + quantised + 4 * quantised / 128**2, abs=61 * 4 * 56)


def test_a_composite_counts_its_language_model_and_says_so() -> None:
    found = weights_of(GEMMA3_27B)
    assert found is not None
    assert "language model alone, with its class's defaults for vocab_size" in found.source
