"""One decode call as numbers: its heads, its form of memory, and the bytes that no kernel can avoid."""

from dataclasses import dataclass, replace
from typing import Any

SCALE_BYTES = PAGE_NUMBER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Shape:
    """B sequences of T tokens each, HQ query heads over HKV heads of keys of width D.

    `page` slots to a page (0: contiguous); `int8` codes with a scale for each token and head; `window` and
    `sink_tokens` as in `decode`; `value_width`: a latent memory, whose values are its first columns;
    `sink_logits`: with one for each query head.
    """

    name: str
    B: int
    HQ: int
    HKV: int
    T: int
    D: int = 128
    page: int = 0
    int8: bool = False
    window: int | None = None
    sink_tokens: int = 0
    value_width: int | None = None
    sink_logits: bool = False

    @property
    def DV(self) -> int:
        """Width of a value."""
        return self.value_width or self.D

    @property
    def oldest(self) -> int:
        """The first slot of the window."""
        return 0 if self.window is None else max(0, self.T - self.window)

    @property
    def seen(self) -> int:
        """Slots that a sequence sees: its window, and first tokens that lie before it."""
        return self.T - self.oldest + min(self.sink_tokens, self.oldest)

    @property
    def pages(self) -> int:
        """Pages of a sequence; 0 without a table."""
        return -(-self.T // self.page) if self.page else 0

    @property
    def pages_seen(self) -> int:
        """Pages in which a sequence sees a slot."""
        if not self.page:
            return 0
        of_sinks = -(-min(self.sink_tokens, self.oldest) // self.page)
        return self.pages - max(self.oldest // self.page, of_sinks) + of_sinks

    def slot_bytes(self, element_bytes: int) -> int:
        """Bytes of one token in one head: key, value (none beside a latent), and their scales."""
        number, scale = (1, SCALE_BYTES) if self.int8 else (element_bytes, 0)
        key, value = self.D * number + scale, self.DV * number + scale
        return key if self.value_width else key + value

    def kv_bytes(self, element_bytes: int) -> int:
        """Bytes of all keys and values that are seen, with their scales."""
        return self.B * self.HKV * self.seen * self.slot_bytes(element_bytes)

    def bytes_moved(self, element_bytes: int) -> int:
        """Bytes that no kernel can avoid, `element_bytes` to a number of q: all that is seen, once.

        Each key, value and scale (a latent is both, and counts once), each entry of the table, q and the
        output. Not: partial results, slots outside a window, and the few bytes of lengths and sink logits.
        """
        table = self.B * self.pages_seen * PAGE_NUMBER_BYTES
        q_and_out = self.B * self.HQ * (self.D + self.DV) * element_bytes
        return self.kv_bytes(element_bytes) + table + q_and_out

    def stored_bytes(self, element_bytes: int) -> int:
        """Bytes that the inputs take in memory, seen or not."""
        slots = self.pages * self.page if self.page else self.T
        unseen = self.B * self.HKV * (slots - self.seen) * self.slot_bytes(element_bytes)
        return self.bytes_moved(element_bytes) + unseen

    @property
    def flops(self) -> int:
        """Multiplications and additions of scores and of the mix of values."""
        return 2 * self.B * self.HQ * self.seen * (self.D + self.DV)

    def facts(self) -> dict[str, Any]:
        """What a record says of it; forms that it has not are left out."""
        found = {name: getattr(self, name) for name in ("B", "HQ", "HKV", "T", "D")}
        forms = ("page", "int8", "window", "sink_tokens", "value_width", "sink_logits")
        return found | {name: getattr(self, name) for name in forms if getattr(self, name)}

    def tiny(self) -> "Shape":
        """The same kind of call, as small as an interpreter likes it: the same heads per memory, up to 4.

        Pages of 64 become pages of a tile, smaller ones pages of a quarter of a tile.
        """
        heads = min(2, self.HKV)
        each = min(4, self.HQ // self.HKV)
        return replace(
            self, B=min(2, self.B), HQ=heads * each, HKV=heads, T=24, D=24 if self.value_width else 16,
            page=self.page // 4, window=self.window and 8, sink_tokens=min(2, self.sink_tokens),
            value_width=self.value_width and 16,
        )  # fmt: skip


LARGE = Shape("gqa B32 T4096", 32, 32, 8, 4096)
ALONE = (Shape("gqa B1 T8192", 1, 32, 8, 8192), Shape("gqa B1 T32768", 1, 32, 8, 32768))
SHORT = (Shape("short B1 T1024", 1, 32, 8, 1024), Shape("short B1 T128", 1, 32, 8, 128))
MHA = Shape("mha 256 MiB", 4, 32, 32, 4096)
MQA = Shape("mqa 256 MiB", 32, 32, 1, 16384)
MQA_AS_MHA = replace(MHA, name="mqa B4 T4096", HKV=1)
"""As many tokens as MHA has, in one head: what is lost when it is copied for every query head?"""
SPLITS = (1, 2, 4, 8, 16, 32, 64)
WINDOW = Shape("window 1024 of 32768", 16, 32, 8, 32768, window=1024)
AS_LONG_AS_THE_WINDOW = replace(WINDOW, name="T1024", T=1024, window=None)
# The heads of DeepSeek's models: a latent of 512, and 64 columns that carry positions (arXiv:2405.04434).
LATENT = tuple(Shape(f"mla {heads} heads", 32, heads, 1, 8192, D=576, value_width=512) for heads in (16, 128))
