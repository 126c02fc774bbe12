"""03.3: inputs that expose faulty decode kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from memlessons.coursework.exercise import Exercise, Faults, Inputs, Mistake
from memlessons.coursework.exercises.decode_inputs import Case, decode_inputs
from memlessons.coursework.exercises.faulty_kernels import exposed

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def breaking_inputs() -> list[Case]:
    """One or two inputs (q, k, v, lengths) of a decode kernel that together expose six faulty kernels.

    A decode kernel takes queries q [B, HQ, D], caches k and v [B, HKV, T, D] with T slots of room, and
    `lengths`, B ints from 0 to T: how many slots of each sequence are in use. HQ is a multiple of HKV;
    neighbouring query heads share a memory. A right kernel attends to used slots only, whatever the others
    hold, scales scores by D ** -0.5, and answers zeros for a sequence of length 0. Kernels read the cache in
    tiles of an unknown number of slots, 32 at most. Each faulty one is wrong in one way: it spreads query
    heads over memories in another order; it leaves out a last tile that is not full; it attends to all of the
    last tile; it multiplies the values of unused slots by a weight of 0; it divides by the sum of weights
    even without any; it exponentiates scores as they are. A fault is exposed by an input if the output is
    off by over a thousandth or not finite. Numbers in use are finite and a million at most; an input has
    100,000 numbers at most.
    """
    dice = torch.Generator().manual_seed(0)
    # Four query heads share two memories; 37 slots fill no tile; unused ones hold NaN; one row is empty.
    q = torch.randn(2, 4, 8, generator=dice)
    k, v = torch.randn(2, 2, 40, 8, generator=dice), torch.randn(2, 2, 40, 8, generator=dice)
    lengths = [37, 0]
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = torch.nan
    # Scores of 200 for all slots alike: infinite exponentials, and yet every slot counts.
    loud = torch.full((1, 1, 1), 200.0), torch.ones(1, 1, 4, 1), torch.ones(1, 1, 4, 1), [4]
    return [(q, k, v, lengths), loud]


def _round_lengths() -> list[Case]:
    dice = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, 8, generator=dice)
    k, v = torch.randn(2, 2, 96, 8, generator=dice), torch.randn(2, 2, 96, 8, generator=dice)
    lengths = [64, 0]
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = torch.nan
    return [(q, k, v, lengths), (1000 * q, k, v, lengths)]


def _one_head_per_memory() -> list[Case]:
    dice = torch.Generator().manual_seed(0)
    q = torch.randn(2, 2, 8, generator=dice)
    k, v = torch.randn(2, 2, 40, 8, generator=dice), torch.randn(2, 2, 40, 8, generator=dice)
    lengths = [37, 0]
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = torch.nan
    return [(q, k, v, lengths), (1000 * q, k, v, lengths)]


def _finite_padding() -> list[Case]:
    dice = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, 8, generator=dice)
    k, v = torch.randn(2, 2, 40, 8, generator=dice), torch.randn(2, 2, 40, 8, generator=dice)
    return [(q, k, v, [37, 0]), (1000 * q, k, v, [37, 0])]


def _no_empty_row() -> list[Case]:
    dice = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, 8, generator=dice)
    k, v = torch.randn(2, 2, 40, 8, generator=dice), torch.randn(2, 2, 40, 8, generator=dice)
    lengths = [37, 33]
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = torch.nan
    return [(q, k, v, lengths), (1000 * q, k, v, lengths)]


def _huge_logits_only() -> list[Case]:
    dice = torch.Generator().manual_seed(0)
    q = torch.full((2, 4, 8), 100.0)
    k, v = torch.zeros(2, 2, 40, 8), torch.randn(2, 2, 40, 8, generator=dice)
    k[:, :, 0] = 10.0  # this key takes all
    lengths = [37, 0]
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = torch.nan
    return [(q, k, v, lengths)]


def _small_scores() -> list[Case]:
    dice = torch.Generator().manual_seed(0)
    q = torch.randn(2, 4, 8, generator=dice)
    k, v = torch.randn(2, 2, 40, 8, generator=dice), torch.randn(2, 2, 40, 8, generator=dice)
    lengths = [37, 0]
    for row, length in enumerate(lengths):
        k[row, :, length:] = v[row, :, length:] = torch.nan
    return [(q, k, v, lengths)]


def _outcome(answer: Any, inputs: Inputs) -> frozenset[str]:
    """The faults that the cases of an answer expose together, for the hidden tile of `inputs`."""
    found: set[str] = set()
    for q, k, v, lengths in decode_inputs(answer):
        found |= exposed(q, k, v, lengths, inputs["tile"])
    return frozenset(found)


def _draw() -> SearchStrategy[Inputs]:
    from hypothesis import strategies as st

    return st.builds(lambda tile: {"tile": tile}, st.sampled_from([4, 8, 16, 32]))


_HEAD_MAPS = (
    "How should a wrong order of heads show? With a single memory, or one query head for each, every head "
    "map agrees."
)
_PADDING = (
    "What can an unused slot hold so that even a weight of 0 does not hide it? 0 times a finite number hides "
    "the read."
)
_EMPTY = "Who divides by 0, and for which length?"
_OVERFLOW = "How large must a score be before exp() overflows in float32?"

EXERCISE = Exercise(
    id="03.3",
    title="Break six kernels",
    kind="break",
    reference=breaking_inputs,
    draw=_draw,
    mistakes=(
        Mistake(
            "round lengths",
            "Which kernel stumbles over a last tile that is not full, if every tile is full?",
            _round_lengths,
        ),
        Mistake(
            "one head per memory",
            _HEAD_MAPS,
            _one_head_per_memory,
        ),
        Mistake(
            "finite padding",
            _PADDING,
            _finite_padding,
        ),
        Mistake("no empty row", _EMPTY, _no_empty_row),
        Mistake(
            "huge logits only",
            "If one key takes all the weight, how could a dropped tail show? Let other keys count as well.",
            _huge_logits_only,
        ),
        Mistake("small scores", _OVERFLOW, _small_scores),
    ),
    hints=(
        "For each of the six: what must an input have so that this fault changes the result?",
        "Look at the lengths (which tile sizes divide them? is one of them 0?), at what unused slots hold, "
        "at how many query heads share a memory, and at how large the scores are: above about 88 they "
        "overflow float32, but if one score wins everything, nobody misses the others.",
        "`v[row, :, length:] = torch.nan`: a slot that nobody may read",
    ),
    outcome=_outcome,
    faults=Faults(
        {
            "heads interleaved": _HEAD_MAPS,
            "tail dropped": "Does a length end inside a tile of any size, and who would miss its last slots?",
            "tail read": "What lies in the slots behind a length, and does a tile of any size reach them?",
            "weight 0": _PADDING,
            "empty row": _EMPTY,
            "no maximum": _OVERFLOW,
        },
        tried="tile sizes",
    ),
    outputs="a list of at most two inputs (q, k, v, lengths)",
    draws=20,
)
