"""Byte-level BPE in plain Python: the pre-tokenizer as one regular expression, merges tried one by one."""

from itertools import pairwise

import regex

from tests.model.tiny_gguf import byte_characters

# GPT-2's rule on what lies between digits, and each digit (any number character) alone.
WORDS = regex.compile(r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def words(text: str) -> list[str]:
    """The pieces no token may cross. A digit ends what stands before it, as the end of the text would."""
    pieces: list[str] = []
    for run in regex.split(r"(\p{N})", text):
        pieces += WORDS.findall(run)
    return pieces


def encode(text: str, tokens: list[str], merges: list[str]) -> list[int]:
    """Token ids: in each piece, the earliest merge anywhere is made first, until none is left."""
    ids = {token: i for i, token in enumerate(tokens)}
    ranks = {tuple(merge.split(" ")): i for i, merge in enumerate(merges)}
    spelled = byte_characters()
    out: list[int] = []
    for piece in words(text):
        parts = [spelled[byte] for byte in piece.encode()]
        while True:
            pairs = {pair: ranks[pair] for pair in pairwise(parts) if pair in ranks}
            if not pairs:
                break
            left, right = min(pairs, key=pairs.__getitem__)
            joined: list[str] = []
            while parts:
                if parts[:2] == [left, right]:
                    joined.append(left + right)
                    del parts[:2]
                else:
                    joined.append(parts.pop(0))
            parts = joined
        out += [ids[part] for part in parts]
    return out
