"""Chunks that can be read once, and what becomes of whoever keeps them."""

import math
from functools import cache

import pytest
import torch

from memlessons.coursework.cases import prepare
from memlessons.coursework.catalogue import find
from memlessons.coursework.check import check
from memlessons.coursework.exercises.one_pass import ChunkGone, OnePass


@pytest.fixture
def chunks():
    lists = [[torch.tensor([1.0 * n]) for n in range(1, 4)], [torch.ones(1, 2)] * 3]
    return OnePass(lists).chunks


@pytest.mark.parametrize(
    "pairs",
    [
        lambda a, b: zip(a, b, strict=True),
        lambda a, b: ((a[i], b[i]) for i in range(len(a))),
        lambda a, b: ((x, b[i]) for i, x in enumerate(a)),
        lambda a, b: (
            (x, y) for part in (slice(0, 1), slice(1, None)) for x, y in zip(a[part], b[part], strict=True)
        ),
    ],
)
def test_once_through_is_fine_in_any_style(chunks, pairs):
    seen = [(float(x), float(y.sum())) for x, y in pairs(*chunks)]
    assert seen == [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]


def test_a_chunk_may_be_left_out_and_the_one_at_hand_asked_for_again(chunks):
    one, other = chunks
    assert [float(one[0]), float(one[0]), float(one[2]), float(other[-1].sum())] == [1.0, 1.0, 3.0, 2.0]


def test_what_is_kept_becomes_zero_and_going_back_is_an_error(chunks):
    one, other = chunks
    kept = list(one)
    assert [float(x) for x in kept] == [0.0, 0.0, 3.0]
    for back in (lambda: one[0], lambda: next(iter(other)), lambda: other[1]):
        with pytest.raises(ChunkGone, match="keep sums, not chunks"):
            back()


def test_the_tensors_given_are_left_alone():
    tensors = [torch.ones(2), torch.ones(2)]
    list(OnePass([tensors]).chunks[0])
    assert all(bool((tensor == 1).all()) for tensor in tensors)


@cache
def cases():
    return prepare(find("03.1"), 2, 40)


def told(answer):
    return check(find("03.1"), answer, cases=cases())


def test_all_at_once_is_refused_with_a_word_of_its_own():
    def all_at_once(score_chunks, value_chunks):
        scores, values = torch.cat(list(score_chunks)), torch.cat(list(value_chunks))
        return scores.softmax(0) @ values, scores.logsumexp(0)

    assert "a chunk is gone once you take the next: keep sums, not chunks" in told(all_at_once).said

    def collected(score_chunks, value_chunks):
        pairs = [(s, v) for s, v in zip(score_chunks, value_chunks, strict=True)]
        return all_at_once(*map(list, zip(*pairs, strict=True)))

    assert told(collected).mistake == "chunks kept"


def test_the_highest_score_first_is_two_passes():
    def two_passes(score_chunks, value_chunks):
        highest = max([s for scores in score_chunks for s in scores.tolist()], default=-math.inf)
        weights = [(scores - highest).exp() for scores in score_chunks]
        return sum(w @ v for w, v in zip(weights, value_chunks, strict=True)), highest

    assert "ChunkGone" in told(two_passes).said


def test_an_average_kept_all_the_way_passes():
    def averaging(score_chunks, value_chunks):
        out, lse = 0.0, torch.tensor(-math.inf)
        for scores, values in zip(score_chunks, value_chunks, strict=True):
            new = torch.logaddexp(lse, torch.logsumexp(scores, 0))
            if new > -math.inf:
                out = out * (lse - new).exp() + (scores - new).exp() @ values
            lse = new
        return out + torch.zeros(values.shape[1]), lse

    assert told(averaging).passed


@pytest.mark.parametrize("name", ["old sum not rescaled", "nothing rescaled", "chunks kept"])
def test_the_example_shows_numbers_where_there_are_some(name):
    mistake = next(m for m in find("03.1").mistakes if m.name == name)
    found = told(mistake.answer)
    assert found.mistake == name
    assert not any(word in line for line in found.case[-3:] for word in ("nan", "inf"))
