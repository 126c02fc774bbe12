"""A decode step that a GPU repeats by itself: captured once in a CUDA graph, then replayed.

A step of a small model is hundreds of launches, each a few microseconds of Python and driver; the work of
each is less. A graph is launched as one. What makes it possible: everything has its place before the step
begins, and nothing asks the host how long a conversation is: lengths are numbers on the device.
"""

import gc
from collections.abc import Callable

import torch
from torch import Tensor

from memlessons.cache import ConversationState
from memlessons.errors import MemlessonsError
from memlessons.kernels import Scratch
from memlessons.kernels.launched import on_device
from memlessons.model.attention import attend_next, kernel_takes
from memlessons.model.decoder import Decoder

Capture = Callable[[Callable[[], None]], Callable[[], None]]
_WARM_UPS = 3


class CannotCapture(MemlessonsError):
    """There is no GPU to capture a step on."""


class CapturedStep:
    """One new token for every row of a state: `step(tokens)` is `decoder.forward` with tokens `[B, 1]`.

    Raises CannotCapture without a GPU, CacheFull and PositionOutOfRange before anything is changed.
    """

    def __init__(self, decoder: Decoder, state: ConversationState, capture: Capture | None = None) -> None:
        self.decoder, self.state = decoder, state
        rows = len(state.lengths)
        state.reserve([1] * rows)  # what is run before the capture writes where the next token will be
        # Its own: the graph keeps the addresses, and a larger call of the decoder would replace the memory.
        self._scratch = Scratch()
        self._tokens = torch.zeros(rows, 1, dtype=torch.int64, device=decoder.device)
        self._logits = torch.empty(
            rows, decoder.config.vocabulary, dtype=decoder.dtype, device=decoder.device
        )
        if capture is None and decoder.device.type != "cuda":
            raise CannotCapture(f"a graph is captured on a GPU; this decoder is on {decoder.device}")
        with on_device(decoder.device):
            self._replay = (capture or cuda_graph)(self._body)

    def __call__(self, tokens: Tensor) -> Tensor:
        """Logits `[B, vocabulary]` after tokens `[B]`, which from now on are remembered.

        The tensor is overwritten by the next call.
        """
        ones = [1] * len(self.state.lengths)
        self.state.reserve(ones)
        self.decoder.rope.check(max(self.state.lengths) + 1)
        with on_device(self.decoder.device):
            self._tokens.copy_(tokens.view(-1, 1))
            self._replay()
            self.state.commit(ones)
        return self._logits

    @torch.no_grad()
    def _body(self) -> None:
        """What is captured: from the tokens' place to the logits' place, without a look at any value."""
        d, memories = self.decoder, [memory for (memory,) in self.state.layers]
        cos, sin = d.rope.after(memories[0].lengths)
        x = d.embed(self._tokens)
        for layer, memory in zip(d.layers, memories, strict=True):
            q, k, v = d.project_layer(layer, x, cos, sin)
            view = memory.write_next(k[:, :, 0], v[:, :, 0])
            x = d.finish_layer(layer, x, attend_next(q, view, scale=d.scale, scratch=self._scratch))
        self._logits.copy_(d.logits(x)[:, 0])


def can_capture(decoder: Decoder, state: ConversationState) -> bool:
    """Whether the decode kernel reads every memory of the state: without it, a step asks the host."""
    stored = [[t for t in memory.tensors() if t.dim() == 4] for memory in state.memories()]  # keys, values
    return all(len(kv) == 2 and kernel_takes(decoder.dtype, kv[0], kv[1]) for kv in stored)


def cuda_graph(body: Callable[[], None]) -> Callable[[], None]:
    """Capture `body` in a CUDA graph; the function that replays it.

    Runs it a few times first, on a stream of its own, so that kernels are compiled and memory is in place.
    """
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(_WARM_UPS):
            body()
        graph = torch.cuda.CUDAGraph()
        # A finaliser that frees memory in the middle of a capture would end it.
        collecting = gc.isenabled()
        gc.disable()
        try:
            with torch.cuda.graph(graph, stream=beside):
                body()
        finally:
            if collecting:
                gc.enable()
    torch.cuda.current_stream().wait_stream(beside)
    return graph.replay
