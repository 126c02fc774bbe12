"""A GGUF header as config.json, held against the bytes that engines logged for the same models."""

from pathlib import Path
from typing import Any

import pytest

from memlessons.plan import MemoryPlan
from memlessons.plan.gguf import (
    BadMetadata,
    ModelFileError,
    UnknownMetadata,
    UnsupportedModel,
    as_config,
    read_header,
)
from memlessons.plan.huggingface import from_huggingface
from tests.plan.gguf.writer import attention, of, write


def config(tmp_path: Path, arch: str, **keys: Any) -> dict[str, Any]:
    return as_config(read_header(write(tmp_path / "m.gguf", of(arch, **keys)), arrays_up_to=4096))


def plan(tmp_path: Path, arch: str, **keys: Any) -> MemoryPlan:
    return from_huggingface(config(tmp_path, arch, **keys))


def cells(plan: MemoryPlan, context: int, slots: int = 1, ubatch: int = 512, roles: str = "") -> int:
    """What llama.cpp allocates for one store of each kind: whole contexts, windows in cells of 256.

    llama-kv-cache-iswa.cpp: a window of W has room for W tokens a sequence and a batch, in steps of 256.
    """
    total = 0
    for layer in plan.layers:
        for store in layer.stores:
            if store.role in (roles.split() or ("self", "latent")):
                held = context
                if store.window is not None:
                    held = min(context, -(-(store.window * slots + ubatch) // 256) * 256)
                total += held * store.slot_bytes
    return total


def full_then(window: int, of_layers: int, first: bool = False) -> list[bool]:
    """True where a layer has a window: all but one of each `window` layers."""
    return [(i % window != 0) if first else ((i + 1) % window != 0) for i in range(of_layers)]


R1_NEW = attention(
    61, 7168, 128, 1, 576, attention__kv_lora_rank=512, attention__key_length_mla=192,
    attention__value_length_mla=128, rope__dimension_count=64, attention__q_lora_rank=1536,
) | {"attention__value_length": 512}  # fmt: skip
R1_OLD = attention(61, 7168, 128, 128, 192, attention__kv_lora_rank=512, rope__dimension_count=64) | {
    "attention__value_length": 128
}
GEMMA4_E4B = attention(
    42, 2560, 8, 2, 512, attention__key_length_swa=256, attention__value_length_swa=256,
    attention__sliding_window=512, attention__sliding_window_pattern=full_then(6, 42),
    attention__shared_kv_layers=18,
)  # fmt: skip
GEMMA4_31B = attention(
    60, 5376, 32, [16 if w else 4 for w in full_then(6, 60)], 512, attention__key_length_swa=256,
    attention__value_length_swa=256, attention__sliding_window=1024,
    attention__sliding_window_pattern=full_then(6, 60),
)  # fmt: skip
QWEN35_27B = attention(
    65, 5120, 24, 4, 256, nextn_predict_layers=1, full_attention_interval=4, ssm__conv_kernel=4,
    ssm__state_size=128, ssm__group_count=16, ssm__time_step_rank=48, ssm__inner_size=6144,
)  # fmt: skip
GLM_52 = R1_NEW | {
    "block_count": 79, "nextn_predict_layers": 1, "attention__head_count": 64, "context_length": 1_048_576,
    "attention__indexer__key_length": 128, "attention__indexer__head_count": 32,
    "attention__indexer__top_k": 2048,
}  # fmt: skip

# 13,864.88 MiB were logged with 4-bit caches: 18 bytes for 32 numbers, of which 16 bits make 64.
LAGUNA_BYTES = (12 * 1_048_576 + 36 * 1024) * 8 * (128 + 128) * 2

# Model, architecture and keys of its file, context, and bytes that llama.cpp's log states for 16-bit caches.
LOGGED = [
    ("Llama 3.2 1B", "llama", attention(16, 2048, 32, 8, 64), 4096, {}, 128 << 20),
    ("OpenLLaMA 3B, no kv heads named", "llama", attention(26, 3200, 32), 512, {}, 170_393_600),
    ("StarCoder 15B", "starcoder", attention(40, 6144, 48, 1), 2048, {}, 40 << 20),
    ("Qwen3 32B", "qwen3", attention(64, 5120, 64, 8, 128), 40_960, {}, 10_240 << 20),
    ("CodeGeeX4 9B", "chatglm", attention(40, 4096, 32, 2), 32_768, {}, 1_280 << 20),
    ("DeepSeek R1", "deepseek2", R1_NEW, 163_840, {}, 11_513_364_480),
    ("DeepSeek R1, a file of before April 2025", "deepseek2", R1_OLD, 163_840, {}, 11_513_364_480),
    ("Gemma 3 27B", "gemma3", attention(62, 5376, 32, 16, 128, attention__sliding_window=1024), 65_536,
     {"ubatch": 2048}, 6_677_331_968),
    ("Gemma 2 2B, four sequences", "gemma2", attention(26, 2304, 8, 4, 256), 8192, {"slots": 4}, 832 << 20),
    ("gpt-oss 120B, four sequences", "gpt-oss", attention(36, 2880, 64, 8, 64, attention__sliding_window=128),
     65_536, {"slots": 4}, 2_453_667_840),
    ("Gemma 4 E4B", "gemma4", GEMMA4_E4B, 32_768, {}, 578_813_952),
    ("Gemma 4 31B, four sequences", "gemma4", GEMMA4_31B, 32_768, {"slots": 4}, 6_459_228_160),
    ("Laguna in 16 bits", "laguna",
     attention(48, 4096, [64 if i % 4 else 48 for i in range(48)], 8, 128, attention__sliding_window=512),
     1_048_576, {}, LAGUNA_BYTES),
    ("Qwen3.5 27B", "qwen35", QWEN35_27B, 24_576, {}, 1536 << 20),
    ("LFM2 1.2B", "lfm2",
     attention(16, 2048, 32, [8 * (i in (2, 5, 8, 10, 12, 14)) for i in range(16)], shortconv__l_cache=3),
     32_768, {}, 384 << 20),
    ("GLM-5.2, the keys of its indexers", "glm-dsa", GLM_52, 524_288, {"roles": "index"}, 2_818_572_288),
]  # fmt: skip


@pytest.mark.parametrize("row", LOGGED, ids=[row[0] for row in LOGGED])
def test_the_plan_of_a_header_has_the_bytes_that_an_engine_logged(row: Any, tmp_path: Path) -> None:
    _, arch, keys, context, engine, expected = row
    assert cells(plan(tmp_path, arch, **keys), context, **engine) == expected


def test_a_recurrent_state_has_the_elements_that_an_engine_logged(tmp_path: Path) -> None:
    """598.50 MiB for four sequences of Qwen3.6 27B, all in 32 bits; 0.34 MiB of LFM2.5's convolutions."""
    stores = [s for layer in plan(tmp_path, "qwen35", **QWEN35_27B).layers for s in layer.stores]
    assert 4 * 4 * sum(n for s in stores for n, _ in s.state) == 627_572_736
    lfm = attention(30, 2048, 32, [0] * 22 + [8] * 8, shortconv__l_cache=3)
    stores = [s for layer in plan(tmp_path, "lfm2", **lfm).layers for s in layer.stores]
    assert 4 * sum(n for s in stores for n, _ in s.state) == 360_448


def test_block_count_includes_the_layers_of_a_draft_head(tmp_path: Path) -> None:
    """Qwen3.5 27B: 65 blocks are 64 layers and one that drafts, which costs 1 GiB at 262,144 tokens."""
    found = config(tmp_path, "qwen35", **QWEN35_27B)
    assert (found["num_hidden_layers"], found["num_nextn_predict_layers"]) == (64, 1)
    more = from_huggingface(found, draft=True).bytes(262_144) - from_huggingface(found).bytes(262_144)
    assert more == 1 << 30


# Model, architecture, keys, and bytes that one more token adds, derived from the model's published shape.
SLOPES = [
    ("MiniCPM3", "minicpm3", attention(62, 2560, 40, 40, 96, attention__kv_lora_rank=256,
                                       rope__dimension_count=32), 35_712),
    ("Kimi-Linear, whose file states the whole head as RoPE", "kimi-linear",
     attention(27, 2304, 32, [32 if (i + 1) % 4 == 0 or i == 26 else 0 for i in range(27)], 576,
               attention__kv_lora_rank=512, attention__key_length_mla=192, attention__value_length_mla=128,
               rope__dimension_count=72, kda__head_dim=128, ssm__conv_kernel=4), 8_064),
    ("Granite 4 H Small", "granitehybrid",
     attention(40, 4096, 32, [8 * (i in (5, 15, 25, 35)) for i in range(40)], ssm__conv_kernel=4,
               ssm__state_size=128, ssm__group_count=1, ssm__time_step_rank=128, ssm__inner_size=8192),
     16_384),
    ("Nemotron-H 8B", "nemotron_h",
     attention(52, 4096, 32, [8 if i in (7, 18, 29, 40) else 0 for i in range(52)], 128,
               feed_forward_length=[21504 if i % 2 and i not in (7, 29) else 0 for i in range(52)],
               ssm__conv_kernel=4, ssm__state_size=128, ssm__group_count=8, ssm__time_step_rank=128,
               ssm__inner_size=8192), 16_384),
    ("Falcon-H1 34B, every layer both", "falcon-h1",
     attention(72, 5120, 20, 4, 128, ssm__conv_kernel=4, ssm__state_size=256, ssm__group_count=2,
               ssm__time_step_rank=32, ssm__inner_size=4096), 147_456),
    ("Jamba v0.1", "jamba",
     attention(32, 4096, 32, [8 if i % 8 == 4 else 0 for i in range(32)], ssm__conv_kernel=4,
               ssm__state_size=16, ssm__inner_size=8192, ssm__time_step_rank=256), 16_384),
    ("Llama 4 Scout", "llama4", attention(48, 5120, 40, 8, 128), 49_152),
    ("Command-R7B", "cohere2", attention(32, 4096, 32, 8, 128, attention__sliding_window=4096), 32_768),
    ("Gemma 3n E4B, whose first files do not say that layers share", "gemma3n",
     attention(35, 2048, 8, 2, 256, attention__sliding_window=512), 8_192),
    ("OpenELM 270M", "openelm",
     attention(16, 1280, [12] * 5 + [16] * 7 + [20] * 4, [3] * 5 + [4] * 7 + [5] * 4, 64), 63 * 64 * 2 * 2),
    ("MiMo-V2-Flash", "mimo2",
     attention(48, 4096, 64, [8 if (i + 1) % 6 and i else 4 for i in range(48)], 192,
               attention__sliding_window=128,
               attention__sliding_window_pattern=[bool((i + 1) % 6 and i) for i in range(48)])
     | {"attention__value_length": 128}, 9 * 4 * 320 * 2),
    ("Nemotron-NAS, layers without attention", "deci",
     attention(4, 4096, [32, 0, 32, 32], [8, 0, 4, 0]), (8 + 4) * 256 * 2),
    ("SmallThinker, its first layer sees everything", "smallthinker",
     attention(5, 1536, 12, 2, 128, attention__sliding_window=4096), 2 * 2 * 256 * 2),
]  # fmt: skip


@pytest.mark.parametrize("row", SLOPES, ids=[row[0] for row in SLOPES])
def test_a_token_far_into_the_context_adds_the_bytes_of_the_published_shape(row: Any, tmp_path: Path) -> None:
    _, arch, keys, expected = row
    found = plan(tmp_path, arch, **keys)
    assert found.bytes(100_001) - found.bytes(100_000) == expected


def test_layers_that_do_not_attend_keep_what_their_kind_keeps(tmp_path: Path) -> None:
    """Nemotron-H: four layers attend, the others have a state or only a feed-forward part."""
    keys = next(row for row in SLOPES if row[1] == "nemotron_h")[2]
    kinds = config(tmp_path, "nemotron_h", **keys)["layer_types"]
    assert (kinds.count("full_attention"), kinds.count("mamba"), kinds.count("none")) == (4, 24, 24)
    inner, groups, width, kernel = 8192, 8, 128, 4
    state = next(s for layer in plan(tmp_path, "nemotron_h", **keys).layers for s in layer.stores if s.state)
    assert [n for n, _ in state.state] == [(kernel - 1) * (inner + 2 * groups * width), inner * width]


@pytest.mark.parametrize(("arch", "head_size"), [("rwkv6", 64), ("rwkv7", 64)])
def test_a_model_without_attention_keeps_a_constant(arch: str, head_size: int, tmp_path: Path) -> None:
    """llama.cpp keeps token_shift_count * n_embd and n_embd * head_size numbers a layer for RWKV."""
    keys = {"block_count": 24, "embedding_length": 2048, "attention__head_count": 0, "token_shift_count": 2,
            "wkv__head_size": head_size, "context_length": 4096}  # fmt: skip
    found = plan(tmp_path, arch, **keys)
    sizes = [n for s in found.layers[0].stores for n, _ in s.state]
    assert sum(sizes) == 2 * 2048 + 2048 * head_size
    assert found.bytes(10) == found.bytes(10_000) == found.constant_bytes


def test_mamba_keeps_a_convolution_and_a_state(tmp_path: Path) -> None:
    keys = {"block_count": 48, "embedding_length": 1024, "attention__head_count": 0, "ssm__conv_kernel": 4,
            "ssm__inner_size": 2048, "ssm__state_size": 16, "ssm__time_step_rank": 64}  # fmt: skip
    assert (
        sum(n for n, _ in plan(tmp_path, "mamba", **keys).layers[5].stores[0].state) == 3 * 2048 + 16 * 2048
    )


def test_an_encoder_decoder_keeps_two_memories_a_decoder_layer(tmp_path: Path) -> None:
    """T5 base: 36,864 bytes for each token of the decoder and of the encoder."""
    keys = attention(12, 768, 12, 12, 64, decoder_block_count=12)
    found = plan(tmp_path, "t5", **keys)
    assert found.bytes(100) == 100 * 36_864
    assert found.bytes(100, encoder_tokens=7) == 107 * 36_864


def test_the_window_pattern_of_a_file_goes_before_the_architectures(tmp_path: Path) -> None:
    keys = attention(6, 640, 4, 1, 256, attention__sliding_window=512)
    windowed = [False, True, True, False, True, True]
    kinds = config(tmp_path, "gemma3", **keys, attention__sliding_window_pattern=windowed)["layer_types"]
    assert [kind == "sliding_attention" for kind in kinds] == windowed
    kinds = config(tmp_path, "gemma3", **keys, attention__sliding_window_pattern=2)["layer_types"]
    assert [kind == "sliding_attention" for kind in kinds] == [True, False] * 3
    kinds = config(tmp_path, "gemma3", **keys)["layer_types"]
    assert [kind == "sliding_attention" for kind in kinds] == [True] * 5 + [False]


def test_a_window_of_zero_is_none(tmp_path: Path) -> None:
    for arch in ("llama4", "gemma3", "gemma2", "smallthinker", "newcomer"):
        found = config(tmp_path, arch, **attention(8, 640, 4, 1, 256, attention__sliding_window=0))
        assert found["layer_types"] == ["full_attention"] * 8


def test_a_window_that_the_file_leaves_out_is_the_architectures_or_missed(tmp_path: Path) -> None:
    keys = attention(8, 640, 4, 1, 256)
    assert config(tmp_path, "gemma2", **keys)["sliding_window"] == 4096
    assert config(tmp_path, "llama4", **keys)["attention_chunk_size"] == 8192
    assert config(tmp_path, "llama4", **keys, attention__chunk_size=4096)["attention_chunk_size"] == 4096
    for arch in ("smallthinker", "olmo2", "exaone4", "llama"):
        assert "sliding_window" not in config(tmp_path, arch, **keys)
    for arch, more in (("gemma3", {}), ("gpt-oss", {}), ("gemma4", {"attention__sliding_window_pattern": 6})):
        with pytest.raises(BadMetadata, match="sliding_window is missing"):
            config(tmp_path, arch, **keys, **more)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"attention__sliding_window": 512}, "which layers of 'newcomer' have the window"),
        ({"attention__sliding_window": 512, "attention__sliding_window_pattern": 6}, "which layers"),
        ({"attention__chunk_size": 512}, "attend in chunks"),
        ({"attention__compress_ratios": [0, 4]}, "newcomer.attention.compress_ratios"),
        ({"attention__kv_lora_rank_swa": 64}, "kv_lora_rank_swa"),
        ({"hrm__l_cycles": 2}, "hrm.l_cycles"),
        ({"ple__conv_kernel": 4}, "ple.conv_kernel"),
        ({"kv_ring_slots": 4}, "kv_ring_slots"),
        ({"ssm__state_size": 16}, "ssm.state_size"),
        ({"full_attention_interval": 4}, "keep a state"),
        ({"shortconv__l_cache": 3}, "shortconv.l_cache"),
    ],
)
def test_a_key_that_changes_memory_in_an_unknown_way_is_refused_by_name(
    keys: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknownMetadata, match=says):
        config(tmp_path, "newcomer", **attention(2, 256, 4, 2), **keys)


