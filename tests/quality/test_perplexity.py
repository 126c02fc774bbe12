"""Perplexity against its definition, and the texts it is measured on."""

import itertools
import math

import pytest
import torch

from memlessons.plan import INT8
from memlessons.quality import ledger_tokens, page_of, perplexity
from memlessons.quality.text import NoSuchPage
from tests.model import small

TOKENS = torch.tensor([3, 14, 15, 9, 2, 6, 5, 35, 8, 9, 7, 9])


def test_perplexity_is_the_exponential_of_the_mean_surprise() -> None:
    d = small.decoder(small.config())
    logits = small.plain_logits(d, TOKENS.tolist())
    surprises = []
    for t in range(len(TOKENS) - 1):
        shares = torch.exp(logits[t] - logits[t].max())
        surprises.append(-math.log(float(shares[TOKENS[t + 1]] / shares.sum())))
    mean = sum(surprises) / len(surprises)
    got = perplexity(d, TOKENS)
    assert got.value == pytest.approx(math.exp(mean), rel=1e-5)
    assert got.nats == pytest.approx(mean, rel=1e-5)
    assert got.tokens == len(TOKENS) - 1
    spread = math.sqrt(sum((s - mean) ** 2 for s in surprises) / (len(surprises) - 1) / len(surprises))
    assert got.spread == pytest.approx(math.exp(mean) * spread, rel=1e-5)


def test_a_model_that_knows_nothing_is_undecided_between_all_tokens() -> None:
    d = small.decoder(small.config())
    blank = {name: torch.zeros_like(w) for name, w in d.weights.items()}
    assert perplexity(d.load_weights(blank), TOKENS).value == pytest.approx(50, rel=1e-6)


def test_what_may_be_seen_changes_perplexity() -> None:
    d = small.decoder(small.config())
    assert perplexity(d, TOKENS, lambda layer, q, k: q == k).value != perplexity(d, TOKENS).value


def test_remembered_is_what_the_memory_of_the_plan_gives() -> None:
    plain = small.decoder(small.config())
    assert perplexity(plain, TOKENS, remembered=True).nats == pytest.approx(perplexity(plain, TOKENS).nats)
    int8 = small.decoder(small.config(), small.plan().with_format(INT8))
    assert perplexity(int8, TOKENS).nats == perplexity(plain, TOKENS).nats
    state, surprise = int8.new_state(capacity=len(TOKENS)), 0.0
    for token, following in itertools.pairwise(TOKENS):
        logits = int8.forward(token[None, None], state)[0, 0]
        surprise -= float(torch.log_softmax(logits, -1)[following]) / (len(TOKENS) - 1)
    assert perplexity(int8, TOKENS, remembered=True).nats == pytest.approx(surprise, rel=1e-6)
    assert surprise != pytest.approx(perplexity(plain, TOKENS).nats, rel=1e-9)
    with pytest.raises(ValueError, match="exclude each other"):
        perplexity(int8, TOKENS, lambda layer, q, k: k <= q, remembered=True)


@pytest.mark.parametrize("tokens", [torch.tensor([1]), torch.tensor([[1, 2, 3]])])
def test_what_has_no_next_token_is_refused(tokens: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="at least two"):
        perplexity(small.decoder(small.config()), tokens)


def test_pages_come_from_pythons_documentation() -> None:
    assert "import" in page_of("import") and len(page_of("import")) > 5000
    with pytest.raises(NoSuchPage, match="no topic"):
        page_of("no such topic")


def test_the_ledgers_text_is_short_only_at_the_quick_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Letters:
        def encode(self, text: str) -> list[int]:
            return [ord(c) for c in text]

    for pace, count in (("quick", 128), ("full", 1024)):
        monkeypatch.setenv("MEMLESSONS_PACE", pace)
        tokens = ledger_tokens(Letters())
        assert "".join(map(chr, tokens.tolist())) == page_of("import")[:count]
