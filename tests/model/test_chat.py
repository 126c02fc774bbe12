"""The terminal chat: turns follow each other, any way of leaving is polite, any error is a sentence."""

import argparse
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memlessons.model import chat, generate
from memlessons.model.chat import Answer, Chat, ConversationFull
from memlessons.model.chat_template import ChatTemplate
from memlessons.model.load import load
from memlessons.model.tokenizer import Tokenizer
from tests.model.tiny_gguf import CONTROL, TEMPLATE, vocabulary


class Parrot:
    """A stand-in for a model: answers with what it was given, so that a test can see what it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, context_tokens: int = 1000) -> None:
        tokens, merges = vocabulary()
        self.name, self.decoder = "parrot", None
        self.config = SimpleNamespace(context_tokens=context_tokens)
        self.tokenizer = Tokenizer(tokens, merges, [3 if t in CONTROL else 1 for t in tokens], "smollm")
        self.asked: list[str] = []
        self.interrupt_after: int | None = None
        monkeypatch.setattr(generate, "generate", self.generate)

    def prompt(self, messages: list[dict[str, str]]) -> list[int]:
        return ChatTemplate(TEMPLATE).encode(messages, self.tokenizer)

    def generate(
        self, decoder: object, tokens: list[int], *, max_new_tokens: int, stop: Any, sampling: Any
    ) -> Iterator[int]:
        self.asked.append(self.tokenizer.decode(tokens))
        said = self.asked[-1].split("<|im_start|>")[-2].split("\n", 1)[1].removesuffix("<|im_end|>\n")
        for made, token in enumerate(self.tokenizer.encode(said.upper())[:max_new_tokens]):
            if made == self.interrupt_after:
                raise KeyboardInterrupt
            yield token


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> Parrot:
    return Parrot(monkeypatch)


def test_each_turn_reads_the_whole_conversation(parrot: Parrot) -> None:
    talk, heard = Chat(parrot, system="squawk"), []
    assert talk.say("hello 😀", heard.append).text == "".join(heard) == "HELLO 😀"
    talk.say("again", lambda piece: None)
    assert parrot.asked[1] == (
        "<|im_start|>system\nsquawk<|im_end|>\n<|im_start|>user\nhello 😀<|im_end|>\n<|im_start|>assistant\n"
        "HELLO 😀<|im_end|>\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n"
    )
    talk.clear()
    talk.say("new", lambda piece: None)
    assert parrot.asked[2] == parrot.asked[0].replace("hello 😀", "new")


def test_an_answer_counts_what_was_read_and_made(parrot: Parrot) -> None:
    answer = Chat(parrot, max_new_tokens=3).say("hello world", lambda piece: None)
    assert answer.text == "HEL" and answer.new_tokens == 3
    assert answer.prompt_tokens == len(parrot.tokenizer.encode(parrot.asked[0], special=True))
    assert 0 < answer.first_token_seconds <= answer.seconds
    assert Answer("x", 10, 5, 0.5, 1.5).stats == (
        "[10 tokens read, first token after 500 ms, then 4.0 tokens/s, 5 tokens made]"
    )
    assert "tokens/s" not in Answer("x", 10, 1, 0.5, 0.5).stats


def test_ctrl_c_ends_an_answer_and_keeps_what_was_said(parrot: Parrot) -> None:
    parrot.interrupt_after = 2
    talk = Chat(parrot)
    assert talk.say("hello", lambda piece: None).text == "HE"
    assert talk.messages[-1] == {"role": "assistant", "content": "HE"}


def test_a_conversation_that_is_too_long_is_named_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Chat(Parrot(monkeypatch, context_tokens=60))
    talk.say("hello", lambda piece: None)
    before = list(talk.messages)
    with pytest.raises(ConversationFull, match="/new"):
        talk.say("x" * 100, lambda piece: None)
    assert talk.messages == before


def talked(parrot: Parrot, lines: str, monkeypatch: pytest.MonkeyPatch, *, stats: bool = False) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    chat._converse(Chat(parrot), stats=stats)


def test_commands_are_not_said_to_the_model(
    parrot: Parrot, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talked(parrot, "one\n/new\n/what\n\n  \ntwo\n/quit\nthree\n", monkeypatch, stats=True)
    out = capsys.readouterr().out
    assert [asked.count("<|im_start|>user") for asked in parrot.asked] == [1, 1]
    assert "ONE\n[" in out and "TWO\n[" in out and "/quit" in out and "THREE" not in out
    assert "> " not in out, "no prompt where nobody types"


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    chat.add_arguments(parser)
    return chat.run(parser.parse_args(words))


def test_the_end_of_the_input_leaves_without_an_error(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for lines in ("hello\n", "hello", ""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        assert (
            run("--model", str(tiny), "--max-new-tokens", "4", "--stats", "--temperature", "1", "--seed", "0")
            == 0
        )
        assert ("tokens made]" in capsys.readouterr().out) == bool(lines)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "smollm2"], "memlessons fetch smollm2"),
        (["--model", "nosuch"], "nosuch"),
        (["--model", "nosuch.gguf"], "no file"),
        (["--max-new-tokens", "0"], "--max-new-tokens 0"),
    ],
)
def test_what_cannot_start_says_why(
    words: list[str], says: str, empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 1
    assert says in capsys.readouterr().err


def test_wrong_sampling_says_why(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--model", str(tiny), "--temperature", "-1") == 1
    assert "temperature" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tiny: Path) -> None:
    script = (
        "import argparse, sys; from memlessons.model import chat; parser = argparse.ArgumentParser();"
        "chat.add_arguments(parser);"
        "sys.exit(chat.run(parser.parse_args(['--model', sys.argv[1], '--max-new-tokens', '50'])))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tiny)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd=Path(__file__).parents[2], text=True,
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write("hello\nhello\n")
    process.stdin.close()
    assert process.wait(timeout=120) == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.model
def test_smollm2_answers_and_remembers_the_turn_before(smollm2: Any) -> None:
    talk = Chat(smollm2, max_new_tokens=24)
    assert (
        talk.say("What is the capital of France?", lambda piece: None).text
        == "The capital of France is Paris."
    )
    assert len(talk.messages) == 2


def test_a_loaded_tiny_model_chats(tiny: Path) -> None:
    talk = Chat(load(tiny), max_new_tokens=8)
    answer = talk.say("hello", lambda piece: None)
    assert answer.new_tokens <= 8 and talk.messages[0] == {"role": "user", "content": "hello"}
