"""The GPU's graphs and clock, played by a torch.cuda that writes down what it is asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from memlessons.bench.kernels import cuda


class Played:
    """Everything that `Cuda` asks of torch.cuda; its clock moves by 2 ms for every pass."""

    def __init__(self, captures: bool = True) -> None:
        self.log: list[str] = []
        self.now = 0.0
        self.captures = captures
        self.capturing = False

    def one_pass(self) -> None:
        self.log.append("captured" if self.capturing else "pass")
        self.now += 0.0 if self.capturing else 2.0
        if self.capturing and not self.captures:
            raise RuntimeError("operation not permitted when stream is capturing")

    def current_device(self) -> int:
        return 0

    def get_device_properties(self, where: torch.device) -> Any:
        return SimpleNamespace(
            L2_cache_size=50 * 2**20,
            major=9,
            minor=0,
            multi_processor_count=132,
            total_memory=2**37,
            uuid="u",
        )

    def synchronize(self) -> None:
        self.log.append("wait")

    def Stream(self) -> Any:
        return SimpleNamespace(wait_stream=lambda other: None)

    current_stream = default_stream = Stream

    def set_stream(self, stream: Any) -> None:
        self.log.append("stream set back")

    @contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        yield

    def CUDAGraph(self) -> Any:
        return SimpleNamespace(replay=lambda: self.one_pass() or self.log.append("replayed"))

    @contextmanager
    def graph(self, graph: Any) -> Iterator[None]:
        self.capturing = True
        try:
            yield
        finally:
            self.capturing = False

    def Event(self, enable_timing: bool) -> Any:
        assert enable_timing
        mark = SimpleNamespace(at=None)
        mark.record = lambda: setattr(mark, "at", self.now)
        mark.elapsed_time = lambda other: other.at - mark.at
        return mark


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Played:
    made = Played(getattr(request, "param", True))
    monkeypatch.setattr(cuda.torch, "cuda", made)
    return made


def test_a_pass_is_warmed_up_then_captured_and_its_replays_are_timed(played: Played) -> None:
    device = cuda.Cuda()
    ready = device.ready(played.one_pass)
    assert ready.graph and [x for x in played.log if x != "wait"] == ["pass"] * 3 + ["captured"]
    assert device.times(ready) == pytest.approx([0.002] * device.replays)  # the first is not counted
    assert played.log.count("replayed") == device.replays + 1


@pytest.mark.parametrize("played", [False], indirect=True)
def test_where_a_capture_fails_the_calls_themselves_are_timed_and_it_is_said(played: Played) -> None:
    device = cuda.Cuda()
    ready = device.ready(played.one_pass)
    assert not ready.graph and "stream set back" in played.log
    assert device.times(ready) == pytest.approx([0.002] * device.replays)
    assert "replayed" not in played.log


def test_the_device_is_described_and_a_missing_nvidia_smi_is_no_failure(played, monkeypatch) -> None:
    device = cuda.Cuda()
    assert device.facts()["arch"] == "sm_90" and device.cache_bytes == 50 * 2**20 and device.has_bfloat16
    asked: list[list[str]] = []

    def run(command: list[str], **options: Any) -> Any:
        asked.append(command)
        return SimpleNamespace(returncode=len(asked) % 2, stdout="clocks\n1980 MHz\n")

    monkeypatch.setattr(cuda.subprocess, "run", run)
    assert device.clocks() == "clocks\n1980 MHz"  # not by its id, but then without
    assert asked[0][-1] == "--id=GPU-u" and len(asked) == 2

    def absent(command: list[str], **options: Any) -> Any:
        raise FileNotFoundError(command[0])

    monkeypatch.setattr(cuda.subprocess, "run", absent)
    assert device.clocks() is None


def test_what_is_played_exists_in_torch() -> None:
    """A name that torch.cuda does not have would be found by no other test here."""
    names = "current_device get_device_properties synchronize Stream current_stream default_stream set_stream"
    for name in f"{names} stream CUDAGraph graph Event empty_cache mem_get_info".split():
        assert hasattr(torch.cuda, name), name
    assert hasattr(torch.cuda.CUDAGraph, "replay") and hasattr(torch.cuda.Event, "elapsed_time")
