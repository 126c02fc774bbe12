"""What is refused before anything is launched, and in which words."""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from memlessons.kernels import BackendCannot, BadArgument, Scratch, decode
from memlessons.kernels.cases import Case

q, k, _v, lengths, _ = Case("plain", lengths=(20, 5)).inputs(torch.float32)
assert _v is not None
v = _v


def call(**changes: Any) -> Tensor:
    given: dict[str, Any] = {"q": q, "k": k, "v": v, "lengths": lengths} | changes
    tensors = [given.pop(name) for name in ("q", "k", "v", "lengths")]
    o = decode(*tensors, **given)
    assert isinstance(o, Tensor)
    return o


def test_the_plain_call_is_fine() -> None:
    assert call().shape == q.shape


table = torch.zeros(2, 4, dtype=torch.int32)
codes = {"k": k.nan_to_num().to(torch.int8), "v": v.nan_to_num().to(torch.int8)}
scales = {"k_scale": torch.ones(2, 2, 64), "v_scale": torch.ones(2, 2, 64)}
latent = {"v": None, "value_width": 24, "scale": 0.2}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "heads do not divide": ({"q": torch.zeros(2, 5, 32)}, "q has 5 heads, k has 2"),
    "q has a token dim": ({"q": q[:, :, None]}, r"q must be a tensor \[B, HQ, DK\]"),
    "k is a list": ({"k": [1, 2]}, "k must be a tensor .* got list"),
    "widths differ": ({"q": torch.zeros(2, 4, 16)}, r"k has shape \(2, 2, 64, 32\).*needs \(2, HKV, T, 16\)"),
    "k and v differ in slots": ({"v": v[:, :, :9]}, r"v has shape \(2, 2, 9, 32\).*needs \(2, 2, 64, 32\)"),
    "k and v differ in heads": ({"k": k[:, :1]}, "v has shape"),
    "another batch": ({"q": q[:1]}, r"needs \(1, HKV, T, 32\)"),
    "v has other sequences": ({"v": v[:1]}, r"v has shape \(1, 2, 64, 32\)"),
    "dtypes differ": ({"k": k.half()}, "k.dtype=torch.float16"),
    "k and v differ in type": (codes | {"v": v} | scales, "v.dtype=torch.float32: k has torch.int8"),
    "whole numbers": ({"q": q.int()}, "q.dtype=torch.int32"),
    "last dim not dense": ({"k": k.mT.contiguous().mT}, "k: its last dim has stride 64"),
    "lengths int64": ({"lengths": lengths.long()}, "lengths must be an int32 tensor"),
    "lengths of another batch": ({"lengths": lengths[:1]}, r"an int32 tensor \[B\]=\[2\]"),
    "a length beyond the slots": ({"lengths": lengths + 60}, r"lengths=\[80, 65\]: each must be from 0"),
    "a negative length": ({"lengths": lengths - 9}, r"lengths=\[11, -4\]"),
    "scale 0": ({"scale": 0.0}, "scale=0.0"),
    "softcap below 0": ({"softcap": -1.0}, "softcap=-1.0"),
    "softcap is NaN": ({"softcap": float("nan")}, "softcap=nan"),
    "no window": ({"window": 0}, "window=0: must be a whole number, at least 1"),
    "half a window": ({"window": 1.5}, "window=1.5"),
    "sink tokens below 0": ({"window": 4, "sink_tokens": -1}, "sink_tokens=-1"),
    "sink tokens without a window": ({"sink_tokens": 4}, "sink_tokens=4 without a window"),
    "sink logits of other heads": ({"sink_logits": torch.zeros(3)}, r"sink_logits must be .* \[HQ\]=\[4\]"),
    "sink logits in float64": ({"sink_logits": torch.zeros(4).double()}, "sink_logits must be"),
    "codes without scales": (codes, r"k is int8 and k_scale is missing: float32 \(2, 2, 64\)"),
    "values without a scale": (codes | {"k_scale": scales["k_scale"]}, "v_scale is missing"),
    "scales without codes": (scales, "k_scale was given for k in torch.float32"),
    "scales of other slots": (codes | scales | {"v_scale": torch.ones(2, 2, 63)}, "v_scale must be"),
    "scales in float16": (codes | scales | {"k_scale": torch.ones(2, 2, 64).half()}, "k_scale must be"),
    "a table of another batch": ({"table": table[:1]}, r"table must be an int32 tensor \[B, MP\]=\[2, 4\]"),
    "a table in int64": ({"table": table.long()}, "table must be"),
    "a page beyond the pool": ({"table": table + 2}, r"table\[0, 0\]=2: row 0 sees this page.* 0 to 1"),
    "a page below the pool": ({"table": table - 1}, r"table\[0, 0\]=-1"),
    "a latent without a width": ({"v": None, "scale": 0.2}, "value_width=None"),
    "a latent wider than the keys": (latent | {"value_width": 33}, "value_width=33"),
    "a latent without a scale": ({"v": None, "value_width": 24}, "scale=None with v=None"),
    "a width beside v": ({"value_width": 32}, "value_width=32: v has a width of its own"),
    "a scale of no values": (latent | codes | scales | {"v": None}, "v_scale was given for no v"),
    "no splits": ({"splits": 0}, "splits=0"),
    "half a split": ({"splits": 1.5}, "splits=1.5"),
    "both ways of splitting": ({"splits": 2, "deterministic": True}, "exclude each other"),
    "unknown backend": ({"backend": "cuda"}, "backend='cuda'"),
    "out too small": ({"out": torch.empty(1, 4, 32)}, "out must be a contiguous"),
    "out in another type": ({"out": torch.empty(2, 4, 32).double()}, "out must be a contiguous"),
}  # fmt: skip


