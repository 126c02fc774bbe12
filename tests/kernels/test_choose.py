"""Tiles and splits: what fits a chip, and how the past is cut; no GPU is asked."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memlessons.kernels import BackendCannot, decode, launch
from memlessons.kernels.cases import GATES, Case, distance
from memlessons.kernels.choose import (
    LEAST_TILES,
    MOST_SPLITS,
    Chip,
    Config,
    block_h,
    config_for,
    gpu_splits,
    shared_bytes,
)
from tests.kernels.truth import attention

A100 = Chip(80, 166_912, 108, 167_936)
RTX = Chip(89, 101_376, 128, 102_400)
T4 = Chip(75, 65_536, 40, 65_536)
MI300 = Chip("gfx942", 65_536, 304, 65_536)
chips = st.sampled_from([A100, RTX, T4, MI300])


@given(chips, st.integers(1, 128), st.integers(1, 512), st.integers(1, 512), st.sampled_from([2, 4]))
def test_what_is_chosen_fits_the_chip_or_is_refused_by_name(
    chip: Chip, G: int, DK: int, DV: int, element_bytes: int
) -> None:
    try:
        config = config_for(chip, G, DK, DV, element_bytes)
    except BackendCannot as error:
        assert f"DK={DK}, DV={DV}" in str(error) and "reference" in str(error)
        use_dot = chip is not T4 or G > 4
        assert shared_bytes(Config(16, 4, 1, use_dot), G, DK, DV, element_bytes) > chip.shared_bytes
        return
    assert shared_bytes(config, G, DK, DV, element_bytes) <= chip.shared_bytes


def test_a_small_chip_gets_smaller_tiles_than_a_large_one() -> None:
    large, small = (config_for(chip, 4, 256, 256, 2) for chip in (A100, MI300))
    assert shared_bytes(small, 4, 256, 256, 2) <= 65_536 < shared_bytes(large, 4, 256, 256, 2)


@given(chips, st.integers(1, 100_000), st.integers(0, 1_000_000))
def test_splits_fill_the_chip_without_a_second_wave_and_never_into_crumbs(
    chip: Chip, work: int, T: int
) -> None:
    config = config_for(chip, 4, 128, 128, 2)
    shared = shared_bytes(config, 4, 128, 128, 2)
    splits = gpu_splits(chip, config, work, T, shared)
    slots = chip.processors * max(1, min(8, chip.shared_bytes_per_processor // shared))
    assert 1 <= splits <= MOST_SPLITS
    if splits > 1:
        assert -(-T // config.block_n) // splits >= LEAST_TILES
        assert work * splits <= slots or work >= slots


def test_one_conversation_on_a_large_chip_is_split_and_a_full_batch_is_not() -> None:
    config = Config(64, 4, 3)
    shared = shared_bytes(config, 4, 128, 128, 2)
    assert gpu_splits(A100, config, 8, 8192, shared) == 27  # 2 programs on each of 108 processors, 8 heads
    assert gpu_splits(A100, config, 8, 128, shared) == 1
    assert gpu_splits(A100, config, 216 * 10, 8192, shared) == 1


def test_rows_are_padded_for_a_matrix_unit_only() -> None:
    assert [block_h(G, True) for G in (1, 4, 16, 17, 64, 65)] == [16, 16, 16, 32, 64, 64]
    assert [block_h(G, False) for G in (1, 2, 3, 4)] == [1, 2, 4, 4]


@pytest.mark.parametrize("G", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_without_a_matrix_unit_sums_by_hand_are_right(
    G: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_INTERPRETER", Chip(75, 1 << 30, 1, 1 << 30))
    q, k, v, lengths, _ = Case("by hand", HQ=2 * G, HKV=2, DK=24, DV=40, lengths=(37, 0)).inputs(dtype)
    o, lse = decode(q, k, v, lengths, backend="triton", splits=2, return_lse=True)
    worst = distance(o, lse, *attention(q, k, v, lengths))
    assert worst.o <= GATES[dtype] and worst.not_finite == 0


def test_a_chip_without_bfloat16_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_INTERPRETER", Chip(75, 1 << 30, 1, 1 << 30))
    q, k, v, lengths, _ = Case("bf16").inputs(torch.bfloat16)
    with pytest.raises(BackendCannot, match="no bfloat16; use float16"):
        decode(q, k, v, lengths, backend="triton")
