"""The twenty turns: what is asked, timed, kept and brought back."""

import json
from pathlib import Path

import pytest

from memlessons.bench.conversation import SCRIPT, Conversation, Turn, converse
from memlessons.measure.files import CorruptFile

TURNS = (Turn("Hello?", "Hi.", 10, 3, 0.5, 0.1), Turn("And?", "No", 30, 1, 1.5, None))


def test_there_are_twenty_questions_and_no_two_are_alike() -> None:
    assert len(SCRIPT) == len({question for question, _ in SCRIPT}) == 20


def test_a_conversation_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    said = Conversation(TURNS)
    assert Conversation.kept(said.keep(tmp_path / "a" / "c.json")) == said


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"turns": [{"question": 1}]}', '{"turns": 3}'])
def test_a_file_that_is_no_conversation_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(CorruptFile, match=r"c\.json"):
        Conversation.kept(path)


def test_the_record_has_the_medians_of_the_turns(tmp_path: Path) -> None:
    record = Conversation(TURNS).record()
    assert record.values["tokens_per_second"].median == pytest.approx(10)
    assert record.values["time_to_first_token_seconds"].median == pytest.approx(1.0)
    assert record.values["context"].median == 31
    assert json.loads(record.write(tmp_path / "r.json").read_text())["name"] == "conversation"


@pytest.mark.model
def test_each_turn_reads_the_whole_script_so_far_whatever_the_model_said() -> None:
    from memlessons.model.load import load

    model = load("smollm2")
    heard: list[Turn] = []
    said = converse(model, turns=2, reply_tokens=4, on_turn=heard.append)
    assert list(said.turns) == heard and [t.question for t in heard] == [
        question for question, _ in SCRIPT[:2]
    ]
    messages = [{"role": "user", "content": SCRIPT[0][0]}]
    assert heard[0].prompt_tokens == len(model.prompt(messages))
    messages += [{"role": "assistant", "content": SCRIPT[0][1]}, {"role": "user", "content": SCRIPT[1][0]}]
    assert heard[1].prompt_tokens == len(model.prompt(messages))
    assert all(t.first_token_seconds > 0 and 1 <= t.reply_tokens <= 4 for t in heard)
