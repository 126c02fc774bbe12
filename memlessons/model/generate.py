"""Generation: one token after the other, each read once and remembered."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from memlessons.cache import ConversationState
from memlessons.model.captured import CapturedStep, can_capture
from memlessons.model.decoder import Decoder

PREFILL_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen: temperature 0 takes the likeliest, else nucleus sampling of `top_p`."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1:
            raise ValueError(f"temperature={self.temperature}, top_p={self.top_p}: need >= 0 and in (0, 1]")

    def chooser(self) -> Callable[[Tensor], int]:
        """A function from logits `[vocabulary]` to a token; one random stream for a whole generation."""
        if self.temperature == 0:
            return lambda logits: int(logits.argmax())
        stream = torch.Generator()
        stream.seed() if self.seed is None else stream.manual_seed(self.seed)

        def choose(logits: Tensor) -> int:
            ordered, tokens = torch.sort(
                torch.softmax(logits.double().cpu() / self.temperature, -1), descending=True
            )
            # A token stays while those before it have not yet filled the nucleus, so one always does.
            kept = ordered * (ordered.cumsum(-1) - ordered < self.top_p)
            return int(tokens[torch.multinomial(kept, 1, generator=stream)])

        return choose


def prefill(decoder: Decoder, tokens: Sequence[int], state: ConversationState) -> Tensor:
    """Read a prompt in chunks into a state of one row; the logits `[vocabulary]` after its last token.

    An error gives back every token this call had read.
    """
    if not tokens:
        raise ValueError("prefill: no tokens; a prompt needs at least one")
    before = state.lengths
    state.reserve([len(tokens)])
    logits = None
    try:
        for start in range(0, len(tokens), PREFILL_CHUNK):
            chunk = torch.tensor([tokens[start : start + PREFILL_CHUNK]])
            logits = decoder.forward(chunk, state, last=True)
    except BaseException:
        state.truncate(before)
        raise
    assert logits is not None
    return logits[0, -1]


def generate(
    decoder: Decoder,
    tokens: Sequence[int],
    *,
    max_new_tokens: int,
    stop: Sequence[int] = (),
    sampling: Sampling | None = None,
    state: ConversationState | None = None,
) -> Iterator[int]:
    """Yield new tokens as they are made, until one of `stop` (not yielded) or `max_new_tokens`.

    `tokens` are read first; with a `state` they follow what it already holds, and it then holds all
    tokens but the last one yielded. Ends early, without an error, where the memory is full.
    """
    choose = (sampling or Sampling()).chooser()
    if state is None:
        longest = decoder.config.context_tokens
        state = decoder.new_state(capacity=min(longest, len(tokens) + max_new_tokens))
    ends = set(stop)
    logits = prefill(decoder, tokens, state)
    step = _stepper(decoder, state)
    for made in range(max_new_tokens):
        token = choose(logits)
        if token in ends:
            return
        yield token
        if made + 1 == max_new_tokens or state.lengths[0] >= state.capacity:
            return
        logits = step(token)


def _stepper(decoder: Decoder, state: ConversationState) -> Callable[[int], Tensor]:
    """A step of one row: the logits `[vocabulary]` after a token; captured where there is a GPU."""
    captured: list[CapturedStep] = []
    captures = decoder.kernels and decoder.device.type == "cuda" and can_capture(decoder, state)

    def step(token: int) -> Tensor:
        if not captures:
            return decoder.forward(torch.tensor([[token]]), state, last=True)[0, -1]
        if not captured:  # at the first step: a prompt whose answer ends at once needs none
            captured.append(CapturedStep(decoder, state))
        return captured[0](torch.tensor([token]))[0]

    return step
