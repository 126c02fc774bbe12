"""What a reader of 03.3 is told: what is exposed, what is not and how often, and one question."""

import pytest
import torch

from memlessons.coursework.catalogue import find
from memlessons.coursework.check import check
from memlessons.coursework.exercises.faulty_kernels import KERNELS

NAN = float("nan")


def case(length, *, heads=(4, 2), loud=1.0, unused=NAN):
    dice = torch.Generator().manual_seed(1)
    q = loud * torch.randn(2, heads[0], 8, generator=dice)
    k, v = torch.randn(2, 2, heads[1], 64, 8, generator=dice)
    k, v = k.clone(), v.clone()
    for row, used in enumerate((length, 0)):
        k[row, :, used:] = v[row, :, used:] = unused
    return q, k, v, [length, 0]


def told(*cases):
    found = check(find("03.3"), lambda: list(cases), seed=3)
    return found, found.text().splitlines()


def test_there_is_a_question_for_each_kernel():
    assert list(find("03.3").faults.questions) == list(KERNELS)


def test_the_first_try_is_asked_about_the_first_fault_that_it_leaves_hidden():
    found, lines = told(case(37, unused=1.0))
    assert found.verdict == "wrong"
    assert found.hint.startswith("`weight 0`: What can an unused slot hold")
    assert "  Exposed: heads interleaved, tail dropped, tail read, empty row." in lines
    assert "  Not exposed: weight 0, no maximum." in lines


def test_scores_alone_get_their_own_question():
    found, lines = told(case(37))
    assert (found.mistake, found.hint) == (
        "small scores",
        "How large must a score be before exp() overflows in float32?",
    )
    assert "  Not exposed: no maximum." in lines


def test_what_depends_on_the_tile_is_counted():
    found, lines = told(case(24), case(24, loud=1000.0))
    # 24 slots fill tiles of 4 and 8, and none of 16 and 32.
    assert found.verdict == "wrong"
    assert "tail dropped (in 2 of 4 tile sizes)" in " ".join(found.case)
    assert "  Exposed: heads interleaved, empty row, no maximum." in lines


@pytest.mark.parametrize("heads", [(4, 1), (1, 1), (3, 3)])
def test_one_memory_and_one_head_a_memory_get_the_same_hint(heads):
    found, _ = told(case(37, heads=heads), case(37, heads=heads, loud=1000.0))
    assert found.mistake == "one head per memory"
    assert "With a single memory, or one query head for each" in found.hint


def test_the_seed_is_said_to_be_of_the_tiles():
    found, lines = told(case(37))
    assert '`@exercise("03.3", seed=3)` takes the same tile sizes again' in found.closing
    assert "your own lines" in found.closing
    assert not any("expected" in line or "got" in line or "inputs;" in line for line in lines)


def test_nothing_is_exposed_by_no_input():
    found, _ = told()
    assert found.case[0] == "Exposed: none."
    assert found.hint.startswith("`heads interleaved`: ")