@pytest.mark.parametrize("changes", [c for c, _ in BAD.values()], ids=list(BAD))
@pytest.mark.parametrize("backend", ["auto", "reference", "cpu", "triton"])
def test_a_bad_argument_is_named_with_its_value(changes: dict[str, Any], backend: str) -> None:
    message = next(m for c, m in BAD.values() if c is changes)
    with pytest.raises(BadArgument, match=message) as error:
        call(**({"backend": backend} | changes))
    assert isinstance(error.value, ValueError)


def test_pages_that_nobody_sees_may_be_anything() -> None:
    far = torch.tensor([[0, -1, 7], [1, 9, -5]], dtype=torch.int32)
    assert call(table=far, lengths=torch.tensor([64, 5], dtype=torch.int32)).shape == q.shape
    both_ends = {"window": 10, "sink_tokens": 3, "lengths": torch.tensor([190, 5], dtype=torch.int32)}
    with pytest.raises(BadArgument, match=r"table\[0, 2\]=7: row 0 sees this page"):
        call(table=far, **both_ends)
    assert call(table=torch.tensor([[0, -1, 1], [1, 9, -5]], dtype=torch.int32), **both_ends).shape == q.shape


def test_eight_bit_floats_are_refused_with_what_to_take_instead() -> None:
    narrow = {"k": k.to(torch.float8_e4m3fn), "v": v.to(torch.float8_e4m3fn)}
    with pytest.raises(BackendCannot, match="int8 with a scale for each token and head"):
        call(**narrow)


def test_what_a_backend_cannot_do_says_which_one_can() -> None:
    half = {"q": q.half(), "k": k.half(), "v": v.half()}
    with pytest.raises(BackendCannot, match="backend='reference' takes it"):
        call(**half, backend="cpu")
    with pytest.raises(BackendCannot, match="backend='cpu' and 'reference' do"):
        call(q=q.double(), k=k.double(), v=v.double(), backend="triton")
    with pytest.raises(BadArgument, match="k must be in C order"):
        call(k=k.transpose(1, 2).contiguous().transpose(1, 2), backend="cpu")


def test_auto_takes_the_reference_for_types_the_twin_has_not() -> None:
    half = {"q": q.half(), "k": k.half(), "v": v.half()}
    assert torch.equal(call(**half), call(**half, backend="reference"))


BLOCKED = """
import sys
for name in {missing}:
    sys.modules[name] = None
import torch
from memlessons.kernels import BackendCannot, decode
q, k = torch.ones(1, 2, 4), torch.ones(1, 1, 3, 4)
lengths = torch.tensor([3], dtype=torch.int32)
assert torch.equal(decode(q, k, k, lengths, backend="reference"), q)
try:
    decode(q, k, k, lengths, backend={backend!r})
except BackendCannot as error:
    print(error)
"""


@pytest.mark.parametrize(("backend", "package"), [("triton", "triton"), ("cpu", "numba")])
def test_without_its_package_a_backend_says_so_and_the_others_work(backend: str, package: str) -> None:
    code = BLOCKED.format(missing=[package], backend=backend)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"backend={backend!r} needs the package {package}" in done.stdout


def test_triton_outside_its_interpreter_refuses_cpu_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    from memlessons.kernels import launch

    monkeypatch.setattr(launch, "INTERPRETED", False)
    with pytest.raises(BackendCannot, match="TRITON_INTERPRET=1 before Triton is first imported"):
        call(backend="triton")


def test_scratch_grows_once_and_is_reused() -> None:
    scratch = Scratch()
    call(splits=4, scratch=scratch)
    held = scratch.allocated_bytes
    assert held == 2 * 4 * 4 * (32 + 1) * 4
    call(splits=2, scratch=scratch)
    assert scratch.allocated_bytes == held


def _in_threads(work: Callable[[], None], count: int) -> list[BaseException]:
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_two_threads_may_call_the_twin_at_once() -> None:
    """Numba's default threading layer would abort the process."""
    expected = call(backend="cpu")

    def work() -> None:
        for _ in range(50):
            assert torch.equal(call(backend="cpu"), expected)

    assert _in_threads(work, 4) == []


THREADS = """
import torch
from memlessons.kernels import decode
torch.set_num_threads(1)
q, k = torch.ones(1, 2, 4), torch.ones(1, 1, 3, 4)
decode(q, k, k, torch.tensor([3], dtype=torch.int32), backend="cpu")
import numba
print(torch.get_num_threads(), numba.get_num_threads())
"""


def test_the_twin_takes_the_threads_that_torch_has_and_leaves_them() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1"]
