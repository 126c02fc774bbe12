"""What is measured of decode attention: forms of memory, with the bytes and the FLOP they cannot avoid."""

from dataclasses import dataclass, replace

SCALE_BYTES = 4
WINDOW = 1024


@dataclass(frozen=True, slots=True)
class Attention:
    """One new token's attention: `query_heads` over `kv_heads` of keys and values.

    `window`: only the newest so many tokens are seen. `int8`: codes with a scale for each token and head.
    `value_width` of a latent: the values are the first columns of the keys, and counted once.
    """

    name: str
    what: str
    query_heads: int
    kv_heads: int
    key_width: int = 128
    value_width: int = 128
    window: int | None = None
    int8: bool = False
    latent: bool = False

    @property
    def scale(self) -> float:
        """What multiplies q · k: that of heads of 128, and of a latent's 128 + 64 (arXiv:2405.04434, 2.1)."""
        return float((self.key_width if not self.latent else 192) ** -0.5)

    def seen(self, tokens: int) -> int:
        """Tokens that the new one looks at."""
        return tokens if self.window is None else min(tokens, self.window)

    def numbers_per_token(self) -> int:
        """Numbers kept of one token, scales left out."""
        return self.kv_heads * (self.key_width + (0 if self.latent else self.value_width))

    def bytes_moved(self, tokens: int, element_bytes: int, sequences: int = 1) -> int:
        """Bytes that no kernel can avoid: all that is seen, once, with its scales; q and the output."""
        number = 1 if self.int8 else element_bytes
        token = self.numbers_per_token() * number + (2 * self.kv_heads * SCALE_BYTES if self.int8 else 0)
        q_and_out = self.query_heads * (self.key_width + self.value_width) * element_bytes
        return sequences * (self.seen(tokens) * token + q_and_out)

    def flops(self, tokens: int, sequences: int = 1) -> int:
        """Multiplications and additions of the scores and of the mix of values."""
        return 2 * sequences * self.query_heads * self.seen(tokens) * (self.key_width + self.value_width)

    def bound(self, tokens: int) -> "Attention":
        """The same form; its window, where it has one, is an eighth of so many tokens, so that it binds."""
        return self if self.window is None else replace(self, window=max(1, tokens // 8))


ROWS = (
    Attention("MHA", "32 query heads, each with keys and values of its own", 32, 32),
    Attention("GQA 32/8", "32 query heads share 8 heads of keys and values", 32, 8),
    Attention("MQA", "32 query heads share one", 32, 1),
    Attention("GQA int8", "as GQA 32/8, codes of eight bits with a scale for each token", 32, 8, int8=True),
    Attention("GQA window", "as GQA 32/8, only the newest eighth of the tokens", 32, 8, window=WINDOW),
    Attention("latent", "16 query heads share a latent of 512, and 64 for positions", 16, 1, 576, 512,
              latent=True),
)  # fmt: skip


def fitting_tokens(room_bytes: int, element_bytes: int, most: int) -> int:
    """The longest context, a power of two up to `most`, whose largest row fits into `room_bytes`."""
    tokens = most
    while tokens > 1 and max(row.numbers_per_token() for row in ROWS) * tokens * element_bytes > room_bytes:
        tokens //= 2
    return tokens
