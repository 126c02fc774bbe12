"""One thing that one layer keeps, and the only place that knows when it stops growing."""

from dataclasses import dataclass
from typing import Literal, get_args

from memlessons.plan.errors import InvalidPlan, whole
from memlessons.plan.formats import F16, Format

Role = Literal["self", "latent", "index", "cross", "state"]
Growth = Literal["tokens", "encoder_tokens", "nothing"]
Rope = Literal["stored", "on_read", "none"]
Division = Literal["heads", "state", "nothing"]


@dataclass(frozen=True, slots=True)
class Store:
    """One thing that one layer keeps for each sequence.

    A latent store has one head, `key_width = rank + rope_width` and `value_width = 0`: the values are
    read from the same numbers. `window` counts the current token; `sink_tokens` are first tokens kept
    beside it, `slack` further slots that let a few tokens be taken back; `block` is chunked local
    attention (a token sees its own block only). `read_tokens` bounds what a step reads (top-k);
    None reads all that is held. `state` lists (elements, format) kept per sequence whatever its length.
    """

    role: Role
    kv_heads: int = 0
    key_width: int = 0
    value_width: int = 0
    rope_width: int = 0
    rope: Rope = "stored"
    key_format: Format = F16
    value_format: Format = F16
    grows_with: Growth = "tokens"
    window: int | None = None
    sink_tokens: int = 0
    slack: int = 0
    block: int | None = None
    stride: int = 1
    state: tuple[tuple[int, Format], ...] = ()
    read_tokens: int | None = None
    divides: Division = "heads"

    def __post_init__(self) -> None:
        for name, known in (("role", Role), ("grows_with", Growth), ("rope", Rope), ("divides", Division)):
            if getattr(self, name) not in get_args(known):
                raise InvalidPlan(f"Store.{name}={getattr(self, name)!r}: must be one of {get_args(known)}")
        for name in ("kv_heads", "key_width", "value_width", "rope_width", "sink_tokens", "slack"):
            whole(f"Store.{name}", getattr(self, name))
        whole("Store.stride", self.stride, least=1)
        for name in ("window", "block", "read_tokens"):
            if getattr(self, name) is not None:
                whole(f"Store.{name}", getattr(self, name), least=1)
        for elements, _ in self.state:
            whole("Store.state elements", elements, least=1)
        self._check_sense()

    def _check_sense(self) -> None:
        if self.grows_with != "nothing" and not (self.kv_heads and self.key_width):
            raise InvalidPlan(
                f"Store(role={self.role!r}) grows with {self.grows_with} but has kv_heads={self.kv_heads}, "
                f"key_width={self.key_width}: both must be at least 1"
            )
        if self.grows_with == "nothing" and not self.state:
            raise InvalidPlan(f"Store(role={self.role!r}) keeps nothing: give it `state` or let it grow")
        if self.rope_width > self.key_width:
            raise InvalidPlan(f"Store.rope_width={self.rope_width}: wider than key_width={self.key_width}")
        if self.window is None and (self.sink_tokens or self.slack):
            raise InvalidPlan("Store.sink_tokens and slack have a meaning only beside a window")
        if self.window is not None and self.block is not None:
            raise InvalidPlan("Store.window and Store.block exclude each other")

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot: the key and value rows of all its heads, scales included."""
        return self.kv_heads * (
            self.key_format.row_bytes(self.key_width) + self.value_format.row_bytes(self.value_width)
        )

    @property
    def state_bytes(self) -> int:
        """Bytes kept per sequence whatever its length."""
        return sum(format.row_bytes(elements) for elements, format in self.state)

    def slots(self, tokens: int) -> int:
        """Slots held after `tokens` tokens (of the kind it grows with).

        A strided store has an entry only for each *complete* run of `stride` tokens.
        """
        if self.grows_with == "nothing":
            return 0
        entries = tokens // self.stride
        if self.window is not None:
            return min(entries, self.sink_tokens + self.window + self.slack)
        return entries if self.block is None else min(entries, self.block)

    def read_slots(self, tokens: int) -> int:
        """Slots that the attention of one decode step reads, its own token included, at length `tokens`."""
        if self.grows_with == "nothing":
            return 0
        seen = tokens // self.stride
        if self.window is not None:
            seen = min(seen, self.sink_tokens + self.window)
        elif self.block is not None and seen:
            seen = (seen - 1) % self.block + 1
        return seen if self.read_tokens is None else min(seen, self.read_tokens)

    def needed(self, tokens: int) -> tuple[range, ...] | None:
        """Token positions that must be held to go on at position `tokens`; None = a stored state.

        The next token sees itself, so a window of w needs the last w - 1.
        """
        if self.state:
            return None
        if self.grows_with != "tokens":
            return ()
        if self.block is not None:
            return (range(tokens // self.block * self.block, tokens),)
        if self.window is None:
            return (range(tokens),)
        sinks = min(self.sink_tokens, tokens)
        return (range(sinks), range(max(sinks, tokens - self.window + 1), tokens))
