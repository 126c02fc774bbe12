"""Token ids are those the model was trained with; text comes back whole, byte by byte, at any cut.

Oracles: llama.cpp's ids, recorded (llama_cpp_tokens.json says how); a BPE in plain Python; and
transformers, whose own conversion of GGUF files does not know the pre-tokenizer "smollm" and splits as
GPT-2 does, so it is given the rule of the model's published tokenizer.json in another spelling.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlessons.model.file_errors import UnsupportedModel
from memlessons.model.tokenizer import Tokenizer, UnknownToken
from tests.model import plain_bpe
from tests.model.tiny_gguf import CONTROL, vocabulary

TOKENS, MERGES = vocabulary()
TYPES = [3 if token in CONTROL else 1 for token in TOKENS]
RECORDED = json.loads((Path(__file__).parent / "llama_cpp_tokens.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    return Tokenizer(TOKENS, MERGES, TYPES, "smollm")


@pytest.fixture(scope="module")
def real(smollm2: Any) -> Tokenizer:
    return smollm2.tokenizer


TEXT = st.text(alphabet=st.one_of(st.sampled_from("helo wrd'st  \n\t129½٣三"), st.characters(codec="utf-8")))


@given(TEXT)
def test_ids_are_those_of_the_plain_bpe(text: str) -> None:
    assert Tokenizer(TOKENS, MERGES, TYPES, "smollm").encode(text) == plain_bpe.encode(text, TOKENS, MERGES)


@given(TEXT)
def test_text_comes_back_from_its_ids(text: str) -> None:
    small = Tokenizer(TOKENS, MERGES, TYPES, "smollm")
    assert small.decode(small.encode(text)) == text


@given(st.lists(st.integers(0, len(TOKENS) - 1)))
def test_streamed_pieces_joined_are_the_whole_and_hold_no_half_character(ids: list[int]) -> None:
    small = Tokenizer(TOKENS, MERGES, TYPES, "smollm")
    stream = small.stream()
    pieces = [stream.feed(i) for i in ids]
    assert "".join(pieces) + stream.finish() == small.decode(ids)


def test_a_character_is_given_out_with_its_last_byte(small: Tokenizer) -> None:
    stream = small.stream()
    assert [stream.feed(i) for i in small.encode("a😀é")] == ["a", "", "", "", "😀", "", "é"]
    assert stream.finish() == ""
    cut = small.stream()
    assert [cut.feed(i) for i in small.encode("😀")[:3]] == ["", "", ""]
    assert cut.finish() == "\ufffd"


def test_control_tokens_are_recognised_only_when_asked_for(small: Tokenizer) -> None:
    text = "hello<|im_end|> <|im_start|>x<|im_"
    assert not small.control_ids & set(small.encode(text))
    ids = small.encode(text, special=True)
    assert [i for i in ids if i in small.control_ids] == [2, 1]
    assert small.decode(ids) == small.decode(small.encode(text)) == text
    assert small.decode(ids, special=False) == "hello x<|im_"
    assert small.encode("<|im_end|>", special=True) == [2]


@given(st.lists(st.sampled_from(["<|im_start|>", "<|im_end|>", "<|im_", "start|>", "x", " ", "\ufdd0"])))
def test_shielded_text_holds_no_control_token_and_is_otherwise_itself(parts: list[str]) -> None:
    small, text = Tokenizer(TOKENS, MERGES, TYPES, "smollm"), "".join(parts)
    ids = small.encode("<|im_start|>" + small.shield(text) + "<|im_end|>", special=True)
    assert ids == [1, *small.encode(text), 2]


def test_tokens_added_as_whole_words_are_found_in_any_text() -> None:
    made = Tokenizer([*TOKENS, "<think>"], MERGES, [*TYPES, 4], "smollm")
    assert made.encode("he<think>") == [*made.encode("he"), len(TOKENS)]
    assert made.decode([len(TOKENS)]) == "<think>" and len(TOKENS) not in made.control_ids


def test_the_ends_are_what_the_metadata_and_the_names_say() -> None:
    metadata = {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.merges": MERGES, "tokenizer.ggml.token_type": TYPES, "tokenizer.ggml.eos_token_id": 5,
    }  # fmt: skip
    assert Tokenizer.from_gguf_metadata(metadata).eos_ids == {0, 2, 5}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tokenizer.ggml.model": "llama"}, "'llama'"),
        ({"tokenizer.ggml.pre": "llama-bpe"}, "llama-bpe"),
        ({"tokenizer.ggml.tokens": None}, "tokens"),
        ({"tokenizer.ggml.merges": ["x y"]}, "do not fit"),
        ({"tokenizer.ggml.merges": ["nospace"]}, "do not fit"),
    ],
)
def test_a_tokenizer_we_do_not_know_is_refused_by_name(change: dict[str, Any], says: str) -> None:
    metadata = {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "smollm", "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.merges": MERGES, "tokenizer.ggml.token_type": TYPES,
    } | change  # fmt: skip
    with pytest.raises(UnsupportedModel, match=says):
        Tokenizer.from_gguf_metadata({k: v for k, v in metadata.items() if v is not None})


def test_tokens_and_ids_are_named_or_refused(small: Tokenizer) -> None:
    assert small.token(small.id_of(" world")) == " world"
    assert small.token(1) == "<|im_start|>" and small.id_of("<|im_start|>") == 1
    assert len(small) == len(TOKENS)
    for wrong in (-1, len(TOKENS)):
        with pytest.raises(UnknownToken, match=str(wrong)):
            small.token(wrong)
    with pytest.raises(UnknownToken, match="nosuch"):
        small.id_of("nosuch")


@pytest.mark.model
def test_ids_are_those_of_llama_cpp(real: Tokenizer) -> None:
    assert len(RECORDED["text"]) > 2000
    assert real.encode(RECORDED["text"]) == RECORDED["ids"]
    assert real.encode(RECORDED["text"], special=True) == RECORDED["special_ids"]
    assert [real.encode(mixed["text"]) for mixed in RECORDED["mixed"]] == [
        m["ids"] for m in RECORDED["mixed"]
    ]
    assert real.decode(RECORDED["ids"]) == RECORDED["text"]


@pytest.mark.model
def test_ids_are_those_of_the_plain_bpe_on_the_real_vocabulary(real: Tokenizer, smollm2: Any) -> None:
    from memlessons.plan.gguf.header import read_header

    metadata = read_header(smollm2.path).metadata
    tokens, merges = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"]
    assert plain_bpe.encode(RECORDED["text"], tokens, merges) == real.encode(RECORDED["text"])


@pytest.mark.model
@pytest.mark.slow
def test_ids_are_those_of_transformers_with_the_published_pre_tokenizer(
    real: Tokenizer, smollm2: Any
) -> None:
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
    from transformers import AutoTokenizer

    peer = AutoTokenizer.from_pretrained(str(smollm2.path.parent), gguf_file=smollm2.path.name)
    gpt2 = Regex(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    peer.backend_tokenizer.pre_tokenizer = Sequence(
        [Split(Regex(r"\p{N}"), "isolated"), Split(gpt2, "isolated"), ByteLevel(False, use_regex=False)]
    )
    text = RECORDED["text"]
    assert peer(text, add_special_tokens=False)["input_ids"] == real.encode(text, special=True)
    plain = peer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert plain == real.encode(text)
    assert peer.decode(plain) == real.decode(plain)


@pytest.mark.model
def test_the_real_ends_are_end_of_turn_and_end_of_text(real: Tokenizer) -> None:
    assert {real.token(i) for i in real.eos_ids} == {"<|im_end|>", "<|endoftext|>"}
    assert real.token(real.encode(" Paris")[0]) == " Paris"
