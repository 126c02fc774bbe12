"""One suite of cases, every backend: the float64 reference, the CPU twin, Triton (interpreted here)."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.kernels import Scratch, decode
from memlessons.kernels.cases import GATES, Case, cases, distance
from tests.kernels.truth import attention

BACKENDS = [
    ("reference", torch.float64),
    ("cpu", torch.float32),
    ("cpu", torch.float64),
    ("triton", torch.float32),
    ("triton", torch.float16),
    ("triton", torch.bfloat16),
]
every_backend = pytest.mark.parametrize(
    ("backend", "dtype"), BACKENDS, ids=[f"{b}-{str(d).removeprefix('torch.')}" for b, d in BACKENDS]
)


def check(
    case: Case, backend: str, dtype: torch.dtype, seed: int = 0, scratch: Scratch | None = None
) -> None:
    q, k, v, lengths, options = case.inputs(dtype, seed=seed)
    o, lse = decode(q, k, v, lengths, backend=backend, return_lse=True, scratch=scratch, **options)
    assert o.dtype == dtype and tuple(o.shape) == (len(case.lengths), case.HQ, case.DV or case.DK)
    assert lse.dtype == torch.float32 and tuple(lse.shape) == tuple(o.shape[:2])
    worst = distance(o, lse, *attention(q, k, v, lengths, **options))
    assert worst.not_finite == 0
    assert worst.o <= GATES[dtype]
    assert worst.lse <= 1e-5


@every_backend
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_case_matches_plain_sums_in_float64(case: Case, backend: str, dtype: torch.dtype) -> None:
    # The interpreter takes a second for some of these: the narrow types run a choice of the cases.
    if backend == "triton" and dtype != torch.float32 and (case.HQ > 16 or case.DK > 100):
        pytest.skip("covered in float32; the interpreter is slow")
    if backend == "triton" and dtype == torch.bfloat16 and case.DK == 1:
        pytest.skip("the interpreter truncates to bfloat16, and one number cannot average that out")
    check(case, backend, dtype)


@st.composite
def any_case(draw: st.DrawFn) -> Case:
    """Any form of memory, in any combination."""
    HKV, G = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 5, 8, 9]))
    latent = draw(st.booleans())
    DK = draw(st.integers(1, 40))
    DV = draw(st.integers(1, DK if latent else 40))
    T = draw(st.integers(1, 90))
    lengths = draw(st.lists(st.integers(0, T), min_size=1, max_size=3))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options |= {"window": draw(st.integers(1, 100)), "sink_tokens": draw(st.integers(0, 20))}
    if draw(st.booleans()):
        options["softcap"] = draw(st.sampled_from([3.0, 50.0]))
    splitting: dict[str, Any] = {"splits": draw(st.integers(1, 6))}
    options |= draw(st.sampled_from([{}, {"deterministic": True}, splitting]))
    sinks = draw(st.sampled_from([(), (0.0,), (4.0, -4.0)]))
    page = draw(st.sampled_from([0, 1, 3, 16, 32]))
    return Case("any", HKV * G, HKV, DK, DV, tuple(lengths), T, draw(st.sampled_from([0.1, 1.0, 8.0])), page,
                draw(st.booleans()), latent, sinks, options=options)  # fmt: skip


@given(any_case(), st.integers(0, 2**31))
@settings(max_examples=150, deadline=None)
def test_any_combination_of_forms_is_right_on_the_cpu(case: Case, seed: int) -> None:
    for backend, dtype in BACKENDS[:3]:
        check(case, backend, dtype, seed)


@given(any_case(), st.integers(0, 2**31))
@settings(max_examples=8, deadline=None)
def test_any_combination_of_forms_is_right_in_triton(case: Case, seed: int) -> None:
    check(case, "triton", torch.float32, seed)


@every_backend
def test_partial_results_that_an_earlier_call_left_behind_are_never_read(
    backend: str, dtype: torch.dtype
) -> None:
    scratch = Scratch()
    for tensor in scratch.partials(
        (3, 4, 11), 32, torch.device("cpu"), torch.float64 if dtype == torch.float64 else torch.float32
    ):
        tensor.fill_(float("nan"))
    check(Case("poisoned", lengths=(20, 0, 3), options={"splits": 11}), backend, dtype, scratch=scratch)


@every_backend
def test_any_number_of_splits_gives_the_same_answer(backend: str, dtype: torch.dtype) -> None:
    case = Case("splits", lengths=(61, 16, 17))
    q, k, v, lengths, _ = case.inputs(dtype)
    answers = [decode(q, k, v, lengths, backend=backend, splits=splits) for splits in (1, 2, 3, 7)]
    for answer in answers[1:]:
        assert (answer.double() - answers[0].double()).norm() <= GATES[dtype] * answers[0].double().norm()


@pytest.mark.parametrize(("backend", "dtype"), BACKENDS[1:])
def test_a_row_has_the_same_bits_alone_and_in_a_batch_when_deterministic(
    backend: str, dtype: torch.dtype
) -> None:
    # Lengths on both sides of a chunk of 1,024; the interpreter takes 10 ms a tile.
    T, D = 1100, 16
    g = torch.Generator().manual_seed(3)
    q, k, v = (torch.randn(*s, generator=g).to(dtype) for s in ((3, 2, D), (3, 1, T, D), (3, 1, T, D)))
    lengths = torch.tensor([1090, 7, 1024], dtype=torch.int32)
    together = decode(q, k, v, lengths, backend=backend, deterministic=True, return_lse=True)
    for row, length in enumerate(lengths.tolist()):
        # Alone, and in a memory with just enough slots: another number of splits, most of them empty or none.
        alone = [t[row : row + 1].contiguous() for t in (q, k[:, :, :length], v[:, :, :length])]
        answer = decode(*alone, lengths[row : row + 1], backend=backend, deterministic=True, return_lse=True)
        for a, b in zip(together, answer, strict=True):
            assert torch.equal(a[row], b[0])


@every_backend
def test_out_takes_the_result_and_is_returned(backend: str, dtype: torch.dtype) -> None:
    q, k, v, lengths, _ = Case("out", lengths=(20,)).inputs(dtype)
    out = torch.full((1, 4, 32), float("nan"), dtype=dtype)
    for splits in (1, 2):
        given = decode(q, k, v, lengths, backend=backend, out=out.fill_(float("nan")), splits=splits)
        assert given is out
        assert torch.equal(out, decode(q, k, v, lengths, backend=backend, splits=splits))


@every_backend
def test_no_sequences_give_no_rows(backend: str, dtype: torch.dtype) -> None:
    q, k = torch.empty(0, 4, 32, dtype=dtype), torch.empty(0, 2, 8, 32, dtype=dtype)
    o, lse = decode(q, k, k, torch.empty(0, dtype=torch.int32), backend=backend, return_lse=True)
    assert tuple(o.shape) == (0, 4, 32) and o.dtype == dtype and tuple(lse.shape) == (0, 4)


@pytest.mark.parametrize("backend", ["reference", "triton"])
def test_strided_memory_is_read_as_it_lies(backend: str) -> None:
    """Tokens first in storage, heads first in shape: a view, not a copy."""
    case = Case("strided", lengths=(40, 13))
    q, k, v, lengths, _ = case.inputs(torch.float32)
    assert v is not None
    k2, v2 = (t.transpose(1, 2).contiguous().transpose(1, 2) for t in (k, v))
    assert not k2.is_contiguous()
    a, b = (decode(q, *kv, lengths, backend=backend) for kv in ((k, v), (k2, v2)))
    assert torch.allclose(a, b, atol=1e-6)


@every_backend
@pytest.mark.parametrize("splits", [1, 2])
def test_lengths_and_sinks_that_are_views_are_read_as_they_lie(
    backend: str, dtype: torch.dtype, splits: int
) -> None:
    q, k, v, lengths, _ = Case("views", lengths=(40, 13)).inputs(dtype)
    wide = torch.stack((lengths, torch.tensor([1, 1], dtype=torch.int32)), dim=1)[:, 0]
    sinks = torch.tensor([0.5, 99.0, -1.0, 99.0, 2.0, 99.0, 0.0, 99.0])[::2]
    assert not wide.is_contiguous() and not sinks.is_contiguous()
    o, lse = decode(q, k, v, wide, backend=backend, splits=splits, sink_logits=sinks, return_lse=True)
    worst = distance(o, lse, *attention(q, k, v, lengths, sink_logits=sinks))
    assert worst.o <= GATES[dtype] and worst.lse <= 1e-5 and not worst.not_finite


@every_backend
@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize("part", ["k", "v"])
def test_a_nan_that_is_held_is_not_passed_over(
    part: str, splits: int, backend: str, dtype: torch.dtype
) -> None:
    q, k, v, lengths, _ = Case("NaN", lengths=(60, 60)).inputs(dtype)
    assert v is not None
    (k if part == "k" else v)[0, 1, 35, 2] = float("nan")  # row 0, the memory of heads 2 and 3
    o, lse = decode(q, k, v, lengths, backend=backend, splits=splits, return_lse=True)
    assert o[0, 2:].isnan().any(-1).all() and lse[0, 2:].isnan().all() == (part == "k")
    assert not o[0, :2].isnan().any() and not o[1].isnan().any() and not lse[1].isnan().any()


def test_scores_of_minus_infinity_are_no_evidence_on_any_backend() -> None:
    q = torch.ones(1, 2, 4)
    k = torch.full((1, 1, 9, 4), float("-inf"))
    v = torch.ones(1, 1, 9, 4)
    k[0, 0, 6] = 0.0
    for backend in ("reference", "cpu", "triton"):
        for splits in (1, 3):
            o = decode(
                q,
                k,
                v * torch.arange(9.0)[:, None],
                torch.tensor([9], dtype=torch.int32),
                backend=backend,
                splits=splits,
            )
            assert torch.equal(o, torch.full((1, 2, 4), 6.0)), backend
