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
    Form,
    block_h,
    candidates,
    config_for,
    gpu_splits,
    shared_bytes,
)
from tests.kernels.truth import attention

A100 = Chip(80, 166_912, 108, 167_936)
RTX = Chip(89, 101_376, 128, 102_400)
T4 = Chip(75, 65_536, 40, 65_536)
MI300 = Chip("gfx942", 65_536, 304, 65_536)
PLAIN, WIDE = Form(4, 128, 128, 2, 2), Form(4, 256, 256, 2, 2)
chips = st.sampled_from([A100, RTX, T4, MI300])


widths = st.integers(1, 512)
forms = st.builds(
    Form,
    st.integers(1, 128),
    widths,
    widths,
    q_bytes=st.sampled_from([2, 4]),
    kv_bytes=st.sampled_from([1, 2, 4]),
)


@given(chips, forms | st.builds(lambda f: f._replace(DV=min(f.DK, f.DV), latent=True), forms))
def test_what_is_chosen_fits_the_chip_or_is_refused_by_name(chip: Chip, form: Form) -> None:
    try:
        config = config_for(chip, form)
    except BackendCannot as error:
        assert f"DK={form.DK}, DV={form.DV}" in str(error) and "reference" in str(error)
        assert all(shared_bytes(config, form) > chip.shared_bytes for config in candidates(chip, form))
        return
    assert shared_bytes(config, form) <= chip.shared_bytes


def test_a_small_chip_gets_smaller_tiles_than_a_large_one() -> None:
    large, small = (config_for(chip, WIDE) for chip in (A100, MI300))
    assert shared_bytes(small, WIDE) <= 65_536 < shared_bytes(large, WIDE)


@given(chips, st.integers(1, 100_000), st.integers(0, 1_000_000))
def test_splits_fill_the_chip_without_a_second_wave_and_never_into_crumbs(
    chip: Chip, work: int, T: int
) -> None:
    config = config_for(chip, PLAIN)
    shared = shared_bytes(config, PLAIN)
    splits = gpu_splits(chip, config, work, T, shared)
    slots = chip.processors * max(1, min(8, chip.shared_bytes_per_processor // shared))
    assert 1 <= splits <= MOST_SPLITS
    if splits > 1:
        assert -(-T // config.block_n) // splits >= LEAST_TILES
        assert work * splits <= slots or work >= slots


def test_one_conversation_on_a_large_chip_is_split_and_a_full_batch_is_not() -> None:
    config = Config(64, 4, 3)
    shared = shared_bytes(config, PLAIN)
    assert gpu_splits(A100, config, 8, 8192, shared) == 27  # 2 programs on each of 108 processors, 8 heads
    assert gpu_splits(A100, config, 8, 128, shared) == 1
    assert gpu_splits(A100, config, 216 * 10, 8192, shared) == 1


def test_rows_are_padded_for_a_matrix_unit_only() -> None:
    padded, by_hand = Config(64, 4, 3), Config(16, 4, 2, use_dot=False)
    assert [block_h(G, padded) for G in (1, 4, 16, 17, 64, 65)] == [16, 16, 16, 32, 64, 64]
    assert [block_h(G, by_hand) for G in (1, 2, 3, 4)] == [1, 2, 4, 4]
    assert block_h(128, padded._replace(rows=32)) == 32


@pytest.mark.parametrize("G", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("int8", [False, True])
def test_without_a_matrix_unit_sums_by_hand_are_right(
    G: int, dtype: torch.dtype, int8: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_INTERPRETER", Chip(75, 1 << 30, 1, 1 << 30))
    case = Case("by hand", HQ=2 * G, HKV=2, DK=24, DV=40, lengths=(37, 0), int8=int8, page=8)
    q, k, v, lengths, options = case.inputs(dtype)
    o, lse = decode(q, k, v, lengths, backend="triton", splits=2, return_lse=True, **options)
    worst = distance(o, lse, *attention(q, k, v, lengths, **options))
    assert worst.o <= GATES[dtype] and worst.not_finite == 0


def test_a_chip_without_bfloat16_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_INTERPRETER", Chip(75, 1 << 30, 1, 1 << 30))
    q, k, v, lengths, _ = Case("bf16").inputs(torch.bfloat16)
    with pytest.raises(BackendCannot, match="no bfloat16; use float16"):
        decode(q, k, v, lengths, backend="triton")
