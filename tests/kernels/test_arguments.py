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

q, k, v, lengths, _ = Case("plain", lengths=(20, 5)).inputs(torch.float32)


def call(**changes: Any) -> Tensor:
    given: dict[str, Any] = {"q": q, "k": k, "v": v, "lengths": lengths} | changes
    tensors = [given.pop(name) for name in ("q", "k", "v", "lengths")]
    o = decode(*tensors, **given)
    assert isinstance(o, Tensor)
    return o


def test_the_plain_call_is_fine() -> None:
    assert call().shape == q.shape


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "heads do not divide": ({"q": torch.zeros(2, 5, 32)}, "q has 5 heads, k and v have 2"),
    "q has a token dim": ({"q": q[:, :, None]}, r"q must be a tensor \[B, HQ, DK\]"),
    "k is a list": ({"k": [1, 2]}, "k must be a tensor .* got list"),
    "widths differ": ({"q": torch.zeros(2, 4, 16)}, r"k has shape \(2, 2, 64, 32\)"),
    "k and v differ in slots": ({"v": v[:, :, :9]}, "k has shape"),
    "k and v differ in heads": ({"k": k[:, :1]}, "k has shape"),
    "v has other sequences": ({"q": q[:1], "k": k[:1]}, "v has 2 sequences, q has 1"),
    "dtypes differ": ({"k": k.half()}, "k.dtype=torch.float16"),
    "whole numbers": ({"q": q.int()}, "q.dtype=torch.int32"),
    "last dim not dense": ({"k": k.mT.contiguous().mT}, "k: its last dim has stride 64"),
    "lengths int64": ({"lengths": lengths.long()}, "lengths must be an int32 tensor"),
    "lengths of another batch": ({"lengths": lengths[:1]}, r"an int32 tensor \[B\]=\[2\]"),
    "a length beyond the slots": ({"lengths": lengths + 60}, r"lengths=\[80, 65\]: each must be from 0"),
    "a negative length": ({"lengths": lengths - 9}, r"lengths=\[11, -4\]"),
    "scale 0": ({"scale": 0.0}, "scale=0.0"),
    "softcap below 0": ({"softcap": -1.0}, "softcap=-1.0"),
    "softcap is NaN": ({"softcap": float("nan")}, "softcap=nan"),
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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("table", lengths[None]),
        ("window", 8),
        ("sink_tokens", 4),
        ("sink_logits", q[0, :, 0]),
        ("k_scale", k[..., 0]),
        ("v_scale", v[..., 0]),
        ("value_width", 8),
    ],
)
def test_forms_that_are_not_built_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(NotImplementedError, match=rf"decode\({name}="):
        call(**{name: value})
    with pytest.raises(NotImplementedError, match="v=None"):
        call(v=None)


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
