"""The spine of the book: one conversation of twenty turns, the same on every machine and for every design.

The model answers every question, greedily and briefly; the conversation then goes on with the reply of the
script. So each turn has the same prompt whatever a design makes of it, and times and answers can be compared.
Nothing is kept between turns: each turn reads the whole conversation again (chapter 10 asks why).
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from memlessons.measure import Record, Value, provenance
from memlessons.measure.files import CorruptFile, read_json, write_json
from memlessons.model.generate import generate
from memlessons.model.load import LanguageModel, load
from memlessons.places import pace, work_folder
from memlessons.units import seconds_text

SCRIPT = (
    (
        "Hello! My name is Nora, and I have a dog called Biscuit.",
        "Hello Nora! It is nice to meet you and Biscuit.",
    ),
    (
        "I live in a small town by the sea. What could I do with Biscuit today?",
        "You could walk along the beach.",
    ),
    ("It is raining. What else could we do?", "You could stay at home and teach Biscuit a new trick."),
    ("Biscuit is eleven years old. Is that old for a dog?", "Yes, eleven years is quite old for a dog."),
    ("What should an old dog eat?", "Soft food that is easy to chew, in small meals."),
    ("How long should we walk each day?", "Two short walks of twenty minutes are enough."),
    ("My brother Tom visits us on Friday. He is afraid of dogs.", "Then let Tom meet Biscuit slowly."),
    ("How can I help Tom?", "Keep Biscuit on a lead, and let Tom decide when to come closer."),
    ("Tom likes chess. Tell me one thing about chess.", "Chess is played on a board of sixty-four squares."),
    ("Which piece is the strongest?", "The queen is the strongest piece."),
    ("And which piece jumps over other pieces?", "The knight jumps over other pieces."),
    ("Tom is a baker. Which bread needs no yeast?", "Soda bread needs no yeast."),
    ("What can we cook together on Friday?", "You could cook pasta with tomatoes."),
    ("Tom does not eat fish. Give me one more dish.", "You could make a vegetable soup."),
    ("How do I know that pasta is done?", "Taste it: it should be soft, but still firm inside."),
    ("Is onion good for dogs?", "No, onion is poisonous for dogs."),
    ("What is my dog called?", "Your dog is called Biscuit."),
    ("On which day does my brother come?", "Your brother Tom comes on Friday."),
    ("What is my brother afraid of?", "He is afraid of dogs."),
    ("Thank you! Say goodbye to me by my name.", "Goodbye, Nora!"),
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: what was asked, what the model replied, and how long it took.

    `prompt_tokens` were read before the answer began, which took `first_token_seconds`; each of the
    other `reply_tokens` - 1 tokens took `seconds_per_token` on average (None for a reply of one token).
    """

    question: str
    reply: str
    prompt_tokens: int
    reply_tokens: int
    first_token_seconds: float
    seconds_per_token: float | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one run."""

    turns: tuple[Turn, ...]

    @property
    def tokens_per_second(self) -> list[float]:
        """The rate of each turn that had more than one token to say."""
        return [1 / t.seconds_per_token for t in self.turns if t.seconds_per_token]

    @property
    def context_tokens(self) -> int:
        """Tokens in the conversation at its end."""
        return self.turns[-1].prompt_tokens + self.turns[-1].reply_tokens

    def record(self, **more: Value) -> Record:
        """What the ledger wants of this run, beside values measured elsewhere (`perplexity=`)."""
        values = {
            "tokens_per_second": Value.of(self.tokens_per_second, "tokens/s"),
            "time_to_first_token_seconds": Value.of([t.first_token_seconds for t in self.turns], "seconds"),
            "context": Value.of(float(self.context_tokens), "tokens"),
        }
        return Record("conversation", values | more, provenance())

    def keep(self, path: Path | None = None) -> Path:
        """Write the turns as JSON (to the reader's work folder), whole or not at all."""
        path = path or work_folder() / "conversation.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"form": "memlessons.conversation/1", "turns": [asdict(t) for t in self.turns]})
        return path

    @staticmethod
    def kept(path: Path | None = None) -> "Conversation":
        """The turns that `keep` wrote; CorruptFile names what is wrong with any other file."""
        path = path or work_folder() / "conversation.json"
        try:
            return Conversation(tuple(Turn(**turn) for turn in read_json(path)["turns"]))
        except (KeyError, TypeError) as error:
            raise CorruptFile(f"{path.name}: not a kept conversation ({error})") from None


def converse(
    model: LanguageModel,
    *,
    turns: int | None = None,
    reply_tokens: int | None = None,
    on_turn: Callable[[Turn], Any] = lambda turn: None,
) -> Conversation:
    """Hold the conversation and time it; `on_turn` hears of each turn as it ends.

    At the quick pace three turns of six tokens, otherwise all of them with up to twelve.
    """
    quick = pace() == "quick"
    turns = (3 if quick else len(SCRIPT)) if turns is None else turns
    reply_tokens = (6 if quick else 12) if reply_tokens is None else reply_tokens
    messages: list[dict[str, str]] = []
    made: list[Turn] = []
    for question, scripted in SCRIPT[:turns]:
        messages.append({"role": "user", "content": question})
        turn = _answer(model, question, model.prompt(messages), reply_tokens)
        messages.append({"role": "assistant", "content": scripted})
        made.append(turn)
        on_turn(turn)
    return Conversation(tuple(made))


def _answer(model: LanguageModel, question: str, prompt: list[int], most: int) -> Turn:
    tokens: list[int] = []
    start = perf_counter()
    first = start
    for token in generate(model.decoder, prompt, max_new_tokens=most, stop=sorted(model.tokenizer.eos_ids)):
        first = perf_counter() if not tokens else first
        tokens.append(token)
    last = perf_counter()
    # A reply that ends at once has no first token: its whole time was spent on reading.
    waited = (first if tokens else last) - start
    each = (last - first) / (len(tokens) - 1) if len(tokens) > 1 else None
    return Turn(question, model.tokenizer.decode(tokens), len(prompt), len(tokens), waited, each)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of this race."""
    parser.add_argument("--turns", type=int, default=len(SCRIPT))
    parser.add_argument("--reply-tokens", type=int, default=12)
    parser.add_argument("--out", type=Path, help="write the record to this JSON file")


def run(given: argparse.Namespace) -> int:
    """Hold the conversation, a line for each turn."""
    said = converse(load("smollm2"), turns=given.turns, reply_tokens=given.reply_tokens, on_turn=_print)
    if given.out:
        print(f"written to {said.record().write(given.out).name}")
    return 0


def _print(turn: Turn) -> None:
    wait = seconds_text(turn.first_token_seconds)
    print(f"{turn.prompt_tokens:5,} tokens read, first after {wait:>8}  {json.dumps(turn.reply)}", flush=True)
