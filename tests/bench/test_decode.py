"""The decode race: every contestant does the work it is timed for, and leaves its memory as it was."""

import argparse

import pytest
import torch

from memlessons.bench import command, decode
from memlessons.bench.peer import llama_peer
from memlessons.measure import Record, Timing
from tests.model import small


@pytest.fixture
def contestants():
    d = small.decoder(small.config(), dtype=torch.float32)
    return d, llama_peer(d)


def test_each_step_leaves_the_memory_at_the_same_length(contestants, monkeypatch: pytest.MonkeyPatch) -> None:
    d, peer = contestants
    seen = []
    real = d.forward
    monkeypatch.setattr(d, "forward", lambda *a, **k: seen.append(a[1]) or real(*a, **k))
    runs = decode.decode_runs(d, peer, 20)
    assert set(runs) == {"ours", "peer", "stream"}
    for _ in range(3):
        for run in runs.values():
            run()
    assert {tuple(state.lengths) for state in seen} == {(20,)}


def test_the_stream_reads_as_many_bytes_as_weights_and_memory_take(contestants, monkeypatch) -> None:
    d, _ = contestants
    made = []
    real = torch.ones
    monkeypatch.setattr(torch, "ones", lambda *a, **k: made.append(real(*a, **k)) or made[-1])
    decode.decode_runs(d, None, 20)
    weights = sum(w.numel() for w in d.weights.values())
    assert made[-1].numel() * 4 == 4 * weights + d.plan.bytes(20) // 2  # the plan's numbers have 8 bytes


def test_a_race_prints_its_ratios_and_writes_a_record(monkeypatch, tmp_path, capsys, contestants) -> None:
    d, peer = contestants
    monkeypatch.setattr(decode, "load", lambda name: argparse.Namespace(decoder=d))
    monkeypatch.setattr(decode, "llama_peer", lambda decoder: peer)
    out = tmp_path / "decode.json"
    words = ["decode", "--contexts", "8", "16", "--prefill", "12", "--rounds", "3", "--out", str(out)]
    assert command.main(words) == 0
    printed = capsys.readouterr().out
    assert "a step at 8 tokens" in printed and "peer / ours" in printed and "prefill of 12" in printed
    values = Record.read(out).values
    assert values["decode 16 stream / ours"].repetitions == 3
    assert values["decode 16 ours"].median > 0


def test_ratios_are_of_the_same_round() -> None:
    times = {"ours": Timing.of([1.0, 2.0, 4.0]), "peer": Timing.of([2.0, 4.0, 8.0])}
    ratio = decode._values("x", times)["x peer / ours"]
    assert (ratio.low, ratio.median, ratio.high) == (2.0, 2.0, 2.0)


def test_an_unknown_race_is_refused_and_a_named_error_ends_in_one_line(monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit):
        command.main(["sailing"])
    from memlessons.errors import MemlessonsError

    def missing(name: str):
        raise MemlessonsError("not fetched: run `memlessons fetch smollm2`")

    monkeypatch.setattr(decode, "load", missing)
    assert command.main(["decode"]) == 1
    assert "memlessons fetch smollm2" in capsys.readouterr().err
