"""A step without a look at a length is the same step; what a graph may not do is not done."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from memlessons.cache import CacheFull
from memlessons.kernels import decode
from memlessons.model import attention, captured
from memlessons.model.captured import CannotCapture, CapturedStep, can_capture
from memlessons.model.rope import PositionOutOfRange
from memlessons.plan import F64, INT8, Format
from tests.model import small

TOKENS = [[3, 14, 15, 9, 2], [6, 5, 35, 8, 9]]


def in_the_open(body: Callable[[], None]) -> Callable[[], None]:
    """In place of a graph: what would be captured, run each time."""
    return body


@pytest.mark.parametrize("format", [F64, INT8])
@pytest.mark.parametrize("lengths", [[3, 3], [5, 1]])
def test_captured_steps_equal_forwards(format: Format, lengths: list[int]) -> None:
    d = small.decoder(small.config(), small.plan().with_format(format))
    states = [d.new_state(2, 12) for _ in range(2)]
    for state in states:
        d.forward(torch.tensor(TOKENS), state, lengths)
    step = CapturedStep(d, states[0], in_the_open)
    for token in (7, 1, 49, 7):
        tokens = torch.tensor([token, token - 1])
        logits = step(tokens)
        assert torch.allclose(logits, d.forward(tokens[:, None], states[1])[:, 0], atol=1e-10)
        assert states[0].lengths == states[1].lengths
        assert [m.lengths.tolist() for m in states[0].memories()] == [states[0].lengths] * 2
    assert states[0].truncate([4, 2]) == [4, 2]
    states[1].truncate([4, 2])
    assert torch.allclose(step(torch.tensor([1, 2])), d.forward(torch.tensor([[1], [2]]), states[1])[:, 0])


class NoLookAtValues(TorchDispatchMode):
    """Raises where a value would travel to the host, or memory from the host: a graph has neither."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default):
            raise AssertionError(f"{func} waits for the device")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("format", [F64, INT8])
