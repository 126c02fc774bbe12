"""Averaging heads: what it changes, what it must not, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from memlessons.model.config import DecoderConfig
from memlessons.model.load import LanguageModel
from memlessons.plan import Weights
from memlessons.quality import CannotPool, pool_heads
from tests.model.small import config, decoder, plain_logits

TOKENS = [3, 14, 15, 9, 2, 6]


def model(c: DecoderConfig) -> LanguageModel:
    d = decoder(c)
    parameters = sum(w.numel() for w in d.weights.values())
    sizes = Weights(8 * parameters, parameters, parameters, "drawn")
    return LanguageModel("small", c, d.plan, sizes, d, tokenizer=None, chat_template=None, path=Path())  # type: ignore[arg-type]


def rows(m: LanguageModel, layer: int, what: str) -> torch.Tensor:
    """Rows of keys or values of a layer, [heads, width, hidden]."""
    c = m.config
    _, k, v = m.decoder.weights[f"layers.{layer}.qkv"].split(
        [c.query_heads * c.head_width, *[c.kv_heads * c.head_width] * 2]
    )
    return (k if what == "keys" else v).view(c.kv_heads, c.head_width, c.hidden)


def logits(m: LanguageModel) -> torch.Tensor:
    return m.decoder.read(torch.tensor(TOKENS)).logits


def test_as_many_heads_as_before_change_nothing() -> None:
    m = model(config(query_heads=6, kv_heads=3))
    assert torch.equal(logits(pool_heads(m, 3)), logits(m))


@pytest.mark.parametrize(("kv_heads", "pooled"), [(4, 2), (4, 1), (6, 2), (3, 1)])
def test_each_new_head_is_the_mean_of_its_neighbours(kv_heads: int, pooled: int) -> None:
    m = model(config(query_heads=12, kv_heads=kv_heads))
    p = pool_heads(m, pooled)
    size = kv_heads // pooled
    for layer in range(m.config.layers):
        for what in ("keys", "values"):
            for j in range(pooled):
                mean = sum(rows(m, layer, what)[j * size + i] for i in range(size)) / size
                assert torch.allclose(rows(p, layer, what)[j], mean)


def test_heads_that_are_equal_lose_nothing_by_being_pooled() -> None:
    m = model(config(query_heads=4, kv_heads=2))
    for layer in range(m.config.layers):
        for what in ("keys", "values"):
            heads = rows(m, layer, what)
            heads[1] = heads[0]
    for options in ({}, {"keys": False}, {"values": False}):
        assert torch.allclose(logits(pool_heads(m, 1, **options)), logits(m), atol=1e-10)


def test_a_pooled_model_computes_what_the_formulas_say_and_stores_less() -> None:
    m = model(config(query_heads=4, kv_heads=4))
    p = pool_heads(m, 2)
    assert torch.allclose(logits(p), plain_logits(p.decoder, TOKENS), atol=1e-10)
    assert not torch.allclose(logits(p), logits(m), atol=1e-3)
    assert p.plan.bytes(10) * 2 == m.plan.bytes(10)
    parameters = sum(w.numel() for w in p.decoder.weights.values())
    assert (p.weights.parameters, p.weights.stored_bytes) == (parameters, 8 * parameters)


@pytest.mark.parametrize("what", ["keys", "values"])
def test_pooling_one_half_leaves_the_other_as_it_was_and_saves_no_byte(what: str) -> None:
    m = model(config(query_heads=4, kv_heads=2))
    p = pool_heads(m, 1, keys=what == "keys", values=what == "values")
    other = "values" if what == "keys" else "keys"
    assert torch.equal(rows(p, 0, other), rows(m, 0, other))
    assert torch.equal(rows(p, 0, what)[0], rows(p, 0, what)[1])
    assert p.plan == m.plan and p.weights.parameters == m.weights.parameters


def test_the_original_keeps_its_weights() -> None:
    m = model(config(query_heads=4, kv_heads=2))
    before = logits(m)
    pool_heads(m, 1)
    assert torch.equal(logits(m), before)


def test_what_cannot_be_pooled_is_refused() -> None:
    m = model(config(query_heads=6, kv_heads=3))
    for heads in (2, 0, -1, 6, 1.5):
        with pytest.raises(CannotPool, match="must divide the 3 heads of small"):
            pool_heads(m, heads)  # type: ignore[arg-type]
    with pytest.raises(CannotPool, match="choose at least one"):
        pool_heads(replace(m, name="x"), 1, keys=False, values=False)
