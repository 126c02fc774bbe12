"""The row of `append_kv`: what is written is checked, and its copies move as many bytes."""

from pathlib import Path

import pytest
import torch

from memlessons.bench.kernels import append
from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.budget import Budget
from memlessons.bench.kernels.check import WrongKernel
from memlessons.bench.kernels.device import Rehearsal
from memlessons.bench.kernels.ledger import Ledger

CARD = {"device": "a card", "driver": None, "commit": "abc", "versions": {}}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    pytest.importorskip("triton")
    return Bench(Rehearsal(), torch.float16, Ledger(tmp_path / "k.json", CARD, {}, [append.JOB]), Budget(100))


def test_each_is_raced_beside_a_copy_of_as_many_bytes(bench: Bench) -> None:
    append.append(bench)
    facts = bench.ledger.facts["rows"][append.JOB]["contenders"]
    for name in ("16-bit", "int8"):
        moved = append.bytes_moved(12, 2, 16, 2, name == "int8")
        assert facts[name]["bytes_moved"] == moved
        assert abs(facts[f"copy of {name}"]["bytes_moved"] - moved) <= 1
    values = bench.ledger.values
    assert {f"{append.JOB} 16-bit / copy of 16-bit", f"{append.JOB} int8 / copy of int8"} <= set(values)


@pytest.mark.parametrize("int8", [False, True])
def test_every_token_goes_to_a_slot_of_its_own(bench: Bench, int8: bool) -> None:
    one = append.writing(bench, 12, 2, 16, 8, int8, seed=3)
    assert len(set(one.slots.tolist())) == 12 and one.k.shape == (2, 2, 8, 16)
    append.check("here", one)
    written = one.k.float().abs().sum((1, 3)).flatten() > 0
    assert written.nonzero().flatten().tolist() == sorted(one.slots.tolist())


@pytest.mark.parametrize("int8", [False, True])
def test_a_kernel_that_writes_something_else_is_found(bench: Bench, monkeypatch, int8: bool) -> None:
    one = append.writing(bench, 12, 2, 16, 8, int8, seed=3)
    real = append.append_kv

    def wrong(k_new, v_new, *more, backend, **options):
        real(k_new * (1.05 if backend == "triton" else 1.0), v_new, *more, backend=backend, **options)

    monkeypatch.setattr(append, "append_kv", wrong)
    with pytest.raises(WrongKernel, match="here: append_kv writes other"):
        append.check("here", one)
