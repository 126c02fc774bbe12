"""Recorded lines of four engines: what each file says, in bytes that were worked out by hand."""

from pathlib import Path
from typing import Any

import pytest

from memlessons.measure import Part, Reported, read_log

LOGS = Path(__file__).resolve().parent.parent / "logs"
MIB, GIB = 2**20, 2**30

# File, engine, and what must be found: `name` of a part gives its bytes, anything else is a field.
CASES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "vllm_v0_llama31_8b",
        "vllm",
        {
            "weights_bytes": round(14.9888 * GIB),
            "available_bytes": round(2.89 * GIB),
            "blocks": 1478,
            "tokens": 23648,
            "concurrency": 0.82,
            "concurrency_tokens": 29000,
            "context_tokens": 29000,
            "block_tokens": None,
            "ranks": None,
        },
    ),
    (
        "vllm_v1_qwen38_27b_tp2",
        "vllm",
        {
            "model": "Qwen/Qwen3.8-27B",
            "context_tokens": 131072,
            "ranks": 2,
            "block_tokens": 1568,
            "tokens": 302921,
            "concurrency": 2.31,
            "concurrency_tokens": 131072,
            "key_type": "fp8_e4m3",
            "available_bytes": round(4.99 * GIB),
        },
    ),
    ("vllm_v1_qwen3_235b_tp4", "vllm", {"available_bytes": round(8.11 * GIB), "tokens": 178880, "ranks": 4}),
    (
        "vllm_v1_merged",
        "vllm",
        {
            "available_bytes": round(5.38 * GIB),
            "tokens": 78384,
            "concurrency": 1.2,
            "concurrency_tokens": 65536,
        },
    ),
    ("llama_cpp_openllama_2023", "llama.cpp", {"base": 170393600, "cache_bytes": 170393600}),
    (
        "llama_cpp_llama31_8b_iq4nl",
        "llama.cpp",
        {
            "base": 85983232,
            "key_type": "iq4_nl",
            "value_type": "f16",
            "layers": 32,
            "context_tokens": 1024,
            "model": "Meta Llama 3.1 8B Instruct",
        },
    ),
    (
        "llama_cpp_v25_comma",
        "llama.cpp",
        {
            "base": 2264924160,
            "context_tokens": 32768,
            "layers": 60,
            "key_type": "f16",
            "value_type": None,
        },
    ),
    ("llama_cpp_v3_two_copies", "llama.cpp", {"base": 2174746624}),
    (
        "llama_cpp_said_twice",
        "llama.cpp",
        {
            "base": round(5369.91 * MIB) + 128 * MIB,
            "context_tokens": 81920,
            "key_type": "f16",
        },
    ),
    (
        "llama_cpp_llama31_70b_rpc",
        "llama.cpp",
        {
            "base": 1342177280,
            "cache_bytes": 1342177280,
            "cells": 4096,
            "sequences": 1,
            "context_tokens": 4096,
        },
    ),
    (
        "llama_cpp_gptoss_120b",
        "llama.cpp",
        {
            "base": 2304 * MIB,
            "swa": 36 * MIB,
            "cache_bytes": 2453667840,
            "cells": 65536,
            "sequences": 4,
            "layers": 36,
            "model": "Gpt-Oss-120B",
            "key_type": "f16",
            "value_type": "f16",
        },
    ),
    ("llama_cpp_qwen_27b_states", "llama.cpp", {"state": round(448.88 * MIB), "context_tokens": 1024}),
    (
        "llama_cpp_qwen_27b_mtp",
        "llama.cpp",
        {
            "base": (16384 + 1024) * MIB,
            "state": round(1047.38 * MIB),
            "context_tokens": 262144,
            "cells": 262144,
        },
    ),
    ("llama_cpp_flashnext_indexer", "llama.cpp", {"base": 6442450944, "indexer": 2415919104}),
    (
        "llama_cpp_trial_run",
        "llama.cpp",
        {
            "base": 2304 * MIB,
            "swa": 36 * MIB,
            "cache_bytes": 2453667840,
            "context_tokens": 65536,
        },
    ),
    (
        "sglang_qwen3_235b_tp4",
        "sglang",
        {
            "base": 2 * round(8.23 * GIB),
            "cells": 367404,
            "tokens": 367404,
            "ranks": 4,
            "context_tokens": 40960,
            "block_tokens": 1,
            "sequences": 2048,
            "model": "/path/to/Qwen3-235B-A22B-FP8",
        },
    ),
    (
        "sglang_mimo_v2_flash",
        "sglang",
        {
            "base": round(8.38 * GIB) + round(5.59 * GIB),
            "tokens": 300288,
            "ranks": 1,
        },
    ),
    (
        "sglang_hybrid",
        "sglang",
        dict(
            {"draft state": round(2.25 * GIB) + round(0.02 * GIB)},
            base=6 * GIB,
            tokens=300000,
            state=round(0.06 * GIB) + round(3.23 * GIB),
            weights_bytes=20 * GIB,
            key_type="float8_e4m3fn",
        ),
    ),
    (
        "sglang_window",
        "sglang",
        {
            "swa": 4 * GIB,
            "base": GIB,
            "draft": 2 * round(0.1 * GIB),
            "cells": 50000,
            "ranks": 2,
            "key_type": "bfloat16",
        },
    ),
    (
        "whisper_base_2023",
        "whisper.cpp",
        dict(
            {"self": 5505024},
            cross=round(17.58 * MIB),
            weights_bytes=round(140.54 * MIB),
            layers=6,
            context_tokens=448,
            model="models/ggml-base.en.bin",
        ),
    ),
    (
        "whisper_small_2025",
        "whisper.cpp",
        dict(
            {"self": 18_870_000},
            cross=56_620_000,
            pad=4_720_000,
            weights_bytes=487_010_000,
        ),
    ),
]


