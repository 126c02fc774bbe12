"""Draws are new each time, the same for a seed, and leave nothing behind."""

import os
import subprocess
import sys

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlessons.coursework.copies import fresh_copy, plain_key
from memlessons.coursework.draw import draw_inputs, fresh_seed
from tests.coursework.samples import in_place, sums


def test_a_seed_repeats_its_draws_and_another_gives_others():
    one, again, other = (draw_inputs(sums(), seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_seeds_are_fresh():
    seeds = {fresh_seed() for _ in range(20)}
    assert len(seeds) > 1
    assert all(100_000 <= seed < 1_000_000 for seed in seeds)


def test_the_simplest_input_comes_first():
    assert draw_inputs(sums(), 5)[0] == {"values": [], "most": 0}


def test_as_many_are_drawn_as_asked_for_and_plain_ones_but_once():
    assert len(draw_inputs(in_place(draws=73), 1)) == 73
    assert len(draw_inputs(in_place(), 1, 12)) == 12
    few = sums(draw=lambda: st.fixed_dictionaries({"values": st.just([1]), "most": st.integers(0, 3)}))
    assert sorted(inputs["most"] for inputs in draw_inputs(few, 1)) == [0, 1, 2, 3]


@given(st.integers(0, 3))
@settings(max_examples=3, suppress_health_check=[HealthCheck.nested_given])
def test_it_works_within_a_property_of_hypothesis_itself(seed):
    assert len(draw_inputs(in_place(), seed)) == 60


CODE = """
import sys
{first}
from hypothesis import strategies as st
from memlessons.coursework.draw import draw_inputs
from types import SimpleNamespace
exercise = SimpleNamespace(draws=200, draw=lambda: st.fixed_dictionaries({{"n": st.integers(0, 10**9)}}))
print([inputs["n"] for inputs in draw_inputs(exercise, 5)])
"""


@pytest.mark.parametrize("first", ["import memlessons.plan, memlessons.cost", "import local_constants"])
def test_no_file_is_written_and_loaded_modules_change_nothing(tmp_path, first):
    """Hypothesis would look for constants in the sources that are loaded, and keep them in a folder."""
    (tmp_path / "local_constants.py").write_text("A, B, C = 123_456_789, 987_654, 55_555\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)
    command = [sys.executable, "-c", CODE.format(first=first)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    plain = subprocess.run(
        [sys.executable, "-c", CODE.format(first="")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout == plain.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["local_constants.py"]


def test_a_copy_shares_nothing():
    x = torch.ones(2)
    original = {"x": x, "lists": [[1, 2], (3, [4])], "set": {5}}
    copied = fresh_copy(original)
    copied["x"][0] = 7
    copied["lists"][0].append(9)
    copied["lists"][1][1].append(9)
    copied["set"].add(9)
    assert original["x"].tolist() == [1, 1]
    assert original["lists"] == [[1, 2], (3, [4])]
    assert original["set"] == {5}


def test_plain_values_have_a_key_and_tensors_none():
    assert plain_key({"a": [1, 2.0, "x", None]}) == plain_key({"a": [1, 2.0, "x", None]})
    assert len({plain_key(v) for v in (1, 1.0, True, "1", [1], (1,), {"a": 1}, {"b": 1})}) == 8
    assert plain_key({"a": [torch.ones(1)]}) is None
