"""Pieces of one block: apart from each other, as many as fit, read as numbers or as codes."""

from itertools import pairwise

import pytest
import torch

from memlessons.device.arena import Arena


def span(piece: tuple[torch.Tensor, ...]) -> tuple[int, int]:
    first, last = piece[0], piece[-1]
    return first.data_ptr(), last.data_ptr() + last.numel() * last.element_size()


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("shapes", [[(3, 5)], [(7, 64), (7, 32)]])
def test_pieces_lie_in_the_block_and_never_in_each_other(shapes: list[tuple[int, ...]], int8: bool) -> None:
    arena = Arena.of("cpu", torch.float32, 40_000)
    pieces = arena.pieces(shapes, int8)
    assert 1 < len(pieces) <= 64
    assert [tuple(part.shape) for part in pieces[-1]] == shapes
    assert {part.dtype for part in pieces[0]} == {torch.int8 if int8 else torch.float32}
    spans = [span(piece) for piece in pieces]
    assert all(end <= after for (_, end), (after, _) in pairwise(spans))
    start = arena.numbers.data_ptr()
    assert start <= spans[0][0] and spans[-1][1] <= start + arena.bytes


def test_a_piece_as_large_as_the_block_is_the_block() -> None:
    arena = Arena.of("cpu", torch.float32, 4096)
    ((only,),) = arena.pieces([(1024,)])
    assert only.data_ptr() == arena.numbers.data_ptr()


def test_what_does_not_fit_raises() -> None:
    with pytest.raises(ValueError, match=r"do not fit into a block of 4,096 bytes"):
        Arena.of("cpu", torch.float32, 4096).pieces([(1025,)])
