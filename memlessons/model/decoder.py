"""A decoder whose checkpoint owns the shapes and whose plan owns the storage."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import silu

from memlessons.cache import ConversationState, allocate
from memlessons.errors import MemlessonsError
from memlessons.kernels import Scratch
from memlessons.model.attention import attend, attend_all
from memlessons.model.config import DecoderConfig
from memlessons.model.fused import MOST_TOKENS, FusedLayer
from memlessons.model.linear import Projection, in_eight_bits, projection
from memlessons.model.rope import Rope, rotate
from memlessons.plan import MemoryPlan

Sees = Callable[[int, Tensor, Tensor], Tensor]


class WrongWeights(MemlessonsError, ValueError):
    """Weights that do not belong to this configuration: a name missing, left over, or of another shape."""


class Reading(NamedTuple):
    """One pass without a memory: `logits` `[T, vocabulary]`, `states` `[layers + 1, T, hidden]`.

    `states[0]` is the embedding, `states[i]` what layer i (counted from one) hands on.
    """

    logits: Tensor
    states: Tensor


class LayerWeights(NamedTuple):
    """The weights of one layer, ready to be applied; `fused` applies them to a few tokens at once."""

    attn_norm: Tensor
    qkv: Projection
    out: Projection
    ffn_norm: Tensor
    gate_up: Projection
    down: Projection
    fused: FusedLayer | None

    @staticmethod
    def of(weights: Mapping[str, Tensor], prefix: str, eps: float, fuses: bool) -> "LayerWeights":
        norms = weights[prefix + "attn_norm"], weights[prefix + "ffn_norm"]
        qkv, out, gate_up, down = (
            projection(weights, prefix + name) for name in ("qkv", "out", "gate_up", "down")
        )
        fused = FusedLayer(norms[0], qkv, out, norms[1], gate_up, down, eps) if fuses else None
        return LayerWeights(norms[0], qkv, out, norms[1], gate_up, down, fused)


class Decoder:
    """A pre-norm decoder with RoPE, grouped-query attention and a gated feed-forward (Llama's design).

    Projections that read the same input are one matrix: `qkv` and `gate_up`. With `kernels` (True unless
    it is set), a few new tokens go through the kernels of `memlessons.kernels` where those are faster.
    """

    def __init__(self, config: DecoderConfig, plan: MemoryPlan) -> None:
        plan.check(config)
        self.config = config
        self.plan = plan
        self.weights: dict[str, Tensor] = {}
        self.dtype = torch.float32
        self.device = torch.device("cpu")
        self.kernels = True
        self.scratch = Scratch()

    def load_weights(
        self,
        weights: Mapping[str, Tensor],
        dtype: torch.dtype | None = None,
        device: torch.device | str = "cpu",
        *,
        int8: bool = False,
    ) -> "Decoder":
        """Take these weights; WrongWeights names the first one that is missing, extra or misshapen.

        With `int8`, matrices are kept as codes of eight bits with a scale for each row; everything is
        computed in `dtype` all the same.
        """
        shapes = self.config.weight_shapes()
        for name, shape in shapes.items():
            if name not in weights:
                raise WrongWeights(f"weight {name!r} {shape} is missing")
            if tuple(weights[name].shape) != shape:
                raise WrongWeights(
                    f"weight {name!r} has shape {tuple(weights[name].shape)}, the model needs {shape}"
                )
        extra = sorted(set(weights) - set(shapes))
        if extra:
            raise WrongWeights(f"weight {extra[0]!r} does not belong to this model")
        self.dtype = dtype or weights["embed"].dtype
        self.device = torch.device(device)
        taken = {name: w.to(dtype=self.dtype, device=self.device) for name, w in weights.items()}
        self.weights = in_eight_bits(taken) if int8 else taken
        c = self.config
        self.rope = Rope(c.head_width, c.rope_base, c.context_tokens, self.dtype, self.device)
        fuses = self.device.type == "cpu" and self.dtype == torch.float32 and find_spec("numba") is not None
        self.layers = [
            LayerWeights.of(self.weights, f"layers.{i}.", c.norm_eps, fuses) for i in range(c.layers)
        ]
        self._unembed = projection(self.weights, "embed" if c.tied else "unembed")
        return self

    @property
    def scale(self) -> float:
        """What a score q · k is multiplied with."""
        return self.config.head_width**-0.5

    def new_state(self, batch: int = 1, capacity: int | None = None) -> ConversationState:
        """Empty memory as the plan says, in this decoder's dtype, for up to `capacity` tokens a row."""
        return allocate(self.plan, batch, capacity or self.config.context_tokens, self.dtype, self.device)

    @torch.no_grad()
    def forward(
        self, tokens: Tensor, state: ConversationState, counts: list[int] | None = None, *, last: bool = False
    ) -> Tensor:
        """Read the next tokens of each row into memory; logits `[B, T, vocabulary]`.

        `tokens` is int64 `[B, T]`; row b brings its first `counts[b]` (all, if not given); what stands
        behind is padding and its logits mean nothing. With `last`, only each row's last logits
        `[B, 1, vocabulary]`. An error leaves the memory as it was.
        """
        batch, length = tokens.shape
        counts = [length] * batch if counts is None else counts
        starts = state.lengths
        state.reserve(counts)
        cos, sin = self.rope.at(starts, length)
        x = self.embed(tokens)
        for layer, (memory,) in zip(self.layers, state.layers, strict=True):
            q, k, v = self.project_layer(layer, x, cos, sin)
            view = memory.write(k, v, counts)
            heads = attend(
                q,
                view,
                counts,
                scale=self.scale,
                kernels=self.kernels,
                scratch=self.scratch,
            )
            x = self.finish_layer(layer, x, heads)
        state.commit(counts)
        if last:
            ends = torch.tensor([max(count - 1, 0) for count in counts], device=x.device)
            x = x[torch.arange(batch, device=x.device), ends][:, None]
        return self.logits(x)

    @torch.no_grad()
    def read(self, tokens: Tensor, sees: Sees | None = None, *, last: bool = False) -> Reading:
        """Read `tokens` `[T]` at once, without a memory, and keep what every layer hands on.

        `sees(layer, query, key)` says which positions a query may look at: `query` is `[T, 1]`, `key`
        `[1, T]`, the answer a bool `[T, T]`; None is causal. A query that may see nothing gets zeros. With
        `last`, only the logits `[1, vocabulary]` of the last token.
        """
        count = tokens.shape[0]
        cos, sin = self.rope.at([0], count)
        query = torch.arange(count, device=self.device)[:, None]
        key = query.T
        x = self.embed(tokens)[None]
        states = [x[0]]
        for i, layer in enumerate(self.layers):
            q, k, v = self.project_layer(layer, x, cos, sin)
            mask = key <= query if sees is None else sees(i, query, key).to(torch.bool)
            heads = attend_all(q, k, v, mask, scale=self.scale)
            x = self.finish_layer(layer, x, heads)
            states.append(x[0])
        return Reading(self.logits(x[:, -1:] if last else x)[0], torch.stack(states))

    @torch.no_grad()
    def project(self, layer: int, states: Tensor, first: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values that a layer (counted from 0) makes of the states handed to it.

        `states` is `[T, hidden]`, the tokens stand at positions `first`, `first + 1`, ...; returns
        q `[query_heads, T, head_width]`, k and v `[kv_heads, T, head_width]`, q and k rotated.
        """
        cos, sin = self.rope.at([first], len(states))
        q, k, v = self.project_layer(self.layers[layer], states[None], cos, sin)
        return q[0], k[0], v[0]

    def project_layer(
        self, w: LayerWeights, x: Tensor, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, heads first: `[B, heads, T, head_width]`; queries and keys rotated."""
        c, turning = self.config, self.config.query_heads + self.config.kv_heads
        if self._few(w, x):
            assert w.fused is not None
            cos, sin = (t.expand(len(x), -1, -1, -1).reshape(-1, c.head_width) for t in (cos, sin))
            heads = w.fused.project(x.reshape(-1, c.hidden), cos, sin, turning)
            heads = heads.view(*x.shape[:2], -1, c.head_width).transpose(1, 2)
            return heads[:, : c.query_heads], heads[:, c.query_heads : turning], heads[:, turning:]
        heads = w.qkv(self._norm(x, w.attn_norm))
        heads = heads.view(*x.shape[:2], -1, c.head_width).transpose(1, 2)
        turned = rotate(heads[:, :turning], cos, sin)
        return turned[:, : c.query_heads], turned[:, c.query_heads :], heads[:, turning:]

    def finish_layer(self, w: LayerWeights, x: Tensor, heads: Tensor) -> Tensor:
        """What follows attention in a layer: the output projection and the feed-forward."""
        heads = heads.transpose(1, 2).reshape(*x.shape[:2], -1)
        if self._few(w, x):
            assert w.fused is not None
            return w.fused.finish(x.view(-1, x.shape[-1]), heads.view(-1, heads.shape[-1])).view_as(x)
        x = x + w.out(heads)
        gate, up = w.gate_up(self._norm(x, w.ffn_norm)).chunk(2, dim=-1)
        return x + w.down(silu(gate) * up)

    def _few(self, w: LayerWeights, x: Tensor) -> bool:
        """Whether these tokens are so few that the compiled layer is faster."""
        return self.kernels and w.fused is not None and x.shape[0] * x.shape[1] <= MOST_TOKENS

    def _norm(self, x: Tensor, weight: Tensor) -> Tensor:
        # Written out: torch's own takes several times as long for a single token on a CPU. In 16 bits the
        # square of a number above 255 is infinite, and states are in the thousands.
        y = x.float() if x.dtype.itemsize < 4 else x
        length = torch.rsqrt(y.square().mean(-1, keepdim=True) + self.config.norm_eps)
        return (y * length).to(x.dtype) * weight

    def embed(self, tokens: Tensor) -> Tensor:
        """What the first layer is handed: a row of the table for each token, `[..., hidden]`."""
        tokens = tokens.to(self.device)
        rows, scale = self.weights["embed"][tokens], self.weights.get("embed.scale")
        return rows if scale is None else rows.to(self.dtype) * scale[tokens, None].to(self.dtype)

    def logits(self, x: Tensor) -> Tensor:
        """Scores of every word of the vocabulary, `[..., vocabulary]`, from what the last layer hands on."""
        return self._unembed(self._norm(x, self.weights["final_norm"]))
