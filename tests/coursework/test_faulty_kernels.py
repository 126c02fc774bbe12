"""What the six kernels of 03.3 get wrong, what they get right, and what counts as an input."""

import pytest
import torch

from memlessons.coursework.exercises.decode_inputs import NoSuchInput, decode_inputs
from memlessons.coursework.exercises.faulty_kernels import KERNELS, decode, exposed, right

TILES = (4, 8, 16, 32)


def draw(q_heads, kv_heads, slots, lengths, *, unused=torch.nan):
    dice = torch.Generator().manual_seed(3)
    q = torch.randn(len(lengths), q_heads, 6, generator=dice)
    k, v = torch.randn(2, len(lengths), kv_heads, slots, 6, generator=dice)
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = unused
    return q, k, v, lengths


@pytest.mark.parametrize("q_heads, kv_heads", [(4, 4), (6, 2), (3, 1)])
def test_the_right_kernel_agrees_with_torch_on_used_slots_and_is_zero_without_any(q_heads, kv_heads):
    q, k, v, lengths = draw(q_heads, kv_heads, 21, [0, 1, 13, 21])
    out = decode(right, q, k, v, lengths, 8, "grouped")
    assert torch.equal(out[0], torch.zeros(q_heads, 6, dtype=torch.float64))
    for row, length in enumerate(lengths[1:], start=1):
        one = (q[row, :, None], k[row, :, :length], v[row, :, :length])
        wanted = torch.nn.functional.scaled_dot_product_attention(
            *(part[None].double() for part in one), enable_gqa=True
        )
        torch.testing.assert_close(out[row], wanted[0, :, 0])


@pytest.mark.parametrize("tile", TILES)
def test_a_plain_input_exposes_no_fault(tile):
    assert exposed(*draw(4, 4, 64, [64, 32]), tile) == set()


# Each changes one thing of the plain input.
ALONE = {
    "heads interleaved": draw(4, 2, 64, [64, 32]),
    "tail dropped": draw(4, 4, 63, [63, 32]),
    "weight 0 and tail read": draw(4, 4, 64, [64, 31]),
    "empty row": draw(4, 4, 64, [64, 0]),
    "no maximum": (lambda q, k, v, lengths: (1000 * q, k, v, lengths))(*draw(4, 4, 64, [64, 32])),
}


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("change", ALONE)
def test_each_fault_shows_under_its_own_change_and_the_others_do_not(change, tile):
    wanted = set(change.split(" and "))
    # A last tile that is not full makes its dropping show as well, whatever lies beyond.
    wanted |= {"tail dropped"} if "tail read" in change else set()
    assert exposed(*ALONE[change], tile) == wanted


@pytest.mark.parametrize("tile", TILES)
def test_finite_numbers_in_unused_slots_hide_a_weight_of_zero(tile):
    found = exposed(*draw(4, 4, 64, [64, 31], unused=1e6), tile)
    assert found == {"tail read", "tail dropped"}


@pytest.mark.parametrize("tile", TILES)
def test_one_input_with_equal_huge_scores_exposes_all_six(tile):
    q, k, v, lengths = draw(4, 2, 40, [37, 0])
    k[0, :, :37] = 10.0
    assert exposed(q.abs() * 100, k, v, lengths, tile) == set(KERNELS)


Q, K = torch.zeros(2, 4, 8), torch.zeros(2, 2, 5, 8)


@pytest.mark.parametrize(
    "answer, said",
    [
        ((Q, K, K, [5, 0]), "return a list of inputs"),
        (7, "return a list of inputs.*got an int"),
        ([(Q, K, K, [5, 0])] * 3, "3 inputs; two at most"),
        ([(Q, K, K)], "input 1 is a tuple of 3"),
        ([(Q, K, K, [5, 0]), (Q.long(), K, K, [5, 0])], "input 2: q is"),
        ([(Q[0], K, K, [5, 0])], r"q is \[4, 8\]"),
        ([(Q, K, K[:, :1], [5, 0])], "do not fit together"),
        ([(Q[:, :3], K, K, [5, 0])], "3 query heads cannot share 2 memories"),
        ([(Q, K, K, [5])], "lengths is"),
        ([(Q, K, K, [5.0, 0.0])], "lengths is"),
        ([(Q, K, K, [6, 0])], "length 6 of row 0; from 0 to 5"),
        ([(Q, K, K, [-1, 0])], "length -1 of row 0"),
        ([(Q, K, K.masked_fill(K == 0, torch.nan), [1, 0])], "v of row 0"),
        ([(Q * torch.inf, K, K, [1, 0])], "q of row 0"),
        ([(torch.zeros(2, 4, 9000), *[torch.zeros(2, 2, 1, 9000)] * 2, [1, 0])], "144,000 numbers"),
    ],
)
def test_what_is_no_input_is_named(answer, said):
    with pytest.raises(NoSuchInput, match=said):
        decode_inputs(answer)


def test_lengths_may_be_a_tensor_and_no_input_is_an_answer():
    (case,) = decode_inputs([(Q, K, K, torch.tensor([5, 0]))])
    assert case[3] == [5, 0]
    assert decode_inputs([]) == []