def test_nothing_that_is_captured_looks_at_a_value(format: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    d = small.decoder(small.config(), small.plan().with_format(format), dtype=torch.float32)
    d.kernels = False  # those of a CPU, which a GPU does not have
    state = d.new_state(2, 12)
    d.forward(torch.tensor(TOKENS), state)
    # Kernels are launched with pointers; here they are played by zeros of the right shape.
    monkeypatch.setattr(
        attention, "decode", lambda q, k, v, lengths, **_: q.new_zeros(*q.shape[:2], v.shape[-1])
    )
    monkeypatch.setattr("memlessons.cache.full.append_kv", lambda *a, **k: None)
    step = CapturedStep(d, state, in_the_open)
    with NoLookAtValues():
        step._body()
    with pytest.raises(AssertionError, match="waits"), NoLookAtValues():
        d.forward(torch.tensor([[1], [2]]), state)[0, 0, 0].item()


@pytest.mark.parametrize("format", [F64, INT8])
def test_the_same_step_through_the_triton_kernels(format: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    from memlessons.kernels import append_kv

    def by_triton(function: Any) -> Any:
        return lambda *a, **k: function(*a, **k, backend="triton")

    d = small.decoder(small.config(), small.plan().with_format(format), dtype=torch.float32)
    d.kernels = False
    state, tokens = d.new_state(1, 12), torch.tensor(TOKENS[:1])
    d.forward(tokens[:, :4], state)
    monkeypatch.setattr(attention, "decode", by_triton(decode))
    monkeypatch.setattr("memlessons.cache.full.append_kv", by_triton(append_kv))
    logits = CapturedStep(d, state, in_the_open)(tokens[:, 4])
    other = small.decoder(small.config(), d.plan)
    truth = other.forward(tokens, other.new_state(1, 12))[:, -1]
    assert float((logits - truth).norm() / truth.norm()) < 1e-4


def test_a_full_memory_is_refused_before_anything_changes() -> None:
    d = small.decoder(small.config())
    state = d.new_state(1, 6)
    d.forward(torch.tensor(TOKENS[:1]), state)
    step = CapturedStep(d, state, in_the_open)
    step(torch.tensor([1]))
    with pytest.raises(CacheFull):
        step(torch.tensor([1]))
    assert state.lengths == [6] and [m.lengths.tolist() for m in state.memories()] == [[6], [6]]


def test_a_row_that_is_full_is_refused_and_its_neighbour_keeps_its_memory() -> None:
    d = small.decoder(small.config())
    state = d.new_state(2, 5)
    d.forward(torch.tensor(TOKENS), state, [5, 3])
    before = state.export(1, range(3))
    with pytest.raises(CacheFull):
        CapturedStep(d, state, in_the_open)
    memory = state.layers[0][0]
    memory.write_next(torch.ones(2, 2, 8), torch.ones(2, 2, 8))  # as a replay would that nobody stopped
    assert all(torch.equal(part, before[name]) for name, part in state.export(1, range(3)).items())


def test_beyond_what_the_model_reads_it_stops_before_anything_changes() -> None:
    d = small.decoder(small.config(longest=6))
    state = d.new_state(1, 9)
    d.forward(torch.tensor(TOKENS[:1]), state)
    step = CapturedStep(d, state, in_the_open)
    step(torch.tensor([1]))
    with pytest.raises(PositionOutOfRange, match="up to 5"):
        step(torch.tensor([1]))
    assert state.lengths == [6]


def test_each_step_keeps_its_own_scratch() -> None:
    """A graph holds addresses: another, larger call must not give its memory back."""
    d = small.decoder(small.config())
    steps = []
    for rows in (1, 3):
        state = d.new_state(rows, 8)
        d.forward(torch.ones(rows, 2, dtype=torch.int64), state)
        steps.append(CapturedStep(d, state, in_the_open))
        steps[-1](torch.ones(rows, dtype=torch.int64))
        if rows == 1:
            part = steps[0]._scratch._part
    assert part is not None and steps[0]._scratch._part is part
    assert steps[0]._scratch is not steps[1]._scratch and d.scratch not in {s._scratch for s in steps}


@pytest.mark.parametrize("format", [F64, INT8])
def test_what_no_kernel_reads_is_not_captured(format: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    d = small.decoder(small.config(), small.plan().with_format(format))
    assert can_capture(d, d.new_state(1, 4))
    mixed = small.decoder(small.config(), small.plan().with_format(INT8, F64))
    assert not can_capture(mixed, mixed.new_state(1, 4))
    monkeypatch.setattr(attention, "find_spec", lambda name: None)
    assert not can_capture(d, d.new_state(1, 4))


def test_without_a_gpu_it_says_so() -> None:
    d = small.decoder(small.config())
    with pytest.raises(CannotCapture, match="on a GPU; this decoder is on cpu"):
        CapturedStep(d, d.new_state(1, 5))


def test_a_graph_is_warmed_up_beside_captured_once_and_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a played torch.cuda: the order of calls that PyTorch's notes ask for."""
    said: list[str] = []

    class Played:
        def __init__(self, name: str = "stream") -> None:
            self.name = name

        def wait_stream(self, other: Any) -> None:
            said.append(f"{self.name} waits for {other.name}")

        def __enter__(self) -> None:
            said.append(f"in {self.name}")

        def __exit__(self, *_: object) -> None:
            said.append(f"out of {self.name}")

        def replay(self) -> None:
            said.append("replay")

    monkeypatch.setattr(captured.torch.cuda, "Stream", lambda: Played("beside"))
    monkeypatch.setattr(captured.torch.cuda, "current_stream", lambda: Played("current"))
    monkeypatch.setattr(captured.torch.cuda, "stream", lambda stream: stream)
    monkeypatch.setattr(captured.torch.cuda, "CUDAGraph", lambda: Played("graph"))
    monkeypatch.setattr(captured.torch.cuda, "graph", lambda graph, stream: graph)
    replay = captured.cuda_graph(lambda: said.append("body"))
    replay()
    replay()
    assert said == [
        "beside waits for current", "in beside", "body", "body", "body", "in graph", "body", "out of graph",
        "out of beside", "current waits for beside", "replay", "replay",
    ]  # fmt: skip
