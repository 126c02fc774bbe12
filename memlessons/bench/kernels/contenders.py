"""Who races: our kernel, torch's attention by each of its backends, FlexAttention, a copy for every head."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from memlessons.bench.kernels.inputs import Inputs
from memlessons.bench.kernels.race import Contender
from memlessons.bench.kernels.shapes import Shape
from memlessons.bench.kernels.truth import truth_of
from memlessons.kernels import Scratch, decode
from memlessons.kernels.cases import GATES

BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
NO_ANCHOR = "no anchor: writes every score to memory, in several kernels"


class Watched(Scratch):
    """A scratch that remembers into how many splits the last call was cut."""

    splits = 1

    def partials(self, rows: tuple[int, int, int], *more: Any, **options: Any) -> tuple[Tensor, Tensor]:
        """See Scratch."""
        self.splits = rows[2]
        return super().partials(rows, *more, **options)


def ours(
    shape: Shape,
    sets: Sequence[Inputs],
    splits: int | None = None,
    name: str = "ours",
    backend: Any = "triton",
) -> Contender:
    """`decode` on each set, into the place for its answer; `splits` as it chooses if not given."""
    scratch = Watched()

    def call(one: Inputs) -> Tensor:
        decode(*one[:4], backend=backend, splits=splits, out=one.out, scratch=scratch, **one.options)
        return one.out

    call(sets[0])
    facts = {"splits": scratch.splits}
    return Contender(name, [partial(call, s) for s in sets], bytes_of(shape, sets), facts)


def torch_attention(shape: Shape, sets: Sequence[Inputs], backend: str) -> Contender:
    """`scaled_dot_product_attention` by one backend; RuntimeError where it does not take these inputs."""
    chosen = SDPBackend.__members__[backend]
    grouped = shape.HQ != shape.HKV

    def call(one: Inputs) -> Tensor:
        with sdpa_kernel(chosen):
            answer = F.scaled_dot_product_attention(one.q[:, :, None], *one.kv, enable_gqa=grouped)
        return answer[:, :, 0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it explains a refusal in many lines
        call(sets[0])
    facts: dict[str, Any] = {"backend": backend} | ({"note": NO_ANCHOR} if backend == "MATH" else {})
    return Contender(
        sdpa_name(backend), [partial(call, s) for s in sets], bytes_of(shape, sets), facts, rival=True
    )


def sdpa_name(backend: str) -> str:
    """What a backend of torch's attention is called in records: "sdpa flash"."""
    return "sdpa " + backend.removesuffix("_ATTENTION").lower()


def flex(shape: Shape, sets: Sequence[Inputs], compiled: bool) -> Contender:
    """FlexAttention, compiled by torch; takes a minute the first time, and may raise anything."""
    from torch.nn.attention.flex_attention import flex_attention

    attend: Any = torch.compile(flex_attention, dynamic=False) if compiled else flex_attention

    def call(one: Inputs) -> Tensor:
        answer = attend(one.q[:, :, None], *one.kv, enable_gqa=shape.HQ != shape.HKV)
        assert isinstance(answer, Tensor)
        return answer[:, :, 0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(sets[0])
    return Contender("flex", [partial(call, s) for s in sets], bytes_of(shape, sets), rival=True)


def copied(shape: Shape, sets: Sequence[Inputs]) -> Contender:
    """Multi-query attention as it is not meant: its one head copied for every query head, then multi-head."""
    copies = k, v = tuple(sets[0].k.new_empty(shape.B, shape.HQ, shape.T, shape.D) for _ in range(2))
    scratch = Watched()

    def call(one: Inputs) -> Tensor:
        for copy, memory in zip(copies, one.kv, strict=True):
            copy.copy_(memory.expand_as(copy))
        decode(one.q, k, v, one.lengths, backend="triton", out=one.out, scratch=scratch)
        return one.out

    call(sets[0])
    return Contender("mqa copied", [partial(call, s) for s in sets], 0, {"splits": scratch.splits})


def error_of(contender: Contender, one: Inputs, truth: Tensor | None = None) -> float:
    """||o - truth|| / ||truth|| of a contender on the set of inputs of its first call, against float64."""
    truth = truth_of(one) if truth is None else truth
    one.out.fill_(float("nan"))
    answer = contender.calls[0]().double()
    error = float((answer - truth).norm() / truth.norm())
    return error if error == error else float("inf")


def gate(contender: Contender, dtype: torch.dtype) -> float:
    """The largest error that is accepted: of our own kernel what its cases ask, of others twice that."""
    return GATES[dtype] * (2 if contender.rival else 1)


def bytes_of(shape: Shape, sets: Sequence[Inputs]) -> int:
    """Bytes that a call on one of these sets cannot avoid to move."""
    return shape.bytes_moved(sets[0].q.element_size())
