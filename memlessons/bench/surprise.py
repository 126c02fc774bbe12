"""Perplexity through the memory: every token is predicted from what was written and read again.

`memlessons.quality.perplexity` reads a text without a memory; what eight bits in the memory cost shows here.
"""

import math
from collections.abc import Mapping
from typing import Protocol

import torch
from torch.nn.functional import cross_entropy

from memlessons.measure import Value
from memlessons.model.decoder import Decoder
from memlessons.quality.text import LEDGER_PAGE, page_of


class _Encodes(Protocol):
    def encode(self, text: str) -> list[int]: ...


def values_of(decoders: Mapping[str, Decoder], tokenizer: _Encodes, tokens: int) -> dict[str, Value]:
    """The perplexity of each by name, "perplexity NAME", on the first `tokens` of the scoreboard's text."""
    text = torch.tensor(tokenizer.encode(page_of(LEDGER_PAGE))[:tokens])
    return {
        f"perplexity {name}": Value.of(perplexity_through_memory(decoder, text), "perplexity")
        for name, decoder in decoders.items()
    }


def perplexity_through_memory(decoder: Decoder, tokens: torch.Tensor) -> float:
    """exp of the mean surprise at each of `tokens` `[T]` but the first, T at least 2.

    The text is read in one pass, and each layer attends to its keys and values as its memory gives them
    back; exp(-1/(T-1) sum log p(t_i | t_<i)) (Jelinek et al., 1977). ValueError for less than two tokens.
    """
    if tokens.dim() != 1 or tokens.shape[0] < 2:
        raise ValueError(f"tokens has shape {tuple(tokens.shape)}: perplexity needs one row of at least two")
    state = decoder.new_state(capacity=tokens.shape[0])
    logits = decoder.forward(tokens[None], state)[0, :-1]
    surprise = cross_entropy(logits.float(), tokens[1:].to(logits.device), reduction="none")
    return math.exp(float(surprise.double().mean()))
