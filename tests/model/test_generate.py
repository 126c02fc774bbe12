"""Generation: what it yields, where it stops, what it leaves in memory."""

import math

import pytest
import torch

from memlessons.cache import CacheFull
from memlessons.model import generate as module
from memlessons.model.generate import Sampling, generate, prefill
from tests.model import small

PROMPT = [3, 14, 15, 9, 2]


def greedy_by_hand(decoder, prompt: list[int], count: int) -> list[int]:
    text = list(prompt)
    for _ in range(count):
        text.append(int(decoder.read(torch.tensor(text)).logits[-1].argmax()))
    return text[len(prompt) :]


def test_greedy_tokens_equal_recomputing_everything() -> None:
    d = small.decoder(small.config())
    assert list(generate(d, PROMPT, max_new_tokens=12)) == greedy_by_hand(d, PROMPT, 12)


@pytest.mark.parametrize("chunk", [1, 2, 5, 9])
def test_the_size_of_prefill_chunks_changes_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    d = small.decoder(small.config())
    monkeypatch.setattr(module, "PREFILL_CHUNK", chunk)
    state = d.new_state(capacity=20)
    logits = prefill(d, PROMPT, state)
    assert float((logits - d.read(torch.tensor(PROMPT)).logits[-1]).abs().max()) < 1e-10
    assert state.lengths == [len(PROMPT)]


def test_it_stops_before_a_stop_token_and_does_not_yield_it() -> None:
    d = small.decoder(small.config())
    made = greedy_by_hand(d, PROMPT, 12)
    stop = made[5]
    assert list(generate(d, PROMPT, max_new_tokens=12, stop=[stop])) == made[: made.index(stop)]


def test_a_state_goes_on_where_it_was_and_holds_all_but_the_last_token() -> None:
    d = small.decoder(small.config())
    state = d.new_state(capacity=40)
    first = list(generate(d, PROMPT, max_new_tokens=4, state=state))
    assert state.lengths == [len(PROMPT) + 3]
    second = list(generate(d, [first[-1]], max_new_tokens=4, state=state))
    assert first + second == greedy_by_hand(d, PROMPT, 8)


def test_a_full_memory_ends_generation_and_too_long_a_prompt_is_refused_whole() -> None:
    d = small.decoder(small.config())
    state = d.new_state(capacity=7)
    assert len(list(generate(d, PROMPT, max_new_tokens=12, state=state))) == 3
    state = d.new_state(capacity=4)
    with pytest.raises(CacheFull):
        list(generate(d, PROMPT, max_new_tokens=12, state=state))
    assert state.lengths == [0]


def test_a_prefill_that_fails_halfway_gives_back_what_it_read(monkeypatch: pytest.MonkeyPatch) -> None:
    d = small.decoder(small.config())
    monkeypatch.setattr(module, "PREFILL_CHUNK", 2)
    state = d.new_state(capacity=20)
    prefill(d, [1], state)
    real, calls = d.forward, []

    def fails_on_the_second(*arguments, **named):
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("no memory left")
        return real(*arguments, **named)

    monkeypatch.setattr(d, "forward", fails_on_the_second)
    with pytest.raises(RuntimeError):
        prefill(d, PROMPT, state)
    assert state.lengths == [1]


def test_no_prompt_is_refused() -> None:
    d = small.decoder(small.config())
    with pytest.raises(ValueError, match="at least one"):
        list(generate(d, [], max_new_tokens=3))


def test_sampling_follows_the_probabilities_and_the_nucleus() -> None:
    logits = torch.log(torch.tensor([0.5, 0.3, 0.15, 0.05]))
    choose = Sampling(temperature=1.0, seed=0).chooser()
    drawn = [choose(logits) for _ in range(4000)]
    for token, share in enumerate((0.5, 0.3, 0.15, 0.05)):
        # Five standard errors: one run in a million would fail.
        assert abs(drawn.count(token) / 4000 - share) < 5 * math.sqrt(share * (1 - share) / 4000)
    nucleus = Sampling(temperature=1.0, top_p=0.75, seed=0).chooser()
    assert {nucleus(logits) for _ in range(300)} == {0, 1}
    least = Sampling(temperature=1.0, top_p=1e-9, seed=0).chooser()
    assert {least(logits) for _ in range(20)} == {0}


def test_the_same_seed_gives_the_same_text() -> None:
    d = small.decoder(small.config())
    runs = [list(generate(d, PROMPT, max_new_tokens=9, sampling=Sampling(2.0, 1.0, s))) for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(("temperature", "top_p"), [(-1.0, 1.0), (1.0, 0.0), (1.0, 1.5)])
def test_impossible_sampling_is_refused(temperature: float, top_p: float) -> None:
    with pytest.raises(ValueError, match="temperature"):
        Sampling(temperature, top_p)
