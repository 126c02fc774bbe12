"""`memlessons chat`: a conversation in the terminal, word by word as the model makes it.

Each turn reads the whole conversation again; what that costs, and how to keep it, is what the book is
about.
"""

import argparse
import contextlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from memlessons.errors import MemlessonsError
from memlessons.units import seconds_text

if TYPE_CHECKING:
    from memlessons.model.generate import Sampling
    from memlessons.model.load import LanguageModel

_HELP = "/new forgets the conversation, /quit (or Ctrl-D) leaves, Ctrl-C stops an answer"


class Answer(NamedTuple):
    """One answer: its text, tokens read and made, and times in seconds (to the first token, in all)."""

    text: str
    prompt_tokens: int
    new_tokens: int
    first_token_seconds: float
    seconds: float

    @property
    def stats(self) -> str:
        """The numbers on one line; the rate counts the tokens after the first."""
        line = f"{self.prompt_tokens} tokens read, first token after {seconds_text(self.first_token_seconds)}"
        after = self.seconds - self.first_token_seconds
        rate = (
            f", then {(self.new_tokens - 1) / after:.1f} tokens/s"
            if self.new_tokens > 1 and after > 0
            else ""
        )
        return f"[{line}{rate}, {self.new_tokens} tokens made]"


class Chat:
    """One conversation with a model: the messages so far, and a way to add a turn."""

    def __init__(
        self, model: "LanguageModel", *, system: str | None = None, max_new_tokens: int = 512,
        sampling: "Sampling | None" = None,
    ) -> None:  # fmt: skip
        self.model = model
        self.max_new_tokens = max_new_tokens
        self.sampling = sampling
        self._system = [{"role": "system", "content": system}] if system else []
        self.messages: list[dict[str, str]] = []

    def clear(self) -> None:
        """Forget the conversation."""
        self.messages = []

    def say(self, text: str, write: Callable[[str], None]) -> Answer:
        """Add the user's turn and the model's answer; `write` gets the answer's text piece by piece.

        A KeyboardInterrupt ends the answer where it is. ConversationFull leaves the conversation as it was.
        """
        from memlessons.model.generate import generate

        turn = [*self.messages, {"role": "user", "content": text}]
        tokens = self.model.prompt([*self._system, *turn])
        longest = self.model.config.context_tokens
        if len(tokens) >= longest:
            raise ConversationFull(
                f"the conversation has {len(tokens)} tokens, {self.model.name} reads {longest}: "
                "/new begins another"
            )
        stream, written = self.model.tokenizer.stream(special=False), []
        begun, first, made = time.perf_counter(), 0.0, 0

        def give(piece: str) -> None:
            written.append(piece)
            write(piece)

        with contextlib.suppress(KeyboardInterrupt):
            for token in generate(
                self.model.decoder,
                tokens,
                max_new_tokens=min(self.max_new_tokens, longest - len(tokens)),
                stop=sorted(self.model.tokenizer.eos_ids),
                sampling=self.sampling,
            ):
                made += 1
                first = first or time.perf_counter() - begun
                give(stream.feed(token))
        give(stream.finish())
        ended = time.perf_counter() - begun
        answer = "".join(written)
        self.messages = [*turn, {"role": "assistant", "content": answer}]
        return Answer(answer, len(tokens), made, first or ended, ended)


class ConversationFull(MemlessonsError):
    """The conversation has become longer than the model can read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `memlessons chat`."""
    parser.add_argument(
        "--model", default="smollm2", help="a model of the catalogue or a .gguf file (smollm2)"
    )
    parser.add_argument("--system", help="what the model is told before the conversation")
    parser.add_argument("--max-new-tokens", type=int, default=512, help="the longest answer, in tokens (512)")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 takes the likeliest token (0)")
    parser.add_argument("--top-p", type=float, default=1.0, help="share of likely tokens to choose among (1)")
    parser.add_argument("--seed", type=int, help="makes choices above temperature 0 repeatable")
    parser.add_argument("--stats", action="store_true", help="time to the first token and tokens per second")


def run(args: argparse.Namespace) -> int:
    """`memlessons chat`: 0 = left, 1 = the model could not be loaded or a value is wrong."""
    with contextlib.suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a terminal without emoji
    try:
        if args.max_new_tokens < 1:
            raise ValueError(f"--max-new-tokens {args.max_new_tokens}: must be at least 1")
        # torch takes seconds to import; a wrong value or a missing model should not.
        from memlessons.model.fetch import locate

        locate(args.model)
        from memlessons.model.generate import Sampling
        from memlessons.model.load import load

        sampling = Sampling(args.temperature, args.top_p, args.seed)
        print(f"loading {args.model} (the first time takes some seconds more)", file=sys.stderr)
        chat = Chat(
            load(args.model), system=args.system, max_new_tokens=args.max_new_tokens, sampling=sampling
        )
    except (MemlessonsError, ValueError) as error:
        print(f"memlessons chat: {error}", file=sys.stderr)
        return 1
    with contextlib.suppress(KeyboardInterrupt, EOFError, BrokenPipeError):
        _converse(chat, stats=args.stats)
    return 0


def _converse(chat: Chat, *, stats: bool) -> None:
    """Read turns from standard input until it ends."""
    asks = sys.stdin.isatty()
    if asks:
        print(f"{chat.model.name}: {_HELP}")
    while True:
        text = input("> " if asks else "").strip()
        if text == "/quit":
            return
        if text == "/new":
            chat.clear()
        elif text.startswith("/"):
            print(_HELP)
        elif text:
            try:
                answer = chat.say(text, lambda piece: print(piece, end="", flush=True))
            except MemlessonsError as error:
                print(f"memlessons chat: {error}", file=sys.stderr)
                continue
            print(f"\n{answer.stats}" if stats else "")
