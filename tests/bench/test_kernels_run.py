"""The order of the kernel race: what fits, what fails, what stops it; and what its figures are made of."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from memlessons.bench.kernels import contenders, inputs
from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.budget import Budget, OutOfTime
from memlessons.bench.kernels.check import WrongKernel, check, check_reference
from memlessons.bench.kernels.command import BUDGET_SECONDS
from memlessons.bench.kernels.device import Ready, Rehearsal
from memlessons.bench.kernels.go import go
from memlessons.bench.kernels.jobs import Job, jobs
from memlessons.bench.kernels.ledger import Ledger
from memlessons.bench.kernels.race import Contender, Times, race
from memlessons.bench.kernels.results import kept, lines
from memlessons.bench.kernels.shapes import Shape
from memlessons.bench.kernels.targets import GPU
from memlessons.bench.kernels.truth import truth_of
from memlessons.kernels.arguments import checked
from memlessons.kernels.cases import Case, cases
from memlessons.kernels.reference import decode_reference
from memlessons.measure import Value

CARD = {"device": "a card", "driver": None, "commit": "abc", "versions": {}}
CPU = torch.device("cpu")
CHECKING_SECONDS = 90.0
"""Compiling and checking all cases on a GPU, at most."""


def bench(folder: Path, todo: list[Job], seconds: float = 100.0) -> Bench:
    names = [job.name for job in todo]
    return Bench(Rehearsal(), torch.float32, Ledger(folder / "k.json", CARD, {}, names), Budget(seconds))


def job(
    name: str, run: Callable[[Bench], Any] | None = None, seconds: float = 1.0, optional: bool = False
) -> Job:
    def put(b: Bench) -> None:
        b.ledger.put(name, {f"{name} ours": Value.of(1.0)}, {})

    return Job(name, seconds, run or put, optional)


def failing(error: BaseException) -> Callable[[Bench], None]:
    def run(b: Bench) -> None:
        raise error

    return run


def test_the_ceilings_come_first_and_what_may_fail_comes_late() -> None:
    names = [one.name for one in jobs()]
    assert names[0] == "ceilings" and len(set(names)) == len(names)
    assert names.index("gqa B32 T4096") < names.index("int8 B32 T4096") < names.index("splits")
    assert names.index("splits") < names.index("gqa B1 T32768, flex")


def test_all_of_it_fits_into_the_budget_but_what_may_be_left_out() -> None:
    needed = sum(one.seconds for one in jobs() if not one.optional)
    assert needed + CHECKING_SECONDS <= BUDGET_SECONDS <= 360


def test_every_target_that_can_be_measured_has_a_job() -> None:
    names = {one.name for one in jobs()}
    assert {target.job for target in GPU if not target.missing} <= names


def test_what_does_not_fit_is_left_out_and_what_fits_behind_it_is_done(tmp_path: Path) -> None:
    todo = [job("long", seconds=1000.0), job("short")]
    b = bench(tmp_path, todo)
    assert go(b, todo) == 0
    assert b.ledger.facts["done"] == ["short"] and "about 1000 s" in b.ledger.facts["left_out"]["long"]


def test_a_failed_job_is_named_and_the_others_go_on(tmp_path: Path, capsys) -> None:
    todo = [job("bad", failing(ValueError("no\nway"))), job("maybe", failing(KeyError("x")), optional=True)]
    todo += [job("big", failing(MemoryError("needs 9 GiB"))), job("good")]
    b = bench(tmp_path, todo)
    assert go(b, todo) == 1
    assert b.ledger.facts["failed"] == {"bad": "ValueError: no"}
    assert b.ledger.facts["left_out"] == {"maybe": "KeyError: 'x'", "big": "needs 9 GiB"}
    assert b.ledger.facts["done"] == ["good"] and "failed: ValueError: no" in capsys.readouterr().out


def test_a_device_that_does_not_go_on_ends_the_race(tmp_path: Path, monkeypatch) -> None:
    todo = [job("bad", failing(RuntimeError("illegal address"))), job("good")]
    b = bench(tmp_path, todo)
    monkeypatch.setattr(Rehearsal, "wait", lambda self: failing(RuntimeError("illegal address"))(b))
    assert go(b, todo) == 1
    assert b.ledger.facts["left_out"] == {"good": "not reached"}


def test_a_wrong_kernel_ends_the_race_by_its_name(tmp_path: Path) -> None:
    todo = [job("bad", failing(WrongKernel("case 'x'"))), job("good")]
    b = bench(tmp_path, todo)
    with pytest.raises(WrongKernel):
        go(b, todo)
    assert b.ledger.facts["failed"] == {"bad": "case 'x'"} and b.ledger.values == {}


def test_an_interruption_keeps_what_was_measured(tmp_path: Path) -> None:
    todo = [job("first"), job("second", failing(KeyboardInterrupt())), job("third")]
    b = bench(tmp_path, todo)
    assert go(b, todo) == 130
    again = bench(tmp_path, todo)
    assert set(again.ledger.values) == {"first ours"} and again.ledger.todo() == ["second", "third"]


def test_the_alarm_ends_what_overruns_the_deadline(tmp_path: Path) -> None:
    def sleeps(b: Bench) -> None:
        try:
            time.sleep(60)
        except Exception:  # what a library might do
            time.sleep(60)

    todo = [job("slow", sleeps, seconds=-5.0), job("next")]
    b = bench(tmp_path, todo, seconds=0.2)
    began = time.monotonic()
    assert go(b, todo) == 0
    assert time.monotonic() - began < 30
    assert b.ledger.facts["left_out"]["slow"] == "out of time" and "next" in b.ledger.facts["left_out"]
    with pytest.raises(OutOfTime), Budget(-1).alarm():
        time.sleep(60)
    time.sleep(0.01)  # no alarm rings after it


class Slow(Rehearsal):
    """Passes over `first` take a second, others two."""

    rounds = 5
    replays = 2

    def __init__(self) -> None:
        self.order: list[str] = []

    def times(self, ready: Ready) -> list[float]:
        ready.go()
        return [1.0 if self.order[-1] == "a" else 2.0] * self.replays


def test_contenders_take_turns_and_a_pass_has_each_set_of_inputs() -> None:
    device = Slow()
    field = [
        Contender(name, [lambda n=name: device.order.append(n)] * sets) for name, sets in (("a", 4), ("b", 1))
    ]
    times = race(field, device, seed=1)
    assert times["a"].samples == [0.25] * 10 and times["a"].rounds == [0.25] * 5  # 1 s for 4 calls
    assert times["b"].samples == [1.0] * 10  # a pass has at least 2 calls: 2 s for both
    rounds = device.order[6:]  # after warming up: 4 + 2
    assert sorted(rounds) == ["a"] * 20 + ["b"] * 10
    assert all(sorted(rounds[i : i + 6]) == ["a"] * 4 + ["b"] * 2 for i in range(0, 30, 6))
    late = race(field, device, in_time=lambda: False)
    assert len(late["a"].rounds) == 3


def test_more_than_the_ceiling_is_refused_and_is_no_figure() -> None:
    field = [Contender(n, [lambda: None], bytes_moved=100) for n in ("ours", "fast", "fair")]
    times = {"ours": [2.0], "fast": [0.9], "fair": [1.0]}
    values, facts, refused = kept(
        "row", {n: Times(s, s, True) for n, s in times.items()}, field, "ours", ceiling=100.0
    )
    assert refused == {"row fast": "1.11 of the ceiling: a mistake, not a speed"}
    assert values["row ours of ceiling"].median == 0.5 and values["row fair / ours"].median == 0.5
    assert not [name for name in values if "fast" in name] and facts["fast"]["graph"] is True
    (ours, fair) = lines(values)
    assert "50.0% of the ceiling" in ours and "0.50 x ours" in fair


def test_without_a_ceiling_there_is_no_fraction() -> None:
    field = [Contender("ours", [lambda: None], bytes_moved=100)]
    values, _, refused = kept("row", {"ours": Times([1.0], [1.0], False)}, field, "ours", None)
    assert list(values) == ["row ours"] and refused == {}


def test_a_wrong_backend_is_named_by_its_case(monkeypatch) -> None:
    from memlessons.bench.kernels import check as kernel_check

    case = Case("full rows", lengths=(64, 64))
    assert check("triton", [torch.float32], CPU, [case])["float32"]["cases"] == 1
    real = kernel_check.decode
    monkeypatch.setattr(kernel_check, "decode", lambda *a, **o: tuple(t * 1.1 for t in real(*a, **o)))
    with pytest.raises(WrongKernel, match="'full rows' in float32 is wrong"):
        check("triton", [torch.float32], CPU, [case])
    monkeypatch.setattr(kernel_check, "decode", lambda *a, **o: failing(OSError("no"))(a[0]))
    with pytest.raises(WrongKernel, match="'full rows' .* raised OSError: no"):
        check("triton", [torch.float32], CPU, [case])


def test_warming_up_never_waits_longer_than_it_may_and_leaves_no_process(monkeypatch) -> None:
    from memlessons.bench.kernels import check as kernel_check

    started: list[Any] = []
    real = kernel_check.subprocess.Popen
    monkeypatch.setattr(
        kernel_check.subprocess, "Popen", lambda *a, **o: started.append(real(*a, **o)) or started[-1]
    )
    began = time.monotonic()
    kernel_check.warm([torch.float16], workers=2, seconds=0.0)
    assert time.monotonic() - began < 30
    assert len(started) == 2 and all(child.returncode not in (None, 0) for child in started)


def test_a_warming_process_takes_its_share_of_the_cases(monkeypatch) -> None:
    from memlessons.bench.kernels import warm as kernel_warm

    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(
        kernel_warm, "decode", lambda q, k, v, lengths, backend, **o: seen.append((str(q.dtype), len(q)))
    )
    for me in range(3):
        kernel_warm.main([str(me), "3", "float16", "float32"])
    assert len(seen) == 2 * len(cases()) and {dtype for dtype, _ in seen} == {
        "torch.float16",
        "torch.float32",
    }


def test_reading_a_block_adds_up_every_number_it_claims_to_read() -> None:
    roof = pytest.importorskip("memlessons.kernels.roof")
    x = torch.randn(roof.BLOCK * 8 * 5 + 17, generator=torch.Generator().manual_seed(0))
    read = roof.read(x, processors=1)
    read.run()
    assert read.bytes_read == 4 * roof.BLOCK * 8 * 5
    assert torch.allclose(read.sums.double().sum(), x[: read.bytes_read // 4].double().sum(), atol=1e-2)


def test_the_reference_agrees_with_torch_where_torch_can() -> None:
    assert check_reference() > 20


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_truth_of_large_shapes_is_that_of_the_reference(case: Case) -> None:
    q, k, v, lengths, options = case.inputs(torch.float32)
    calling = {name: x for name, x in options.items() if name not in ("splits", "deterministic")}
    right, _ = decode_reference(checked(q, k, v, lengths, **calling))
    found = truth_of(inputs.Inputs(q, k, v, lengths, q, calling))
    assert torch.equal(found.isfinite(), right.isfinite())
    assert float((found - right).norm()) <= 1e-11 * float(right.norm())


def test_a_contender_that_leaves_numbers_out_is_found() -> None:
    (one,) = inputs.pool(Shape("x", 1, 4, 2, 40, 16), 1, torch.float32, CPU, 0)
    ours = contenders.ours(Shape("x", 1, 4, 2, 40, 16), [one], splits=2)
    assert contenders.error_of(ours, one) < 1e-6 and ours.facts == {"splits": 2}
    assert contenders.error_of(Contender("lazy", [lambda: one.out]), one) == float("inf")