def found(reported: Reported, name: str) -> Any:
    return getattr(reported, name) if hasattr(reported, name) else reported.bytes_of(name)


@pytest.mark.parametrize(("file", "engine", "expected"), CASES, ids=[case[0] for case in CASES])
def test_every_figure_of_a_recorded_log_is_read(file: str, engine: str, expected: dict[str, Any]) -> None:
    reported = read_log(LOGS / f"{file}.txt")
    assert reported.engine == engine
    assert {name: found(reported, name) for name in expected} == expected
    lines = (LOGS / f"{file}.txt").read_text().splitlines()
    assert all(lines[said.line_number - 1].startswith(said.text[:200]) for said in reported.lines)


def test_every_recorded_file_is_read_here_and_has_its_source() -> None:
    files = {path.stem for path in LOGS.glob("*.txt")}
    readme = (LOGS / "README.md").read_text()
    assert files == {case[0] for case in CASES} == {f for f in files if f"`{f}.txt`" in readme}


def part(file: str, name: str) -> Part:
    return next(p for p in read_log(LOGS / f"{file}.txt").parts if p.name == name)


def test_k_and_v_are_told_apart() -> None:
    mixed = part("llama_cpp_llama31_8b_iq4nl", "base")
    assert (mixed.key_bytes, mixed.value_bytes) == (18 * MIB, 64 * MIB)
    latent = part("llama_cpp_v3_two_copies", "base")
    assert (latent.key_bytes, latent.value_bytes) == (1098 * MIB, 976 * MIB)
    wide = part("sglang_mimo_v2_flash", "base")
    assert (wide.key_bytes, wide.value_bytes) == (round(8.38 * GIB), round(5.59 * GIB))
    indexer = part("llama_cpp_flashnext_indexer", "indexer")
    assert (indexer.key_bytes, indexer.value_bytes) == (768 * MIB, 1536 * MIB)
    state = part("llama_cpp_qwen_27b_states", "state")
    assert (state.key_bytes, state.value_bytes) == (round(16.88 * MIB), 432 * MIB)
    assert (state.key_type, state.cells, state.layers, state.sequences) == ("f32", 3, 65, 3)


def test_a_parts_shape_is_the_one_printed() -> None:
    window = part("llama_cpp_gptoss_120b", "swa")
    assert (window.cells, window.layers, window.sequences, window.streams) == (1024, 18, 4, 1)
    assert part("sglang_window", "swa").cells == 40000


def test_figures_lie_within_their_rounding() -> None:
    # Two decimals of a MiB: 6 layers x 512 x 1500 positions, K and V of 16 bits, and 448 for "self".
    for name, positions in (("self", 448), ("cross", 1500)):
        got = part("whisper_base_2023", name)
        assert abs(got.total_bytes - 6 * 512 * positions * 4) <= got.within_bytes < 0.006 * MIB
    assert read_log(LOGS / "vllm_v1_merged.txt").available_within_bytes == -(-GIB // 200)
    # Two decimals of a GiB, twice: K and V were rounded apart.
    got = part("sglang_mimo_v2_flash", "base")
    assert got.within_bytes == 2 * -(-GIB // 200)


def test_contexts_of_a_draft_head_are_numbered_and_noted() -> None:
    reported = read_log(LOGS / "llama_cpp_qwen_27b_mtp.txt")
    assert [(p.name, p.context) for p in reported.parts] == [("base", 1), ("state", 1), ("base", 2)]
    assert "2 contexts" in reported.notes[0]


def test_tokens_of_a_hybrid_are_noted_to_be_no_pool() -> None:
    (note,) = read_log(LOGS / "vllm_v1_qwen38_27b_tp2.txt").notes
    assert "1,568 tokens" in note and "concurrency times context" in note
    assert read_log(LOGS / "vllm_v1_merged.txt").notes == ()


@pytest.mark.parametrize(("file", "word"), [("whisper_base_2023", "2^20"), ("whisper_small_2025", "10^6")])
def test_what_whisper_means_by_mb_is_said(file: str, word: str) -> None:
    reported = read_log(LOGS / f"{file}.txt")
    assert word in reported.notes[0] and "shape" in reported.notes[0]
    shapeless = "\n".join(
        line for line in (LOGS / f"{file}.txt").read_text().splitlines() if " n_" not in line
    )
    again = read_log(shapeless)
    assert again.cache_bytes == reported.cache_bytes
    assert word in again.notes[0] and "1.5.0" in again.notes[0]
