"""Perplexity: between how many tokens is the model undecided, on average, before each next one?"""

import math
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from memlessons.model.decoder import Decoder, Sees


class Perplexity(NamedTuple):
    """exp of the mean surprise; `nats` is that mean, `spread` the standard error of `value`."""

    value: float
    nats: float
    spread: float
    tokens: int


class _HasDecoder(Protocol):
    decoder: Decoder


def perplexity(
    model: Decoder | _HasDecoder, tokens: Tensor, sees: Sees | None = None, *, remembered: bool = False
) -> Perplexity:
    """Perplexity of `tokens` `[T]`: each is predicted from all before it that `sees` lets be seen.

    With `remembered`, from what a memory of the model's plan keeps of them, codes instead of numbers for one.

    exp(-1/(T-1) sum log p(t_i | t_<i)), i from the second token on (Jelinek et al., 1977). The spread is
    the standard error over tokens, taken through exp: neighbouring tokens are treated as independent.
    """
    if tokens.dim() != 1 or tokens.shape[0] < 2:
        raise ValueError(f"tokens has shape {tuple(tokens.shape)}: perplexity needs one row of at least two")
    decoder = model if isinstance(model, Decoder) else model.decoder
    if remembered and sees is not None:
        raise ValueError("sees and remembered exclude each other: a plan says what its memory lets be seen")
    if remembered:
        logits = decoder.forward(tokens[None], decoder.new_state(capacity=len(tokens)))[0, :-1]
    else:
        logits = decoder.read(tokens, sees).logits[:-1]
    targets = tokens[1:].to(logits.device)
    surprise = torch.nn.functional.cross_entropy(logits.float(), targets, reduction="none").double()
    nats = float(surprise.mean())
    error = float(surprise.std()) / math.sqrt(len(surprise)) if len(surprise) > 1 else 0.0
    return Perplexity(math.exp(nats), nats, math.exp(nats) * error, len(surprise))
