"""The decode race: every contestant does the work it is timed for, and leaves its memory as it was."""

import argparse

import pytest
import torch

from memlessons.bench import command, decode, surprise
from memlessons.bench.peer import llama_peer
from memlessons.measure import Record, Timing
from memlessons.plan import F32, INT8
from memlessons.quality import perplexity
from tests.model import small


@pytest.fixture
def contestants():
    d = small.decoder(small.config(), dtype=torch.float32)
    return d, llama_peer(d)


@pytest.fixture
def forms():
    c = small.config()
    plan = small.plan(c).with_format(F32)
    return {
        decode.WEIGHTS: small.decoder(c, plan, dtype=torch.float32, int8=True),
        decode.ALL: small.decoder(c, plan.with_format(INT8), dtype=torch.float32, int8=True),
    }


class Letters:
    """A tokenizer of one token a letter."""

    def encode(self, text: str) -> list[int]:
        return [ord(letter) % 50 for letter in text]


def test_each_step_leaves_the_memory_at_the_same_length(
    contestants, forms, monkeypatch: pytest.MonkeyPatch
) -> None:
    d, peer = contestants
    seen = []
    for one in (d, *forms.values()):
        real = one.forward
        watched = lambda *a, real=real, one=one, **k: seen.append((one, one.kernels, a[1])) or real(*a, **k)  # noqa: E731
        monkeypatch.setattr(one, "forward", watched)
    runs = decode.decode_runs(d, peer, 20, forms)
    assert set(runs) == {"ours", "torch", decode.WEIGHTS, decode.ALL, "peer", "stream"}
    for _ in range(3):
        for run in runs.values():
            run()
    assert {tuple(state.lengths) for _, _, state in seen} == {(20,)}
    assert {one for one, _, _ in seen} == {d, *forms.values()}


def test_only_torch_computes_without_our_kernels_and_gives_them_back(contestants, monkeypatch) -> None:
    d, _ = contestants
    runs = decode.decode_runs(d, None, 20)
    seen = []
    real = d.forward
    monkeypatch.setattr(d, "forward", lambda *a, **k: seen.append(d.kernels) or real(*a, **k))
    for name in ("torch", "ours", "torch"):
        runs[name]()
    assert seen == [False, True, False] and d.kernels


def test_the_stream_reads_as_many_bytes_as_weights_and_memory_take(contestants, monkeypatch) -> None:
    d, _ = contestants
    made = []
    real = torch.ones
    monkeypatch.setattr(torch, "ones", lambda *a, **k: made.append(real(*a, **k)) or made[-1])
    decode.decode_runs(d, None, 20)
    weights = sum(w.numel() for w in d.weights.values())
    assert made[-1].numel() * 4 == 4 * weights + d.plan.bytes(20) // 2  # the plan's numbers have 8 bytes


def test_a_race_prints_its_ratios_and_writes_a_record(
    monkeypatch, tmp_path, capsys, contestants, forms
) -> None:
    d, peer = contestants
    model = argparse.Namespace(decoder=d, tokenizer=Letters())
    monkeypatch.setattr(decode, "models", lambda: (model, forms))
    monkeypatch.setattr(decode, "llama_peer", lambda decoder: peer)
    out = tmp_path / "decode.json"
    words = ["decode", "--contexts", "8", "16", "--prefill", "12", "--rounds", "3", "--perplexity", "30"]
    assert command.main([*words, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "a step at 8 tokens" in printed and "peer / ours" in printed and "prefill of 12" in printed
    assert "perplexity int8 weights and memory" in printed
    values = Record.read(out).values
    assert values["decode 16 stream / ours"].repetitions == 3
    for name in ("torch", "ours", decode.WEIGHTS, decode.ALL):
        assert values[f"decode 16 {name}"].median > 0 and f"decode 16 peer / {name}" in values
        assert name == "torch" or values[f"perplexity {name}"].unit == "perplexity"
    assert "prefill 12 peer / ours" in values and "decode 16 peer / stream" not in values


def test_ratios_are_of_the_same_round() -> None:
    times = {"ours": Timing.of([1.0, 2.0, 4.0]), "peer": Timing.of([2.0, 4.0, 8.0])}
    times |= {"torch": Timing.of([0.5, 1.0, 2.0])}
    values = decode._values("x", times)
    for name, ratio in (("peer / ours", 2.0), ("peer / torch", 4.0), ("torch / ours", 0.5)):
        assert (values[f"x {name}"].low, values[f"x {name}"].high) == (ratio, ratio)


def test_perplexity_through_a_memory_of_full_precision_is_that_without_one(contestants, forms) -> None:
    d, _ = contestants
    tokens = torch.randint(0, 50, (40,), generator=torch.Generator().manual_seed(2))
    plain = perplexity(d, tokens).value
    assert surprise.perplexity_through_memory(d, tokens) == pytest.approx(plain, rel=1e-4)
    codes = {name: surprise.perplexity_through_memory(one, tokens) for name, one in forms.items()}
    assert codes[decode.WEIGHTS] == pytest.approx(perplexity(forms[decode.WEIGHTS], tokens).value, rel=1e-4)
    # The memory's own rounding shows: it was read from the codes.
    assert codes[decode.ALL] != codes[decode.WEIGHTS]
    assert codes[decode.ALL] == pytest.approx(codes[decode.WEIGHTS], rel=0.05)


@pytest.mark.parametrize("shape", [(1,), (0,), (2, 3)])
def test_perplexity_needs_two_tokens(contestants, shape) -> None:
    with pytest.raises(ValueError, match="at least two"):
        surprise.perplexity_through_memory(contestants[0], torch.zeros(shape, dtype=torch.int64))


def test_the_forms_are_loaded_as_their_names_say(monkeypatch) -> None:
    asked = []

    def loading(name, **options):
        asked.append(options)
        return argparse.Namespace(config=small.config(), decoder=options)

    monkeypatch.setattr(decode, "load", loading)
    _, forms = decode.models()
    assert asked[0] == {} and forms[decode.WEIGHTS] == {"int8_weights": True}
    plan = forms[decode.ALL]["plan"]
    assert forms[decode.ALL]["int8_weights"] and plan == decode.plan_of(small.config()).with_format(INT8)


def test_an_unknown_race_is_refused_and_a_named_error_ends_in_one_line(monkeypatch, capsys) -> None:
    with pytest.raises(SystemExit):
        command.main(["sailing"])
    from memlessons.errors import MemlessonsError

    def missing(name: str, **options):
        raise MemlessonsError("not fetched: run `memlessons fetch smollm2`")

    monkeypatch.setattr(decode, "load", missing)
    assert command.main(["decode"]) == 1
    assert "memlessons fetch smollm2" in capsys.readouterr().err
