"""Bytes and arithmetic of each row, worked out by hand and counted from live tensors."""

import pytest
import torch

from memlessons.device.arena import Arena
from memlessons.device.contestants import inputs
from memlessons.device.rows import ROWS, Attention, fitting_tokens

BY_NAME = {row.name: row for row in ROWS}
KIB = 1024


@pytest.mark.parametrize(
    ("name", "memory", "q_and_answer", "flops"),
    [
        # 8,192 tokens x 32 heads x (128 + 128) numbers x 4 bytes; 32 heads x (128 + 128) x 4 bytes
        ("MHA", 8192 * 32 * 256 * 4, 32 * KIB, 4 * 32 * 8192 * 128),
        ("GQA 32/8", 8192 * 8 * 256 * 4, 32 * KIB, 4 * 32 * 8192 * 128),
        ("MQA", 8192 * 1 * 256 * 4, 32 * KIB, 4 * 32 * 8192 * 128),
        # one byte a number, and a scale of four for each token's key and value in each head
        ("GQA int8", 8192 * 8 * (256 + 8), 32 * KIB, 4 * 32 * 8192 * 128),
        ("GQA window", 1024 * 8 * 256 * 4, 32 * KIB, 4 * 32 * 1024 * 128),
        # the latent is key and value at once, and counts once
        ("latent", 8192 * 576 * 4, 16 * (576 + 512) * 4, 2 * 16 * 8192 * (576 + 512)),
    ],
)
def test_bytes_and_flop_of_8192_tokens_in_float32_are_those_worked_out_by_hand(
    name: str, memory: int, q_and_answer: int, flops: int
) -> None:
    row = BY_NAME[name].bound(8192)
    assert row.bytes_moved(8192, 4) == memory + q_and_answer
    assert row.flops(8192) == flops
    assert row.bytes_moved(8192, 4, sequences=3) == 3 * row.bytes_moved(8192, 4)
    assert row.flops(8192, sequences=3) == 3 * flops


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize(("tokens", "sequences"), [(1, 1), (33, 2), (193, 1)])
def test_bytes_moved_are_those_of_the_live_tensors_that_are_seen(
    row: Attention, tokens: int, sequences: int
) -> None:
    row = row.bound(tokens)
    size = 4 * row.numbers_per_token() * tokens * sequences
    one = inputs(row, Arena.of("cpu", torch.float32, size), tokens, sequences)[0]
    seen = row.seen(tokens)
    kept = [one["k"][:, :, -seen:], *([] if one["v"] is None else [one["v"][:, :, -seen:]])]
    kept += [one[name][:, :, -seen:] for name in ("k_scale", "v_scale") if name in one]
    answer = torch.empty(sequences, row.query_heads, row.value_width)
    counted = sum(t.numel() * t.element_size() for t in [*kept, one["q"], answer])
    assert row.bytes_moved(tokens, 4, sequences) == counted


def test_a_window_binds_at_every_length_and_other_forms_stay_as_they_are() -> None:
    for tokens in (8, 193, 8192):
        assert BY_NAME["GQA window"].bound(tokens).seen(tokens) == tokens // 8
        assert BY_NAME["MHA"].bound(tokens).seen(tokens) == tokens
    assert BY_NAME["GQA window"].bound(1).seen(1) == 1


@pytest.mark.parametrize(
    ("room", "element", "tokens"), [(256, 4, 8192), (255, 4, 4096), (256, 2, 8192), (32, 4, 1024)]
)
def test_the_context_is_the_longest_whose_largest_row_fits(room: int, element: int, tokens: int) -> None:
    assert fitting_tokens(room * 2**20, element, 8192) == tokens


def test_a_room_for_nothing_still_gives_a_token() -> None:
    assert fitting_tokens(0, 4, 8192) == 1
