"""One checked call: what is asked, and over which memory."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Problem:
    """The tensors of one decode call and its sizes, by the names every backend uses.

    A memory is pages of PG slots, `k [P, HKV, PG, DK]`; slot n of row b lies in page `table[b, n // PG]`,
    at n % PG. A contiguous memory has one page for each row, of T slots, and no table: its page is b. A row
    has T slots at most, and sees its newest `window` (None: all) and its first `sink_tokens`.
    """

    q: Tensor  # [B, HQ, DK]
    k: Tensor  # [P, HKV, PG, DK], of q's type or int8
    v: Tensor | None  # [P, HKV, PG, DV]; None: the first DV columns of k
    lengths: Tensor  # int32 [B]
    table: Tensor | None  # int32 [B, MP]
    k_scale: Tensor | None  # f32 [P, HKV, PG], of int8 keys
    v_scale: Tensor | None
    sink_logits: Tensor | None  # f32 [HQ]
    B: int
    HQ: int
    HKV: int
    T: int
    PG: int
    DK: int
    DV: int
    window: int | None
    sink_tokens: int
    scale: float
    softcap: float | None

    @property
    def G(self) -> int:
        """Query heads that share one memory."""
        return self.HQ // self.HKV

    @property
    def most_visible(self) -> int:
        """The most slots any row can see."""
        return self.T if self.window is None else min(self.T, self.window + self.sink_tokens)

    @property
    def value_scale(self) -> Tensor | None:
        """The scales of what is mixed: those of the keys where keys are the values."""
        return self.k_scale if self.v is None else self.v_scale
