"""SmolLM2 against `transformers` with the same weights: an oracle that shares no code."""

import pytest
import torch

from memlessons.bench.peer import llama_peer
from memlessons.model.load import load
from memlessons.plan import F64, full_attention
from memlessons.quality import page_of
from tests.model import small

PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    ",
    "Once upon a time, in a village by the sea,",
    "2 + 2 = 4, 3 + 3 = 6, 4 + 4 =",
    "Für Elise wurde von",
]


@pytest.mark.parametrize("tied", [True, False])
def test_small_decoders_agree_with_the_peer_in_float64(tied: bool) -> None:
    c = small.config(6, 2)
    d = small.decoder(c if tied else small.untied(c))
    peer = llama_peer(d)
    tokens = torch.randint(0, c.vocabulary, (1, 40), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        theirs = peer(tokens).logits[0]
    assert d.plan == full_attention(c.layers, 6, 2, c.head_width, F64)
    # The peer normalises in float32 whatever the dtype.
    assert float((d.read(tokens[0]).logits - theirs).abs().max() / theirs.abs().max()) < 1e-5


@pytest.mark.model
def test_logits_of_smollm2_agree_with_the_peer() -> None:
    model = load("smollm2")
    peer = llama_peer(model.decoder)
    tokens = torch.tensor([model.tokenizer.encode(page_of("import"))[:400]])
    state = model.decoder.new_state(capacity=400)
    with torch.inference_mode():
        theirs = peer(tokens).logits[0]
    largest = theirs.abs().max()
    assert float((model.decoder.read(tokens[0]).logits - theirs).abs().max() / largest) < 1e-4
    chunks = [model.decoder.forward(part, state)[0] for part in tokens.split([250, 1, 149], dim=1)]
    assert float((torch.cat(chunks) - theirs).abs().max() / largest) < 1e-4


@pytest.mark.model
@pytest.mark.parametrize("prompt", PROMPTS)
def test_sixty_four_greedy_tokens_equal_the_peers(prompt: str) -> None:
    from memlessons.model.generate import generate

    model = load("smollm2")
    peer = llama_peer(model.decoder)
    tokens = model.tokenizer.encode(prompt)
    with torch.inference_mode():
        theirs = peer.generate(
            torch.tensor([tokens]), attention_mask=torch.ones(1, len(tokens)), max_new_tokens=64,
            do_sample=False, eos_token_id=None, pad_token_id=0,
        )  # fmt: skip
    assert list(generate(model.decoder, tokens, max_new_tokens=64)) == theirs[0, len(tokens) :].tolist()