def test_an_unknown_architecture_of_known_keys_is_read(tmp_path: Path) -> None:
    keys = attention(
        2, 256, 4, 2, rope__freq_base=1e4, feed_forward_length=512, expert_count=0, logit_scale=0.5
    )
    found = plan(tmp_path, "newcomer", **keys, vision__attention__head_count=16)
    assert found.bytes(3) == 3 * 2 * 2 * 128 * 2


@pytest.mark.parametrize("arch", ["bert", "nomic-bert", "t5encoder", "dream", "clip"])
def test_what_keeps_nothing_is_refused_by_name(arch: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=arch):
        config(tmp_path, arch, **attention(2, 256, 4, 2))


def test_an_adapter_is_refused_by_name(tmp_path: Path) -> None:
    metadata = of("llama", **attention(2, 256, 4, 2)) | {"general.type": "adapter"}
    with pytest.raises(UnsupportedModel, match="adapter"):
        as_config(read_header(write(tmp_path / "m.gguf", metadata)))


WRONG: list[Any] = [
    "32", "", -1, -(2**63), 2**24 + 1, 2**64 - 1, 1e30, float("nan"), float("inf"), 0.5, 8.0, True, [], [1],
    ["x"] * 4, [2.5] * 4, [-1] * 4, [2**63] * 4, list(range(5000)),
]  # fmt: skip
KEYS = [
    "block_count", "embedding_length", "context_length", "nextn_predict_layers", "expert_count",
    "feed_forward_length", "attention.head_count", "attention.head_count_kv", "attention.key_length",
    "attention.value_length", "attention.key_length_swa", "attention.key_length_mla",
    "attention.kv_lora_rank",
    "attention.sliding_window", "attention.sliding_window_pattern", "attention.shared_kv_layers",
    "attention.indexer.key_length", "attention.indexer.types", "rope.dimension_count",
    "full_attention_interval", "ssm.conv_kernel", "ssm.state_size", "ssm.inner_size", "ssm.time_step_rank",
    "ssm.group_count", "attention.recurrent_layers", "shortconv.l_cache", "kda.head_dim",
]  # fmt: skip


