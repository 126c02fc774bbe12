"""Riddles: the facts, what lies between, and who is asked; and the share that is answered rightly."""

import ast
import random
import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from memlessons.model.decoder import Reading
from memlessons.places import book_folder
from memlessons.quality import page_of, recall_rate, riddle
from memlessons.quality.recall import FILLER_PAGE, NAMES, THINGS, NoSuchRiddle

SEEDS = range(20)


class Words:
    """A tokenizer in which a word with the space before it is one token, as things are in SmolLM2's."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def encode(self, text: str) -> list[int]:
        found = re.findall(r" ?\w+|\W", text)
        self.words += [w for w in dict.fromkeys(found) if w not in self.words]
        return [self.words.index(w) for w in found]

    def decode(self, tokens: list[int]) -> str:
        return "".join(self.words[t] for t in tokens)


@pytest.fixture(scope="module")
def words() -> Words:
    return Words()


def test_at_no_distance_it_is_the_riddle_that_chapter_01_builds(words: Words) -> None:
    source = (book_folder() / "source" / "01_attention_divides_the_labour.py").read_text(encoding="utf-8")
    wanted = [
        node
        for node in ast.parse(source).body
        if (isinstance(node, ast.FunctionDef) and node.name == "riddle")
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("NAMES", "THINGS"))
    ]
    chapter = {"random": random, "torch": torch, "encode": words.encode}
    exec(compile(ast.Module(wanted, []), "chapter 01", "exec"), chapter)
    for seed in SEEDS:
        tokens, fact, list_end, answers = chapter["riddle"](seed)
        ours = riddle(words, seed)
        assert ours.tokens.tolist() == tokens.tolist()
        assert (ours.fact, ours.list_end, ours.answers) == (fact, list_end, answers)


@pytest.mark.parametrize("distance", [0, 1, 37])
def test_filler_stands_between_the_list_and_the_question_and_changes_neither(
    words: Words, distance: int
) -> None:
    for seed in SEEDS:
        plain, far = riddle(words, seed), riddle(words, seed, distance)
        end = plain.list_end
        assert len(far.tokens) == len(plain.tokens) + distance
        assert far.tokens[:end].tolist() == plain.tokens[:end].tolist()
        assert far.tokens[end + distance :].tolist() == plain.tokens[end:].tolist()
        assert far[1:] == plain[1:]


def test_the_question_is_the_fact_without_its_answer(words: Words) -> None:
    for seed in SEEDS:
        asked = riddle(words, seed, 11)
        fact = asked.tokens[asked.fact.start : asked.fact.stop].tolist()
        assert asked.tokens.tolist()[1 - len(fact) :] == fact[:-1]
        assert fact[-1] == asked.answers[0]
        assert {words.decode([a]).strip() for a in asked.answers} == set(THINGS)
        assert words.decode(asked.tokens[: asked.list_end].tolist()).count("\n") == len(NAMES)


def test_filler_names_nothing_that_could_be_an_answer() -> None:
    page = set(re.findall(r"\w+", page_of(FILLER_PAGE).lower()))
    assert not page & {word.lower() for word in NAMES + THINGS}


def test_different_seeds_ask_different_riddles(words: Words) -> None:
    assert len({tuple(riddle(words, seed).tokens.tolist()) for seed in SEEDS}) == len(SEEDS)


class Answering:
    """A model that gives the highest logit to the token that `choose(tokens)` names."""

    decoder: Any

    def __init__(self, tokenizer: Words, choose) -> None:
        self.tokenizer, self.choose, self.rules = tokenizer, choose, []
        self.decoder = SimpleNamespace(read=self.read)

    def read(self, tokens, sees=None, *, last=False) -> Reading:
        self.rules.append(sees)
        logits = torch.zeros(1, 10_000)
        logits[0, self.choose(tokens.tolist())] = 1.0
        return Reading(logits, torch.zeros(0))


def looked_up(tokens: list[int]) -> int:
    name = tokens[-2]
    return tokens[tokens.index(name) + 2]


def test_who_looks_up_is_always_right_and_who_never_does_is_not(words: Words) -> None:
    assert recall_rate(Answering(words, looked_up), 9, 40) == 1.0
    other = {seed: riddle(words, seed).answers[1] for seed in range(9)}
    turns = iter(other.values())
    assert recall_rate(Answering(words, lambda tokens: next(turns)), 9) == 0.0


def test_the_rate_is_the_share_of_right_answers(words: Words) -> None:
    lamp = words.encode(" lamp")[0]
    expected = sum(riddle(words, seed).answers[0] == lamp for seed in range(30)) / 30
    assert 0 < expected < 1
    assert recall_rate(Answering(words, lambda tokens: lamp), 30) == expected


def test_the_rule_of_who_sees_whom_reaches_the_model(words: Words) -> None:
    def sees(layer, query, key):
        return key <= query

    model = Answering(words, looked_up)
    recall_rate(model, 2, sees=sees)
    assert model.rules == [sees, sees]


@pytest.mark.parametrize("distance", [-1, 10**6])
def test_a_distance_that_cannot_be_filled_is_refused(words: Words, distance: int) -> None:
    with pytest.raises(NoSuchRiddle, match=f"distance={distance}"):
        riddle(words, 0, distance)


def test_no_trial_is_no_rate(words: Words) -> None:
    with pytest.raises(NoSuchRiddle, match="trials=0"):
        recall_rate(Answering(words, looked_up), 0)
