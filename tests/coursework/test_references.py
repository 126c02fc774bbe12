"""The right answers of chapters 02 and 03 against oracles that share no code with them."""

import itertools
import statistics
from fractions import Fraction

import numpy
import pytest
import torch

from memlessons.coursework.catalogue import find
from memlessons.coursework.draw import draw_inputs
from memlessons.plan import presets


def drawn(id, count=60):
    exercise = find(id)
    examples = [inputs for mistake in exercise.mistakes for inputs in mistake.pins]
    return [*draw_inputs(exercise, 11, count), *exercise.shown, *examples]


def test_kv_bytes_of_smollm2_are_those_of_its_plan():
    config = {
        "num_hidden_layers": 30,
        "hidden_size": 576,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
    }
    plan = presets.get("smollm2-135m").plan
    assert find("02.1").reference(config, 1000, 1, 16, 16) == plan.bytes([1000])


def test_crossing_is_the_first_context_at_which_the_cache_outweighs_the_weights():
    for inputs in drawn("02.2", 40):
        held, found = 0, None
        sequences = inputs["batch"] * inputs["constant"]
        # One token after the other: a layer grows until its window is full.
        for context in range(1, inputs["longest"] + 1):
            held += sum(size for size, window in inputs["layers"] if window is None or context <= window)
            if sequences + inputs["batch"] * held >= inputs["weight_bytes"]:
                found = context
                break
        assert find("02.2").reference(**inputs) == found


def computes_as_long_as_it_fetches(batch, params, bytes_per_param, kv_bytes, flop_rate, bandwidth):
    computing = Fraction(2 * params * batch, flop_rate)
    return computing >= Fraction(params * bytes_per_param + batch * kv_bytes, bandwidth)


def test_the_batch_that_saturates_is_limited_by_compute_and_one_sequence_less_is_not():
    for inputs in drawn("02.4", 40):
        found = find("02.4").reference(**inputs)
        if found is None:
            assert not any(computes_as_long_as_it_fetches(10**power, **inputs) for power in range(30))
        else:
            assert computes_as_long_as_it_fetches(found, **inputs)
            assert not computes_as_long_as_it_fetches(found - 1, **inputs)


def test_online_softmax_is_softmax_over_all_chunks_at_once():
    for inputs in drawn("03.1", 40):
        scores, values = torch.cat(inputs["score_chunks"]), torch.cat(inputs["value_chunks"])
        out, lse = find("03.1").reference(**inputs)
        seen = scores.isfinite()
        torch.testing.assert_close(out, scores[seen].softmax(0) @ values[seen])
        assert lse == pytest.approx(float(scores.logsumexp(0)) if len(scores) else -torch.inf)


def test_the_least_reuse_is_the_first_with_which_computing_takes_as_long_as_loading():
    whole = 0
    for inputs in drawn("00.3", 60):
        loading = Fraction(inputs["element_bytes"], inputs["bandwidth"])
        found = find("00.3").reference(**inputs)
        assert Fraction(2 * found, inputs["flop_rate"]) >= loading
        assert Fraction(2 * (found - 1), inputs["flop_rate"]) < loading
        whole += Fraction(2 * found, inputs["flop_rate"]) == loading
    assert whole > 5


def test_the_fitted_line_is_that_of_numpy_and_noise_moves_it_by_a_few_percent():
    for inputs in drawn("00.4", 40):
        medians = [statistics.median(repetitions) for repetitions in inputs["seconds"]]
        slope, fixed = numpy.polyfit(inputs["sizes"], medians, 1)
        assert find("00.4").reference(**inputs) == pytest.approx((1 / slope, fixed), rel=1e-7)
        assert 0 < fixed < max(medians)


def test_merging_any_split_is_attention_over_the_whole():
    merge = find("03.2").reference
    dice = torch.Generator().manual_seed(5)
    scores = 400 * torch.randn(3, 9, generator=dice, dtype=torch.float64)
    values = torch.randn(3, 9, 4, generator=dice, dtype=torch.float64)

    def attended(part):
        return (scores[:, None, part].softmax(-1) @ values[:, part])[:, 0], scores[:, part].logsumexp(-1)

    nothing = torch.zeros(3, 4, dtype=torch.float64), torch.full((3,), -torch.inf, dtype=torch.float64)
    whole = attended(slice(None))
    for cut in range(10):
        a = attended(slice(cut)) if cut else nothing
        b = attended(slice(cut, None)) if cut < 9 else nothing
        for one, other in itertools.permutations((a, b)):
            torch.testing.assert_close(merge(*one, *other), whole)
    torch.testing.assert_close(merge(*nothing, *nothing), nothing)


def test_a_decode_step_is_over_when_the_later_of_its_two_jobs_is():
    for inputs in drawn("02.3", 20):
        seconds = find("02.3").reference(**inputs)
        left_to_fetch = inputs["read"] + inputs["batch"] * inputs["kv"] - seconds * inputs["bandwidth"]
        left_to_compute = inputs["batch"] * inputs["flop_per_token"] - seconds * inputs["flop_rate"]
        fetched, computed = inputs["bandwidth"] * seconds, inputs["flop_rate"] * seconds
        assert max(left_to_fetch / fetched, left_to_compute / computed) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("group, expanded", list(itertools.product((2, 5), (False, True))))
def test_bytes_moved_are_those_of_the_tensors_touched(group, expanded):
    k = v = torch.zeros(3, 2, 7, 4, dtype=torch.float16)
    touched = [k, v]
    if expanded:
        copies = [stored.repeat_interleave(group, 1) for stored in touched]
        touched += copies + copies
    inputs = {"batch": 3, "q_heads": 2 * group, "kv_heads": 2, "tokens": 7, "width": 4, "element_bytes": 2}
    assert find("03.4").reference(**inputs, expanded=expanded) == sum(t.nbytes for t in touched)