@pytest.mark.parametrize(
    "arch", ["llama", "gemma3", "qwen35", "nemotron_h", "deepseek2", "lfm2", "kimi-linear"]
)
def test_a_wrong_value_of_a_known_key_is_a_named_error_or_changes_nothing(arch: str, tmp_path: Path) -> None:
    good = attention(
        4, 256, 4, [2, 0, 2, 2], ssm__conv_kernel=4, ssm__state_size=16, ssm__inner_size=64,
        ssm__time_step_rank=4, ssm__group_count=1, shortconv__l_cache=3, kda__head_dim=16,
        attention__sliding_window=64, attention__kv_lora_rank=32, rope__dimension_count=16,
    )  # fmt: skip
    known = {
        "llama": ("attention__head", "attention__key", "attention__value"), "lfm2": ("attention__h", "short"),
        "gemma3": ("attention__h", "attention__s"), "qwen35": ("attention__h", "ssm"),
        "nemotron_h": ("attention__h", "ssm"), "deepseek2": ("attention__h", "attention__kv", "rope"),
        "kimi-linear": ("attention__h", "attention__kv", "ssm__conv", "kda", "rope"),
    }[arch]  # fmt: skip
    good = {k: v for k, v in good.items() if "__" not in k or k.startswith(known)}
    base, refused = of(arch, **good), 0
    as_config(read_header(write(tmp_path / "m.gguf", base)))
    for key in KEYS:
        for wrong in WRONG:
            path = write(tmp_path / "m.gguf", base | {f"{arch}.{key}": wrong})
            try:
                found = as_config(read_header(path, arrays_up_to=4096))
                from_huggingface(found)
            except ModelFileError as error:
                refused += 1
                named = key.split(".")[-1].removesuffix("_pattern")
                assert named in str(error) or "state" in str(error), (key, wrong)
            except ValueError as error:
                # InvalidPlan of the parser: a config.json could say it, and no model is like it.
                assert type(error).__name__ in ("BadConfig", "UnknownArchitecture", "InvalidPlan"), (
                    key,
                    wrong,
                )
    assert refused > 200


@pytest.mark.parametrize("missing", ["general.architecture", "llama.block_count", "llama.embedding_length"])
def test_a_missing_key_is_named(missing: str, tmp_path: Path) -> None:
    metadata = of("llama", **attention(2, 256, 4, 2))
    del metadata[missing]
    with pytest.raises(BadMetadata, match=missing.replace(".", r"\.")):
        as_config(read_header(write(tmp_path / "m.gguf", metadata)))


def test_a_draft_head_of_all_layers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadMetadata, match="nextn_predict_layers=2"):
        config(tmp_path, "glm4moe", **attention(2, 256, 4, 2, nextn_predict_layers=2))
