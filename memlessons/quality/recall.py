"""Recall in context: the model is told facts, then other things, and asked for one of the facts.

Eight lines "name: thing"; filler; two of the lines once more, so that the model sees the game; and a third
up to its answer. Filler is Python's documentation, from a page that names none of the things.
"""

import random
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from memlessons.errors import MemlessonsError
from memlessons.model.decoder import Decoder, Sees
from memlessons.quality.text import page_of

NAMES = ("Anna", "Tom", "Mary", "John", "Lucy", "Peter", "Emma", "David")
THINGS = ("lamp", "coin", "book", "key", "ring", "map", "cup", "bell", "rope")
FILLER_PAGE = "execmodel"


class NoSuchRiddle(MemlessonsError, ValueError):
    """A riddle, or a number of riddles, that cannot be made."""


class Riddle(NamedTuple):
    """One riddle: `tokens` int64 `[T]`, the positions of the `fact` that is asked for, of the list's end.

    `answers` are the first tokens of the nine things, the right one first.
    """

    tokens: Tensor
    fact: range
    list_end: int
    answers: list[int]


class _Encodes(Protocol):
    def encode(self, text: str) -> list[int]: ...


class _CanRead(Protocol):
    @property
    def decoder(self) -> Decoder: ...
    @property
    def tokenizer(self) -> _Encodes: ...


def riddle(tokenizer: _Encodes, seed: int, distance: int = 0) -> Riddle:
    """The riddle of this seed, with `distance` tokens of filler between the list and the question.

    NoSuchRiddle for a negative distance, or one that is longer than the filler.
    """
    encode = tokenizer.encode
    between = encode("\n" + page_of(FILLER_PAGE))
    if not 0 <= distance <= len(between):
        raise NoSuchRiddle(f"distance={distance}: must be from 0 to {len(between):,} tokens of filler")
    draw = random.Random(seed)
    things = draw.sample(THINGS, len(THINGS))
    facts = [
        f"\n{name}: {thing}" for name, thing in zip(draw.sample(NAMES, len(NAMES)), things, strict=False)
    ]
    asked, *repeated = draw.sample(range(len(facts)), 3)
    tokens: list[int] = []
    spans = []
    for fact in facts:
        spans.append(range(len(tokens), len(tokens) + len(encode(fact))))
        tokens += encode(fact)
    list_end = len(tokens)
    tokens += between[:distance]
    for other in repeated:
        tokens += encode(facts[other])
    tokens += encode(facts[asked])[:-1]  # the fact once more, without its answer
    wrong = [thing for thing in things if thing != things[asked]]
    answers = [encode(f" {thing}")[0] for thing in [things[asked], *wrong]]
    return Riddle(torch.tensor(tokens), spans[asked], list_end, answers)


def recall_rate(model: _CanRead, trials: int, distance: int = 0, sees: Sees | None = None) -> float:
    """The share of `trials` riddles in which the right thing is likelier than the eight others.

    Seeds are 0 ... `trials` - 1, so that two designs answer the same riddles; `sees` as in `Decoder.read`.
    By chance it is one in nine. NoSuchRiddle for less than one trial.
    """
    if trials < 1:
        raise NoSuchRiddle(f"trials={trials}: ask at least one riddle")
    found = 0
    for seed in range(trials):
        asked = riddle(model.tokenizer, seed, distance)
        logits = model.decoder.read(asked.tokens, sees, last=True).logits[0]
        found += int(logits[asked.answers].argmax()) == 0
    return found / trials
