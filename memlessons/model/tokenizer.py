"""Text to token ids and back, as the model was trained: byte-level BPE built from a GGUF's metadata.

Three steps. The *pre-tokenizer* cuts text where no token may reach across (SmolLM2: every digit alone,
then GPT-2's words, numbers, punctuation and blanks). Each piece is written as bytes, one visible
character per byte. Then the model's merges join neighbours, the earliest learned merge first.

Control tokens such as `<|im_start|>` are found in a text only when asked for: what a user types must not
be able to end their own turn.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from memlessons.errors import MemlessonsError
from memlessons.model.file_errors import UnsupportedModel
from memlessons.model.token_stream import TokenStream

# token types of GGUF
_CONTROL, _USER_DEFINED = 3, 4
# Names under which models keep tokens that end a turn or a text, beside the one the metadata names.
_ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "</s>")


class UnknownToken(MemlessonsError, KeyError):
    """A token id or token text that is not in the vocabulary."""

    def __str__(self) -> str:
        return str(self.args[0])


class Tokenizer:
    """The tokenizer of one model.

    `eos_ids` are the tokens after which a model has said all: generation stops there. `control_ids` are
    the tokens that stand for no text.
    """

    def __init__(self, tokens: Sequence[str], merges: Iterable[str], types: Sequence[int], pre: str) -> None:
        from tokenizers import Tokenizer as Backend
        from tokenizers.models import BPE

        self._tokens = list(tokens)
        self._ids = {token: i for i, token in enumerate(self._tokens)}
        self.control_ids = frozenset(i for i, kind in enumerate(types) if kind == _CONTROL)
        self.eos_ids = frozenset(i for i in self.control_ids if self._tokens[i] in _ENDS)
        control = [self._tokens[i] for i in self.control_ids]
        # Tokens that somebody added to the vocabulary as whole words are text: found in any text.
        defined = [self._tokens[i] for i, kind in enumerate(types) if kind == _USER_DEFINED]
        self._control, self._defined, self._whole = (
            _finder(control),
            _finder(defined),
            _finder(control + defined),
        )
        self._shielded = _finder(map(_shielded, control))
        self._backend = Backend(BPE(vocab=self._ids, merges=[_pair(merge) for merge in merges]))
        self._backend.pre_tokenizer = _pre_tokenizer(pre)

    @classmethod
    def from_gguf_metadata(cls, metadata: Mapping[str, Any]) -> "Tokenizer":
        """The tokenizer that a GGUF file holds; UnsupportedModel if it is not byte-level BPE we know."""
        if metadata.get("tokenizer.ggml.model") != "gpt2":
            kind = metadata.get("tokenizer.ggml.model")
            raise UnsupportedModel(f"tokenizer.ggml.model={kind!r}: only byte-level BPE ('gpt2') is read")
        try:
            tokens, merges = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.merges"]
        except KeyError as error:
            raise UnsupportedModel(f"{error.args[0]}: missing from the file's metadata") from None
        types = metadata.get("tokenizer.ggml.token_type") or [1] * len(tokens)
        try:
            made = cls(tokens, merges, types, metadata.get("tokenizer.ggml.pre", "default"))
        except UnsupportedModel:
            raise
        except Exception as error:  # the library raises bare exceptions for merges outside the vocabulary
            raise UnsupportedModel(
                f"the file's vocabulary and merges do not fit each other: {error}"
            ) from error
        stated = (metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot"))
        made.eos_ids |= {i for i in stated if isinstance(i, int)}
        return made

    def __len__(self) -> int:
        return len(self._tokens)

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of a text. With `special`, control tokens written out in it become those tokens."""
        finder = self._whole if special else self._defined
        ids: list[int] = []
        for piece, token in _pieces(text, finder):
            if special:
                piece = self._shielded.sub(lambda found: found[0].replace(_SHIELD, ""), piece)
            ids += self._backend.encode(piece, add_special_tokens=False).ids
            if token:
                ids.append(self._ids[token])
        return ids

    def shield(self, text: str) -> str:
        """The text so marked that `encode(special=True)` takes the control tokens in it for plain text.

        For text that is not ours (what a user typed) inside a prompt that is. Changes nothing else.
        """
        return self._control.sub(lambda found: _shielded(found[0]), text)

    def decode(self, ids: Iterable[int], *, special: bool = True) -> str:
        """The text of token ids; without `special`, control tokens are left out.

        Bytes that are no UTF-8 (a sequence cut inside a character) become U+FFFD, the replacement sign.
        """
        return b"".join(self.token_bytes(i, special=special) for i in ids).decode("utf-8", errors="replace")

    def stream(self, *, special: bool = True) -> TokenStream:
        """A decoder that is fed token by token and never gives out half a character."""
        return TokenStream(lambda i: self.token_bytes(i, special=special))

    def token(self, id: int) -> str:
        """The text of one token; a byte that is no character of its own is shown as U+FFFD."""
        return self.token_bytes(id).decode("utf-8", errors="replace")

    def token_bytes(self, id: int, *, special: bool = True) -> bytes:
        """The bytes one token stands for; UnknownToken if there is no such id."""
        if not 0 <= id < len(self._tokens):
            raise UnknownToken(f"token id {id}: the vocabulary has ids 0 to {len(self._tokens) - 1}")
        if id in self.control_ids:
            return self._tokens[id].encode() if special else b""
        return b"".join(_BYTES.get(character) or character.encode() for character in self._tokens[id])

    def id_of(self, token: str) -> int:
        """The id of a token by its text, control tokens included; UnknownToken if it is not one token."""
        spelled = "".join(_SPELLING[byte] for byte in token.encode())
        found = self._ids.get(token, self._ids.get(spelled))
        if found is None:
            raise UnknownToken(
                f"{token!r} is not one token of this vocabulary: encode() cuts it into several"
            )
        return found


# U+FDD0 is a Unicode noncharacter, reserved for uses inside a program such as this one.
_SHIELD = "\ufdd0"


def _shielded(token: str) -> str:
    return token[0] + _SHIELD + token[1:]


def _finder(tokens: Iterable[str]) -> "re.Pattern[str]":
    """A pattern that finds any of these tokens, the longest first; with none, one that finds nothing."""
    longest_first = sorted((token for token in tokens if token), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _pieces(text: str, finder: "re.Pattern[str]") -> Iterable[tuple[str, str]]:
    """Runs of plain text, each with the whole token that follows it ("" at the end)."""
    start = 0
    for found in finder.finditer(text):
        yield text[start : found.start()], found[0]
        start = found.end()
    yield text[start:], ""


def _pair(merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    return left, right


def _pre_tokenizer(pre: str) -> Any:
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    def byte_level() -> Any:
        return ByteLevel(add_prefix_space=False, use_regex=True)

    known: dict[str, Callable[[], Any]] = {
        # As the tokenizer.json of SmolLM2 has it; llama.cpp's rule of that name gives the same ids.
        "smollm": lambda: Sequence([Digits(individual_digits=True), byte_level()]),
        "gpt-2": byte_level,
    }
    if pre not in known:
        raise UnsupportedModel(f"tokenizer.ggml.pre={pre!r}: known pre-tokenizers are {', '.join(known)}")
    return known[pre]()


def _spelling() -> dict[int, str]:
    """GPT-2's visible character for each byte: itself if printable, else the next one from U+0100 on."""
    printable = [
        *range(ord("!"), ord("~") + 1),
        *range(ord("¡"), ord("¬") + 1),
        *range(ord("®"), ord("ÿ") + 1),
    ]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


_SPELLING = _spelling()
_BYTES = {character: bytes([byte]) for byte, character in _SPELLING.items()}
