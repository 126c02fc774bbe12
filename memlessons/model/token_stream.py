"""Tokens to text while they come: a character is given out once its last byte is there."""

import codecs
from collections.abc import Callable


class TokenStream:
    """Text of a growing sequence of tokens.

    A token of byte-level BPE may end inside a character; its bytes wait for the next token. The pieces
    given out, joined, are what decoding all tokens at once gives.
    """

    def __init__(self, bytes_of: Callable[[int], bytes]) -> None:
        self._bytes_of = bytes_of
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, id: int) -> str:
        """The text that this token completes, perhaps none."""
        return self._decoder.decode(self._bytes_of(id))

    def finish(self) -> str:
        """What is left at the end: U+FFFD for a character that was never completed, else nothing."""
        return self._decoder.decode(b"", final=True)
