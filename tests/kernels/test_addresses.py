"""Addresses beyond 2 ** 31 elements: 32-bit products would read other memory, without a crash.

Memory that is allocated but never touched costs nothing, so the tensors here are huge and mostly absent.
Each runs in a process of its own: a wrong address may end it.
"""

import subprocess
import sys

import pytest

FAR = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch
from memlessons.kernels import decode

g = torch.Generator().manual_seed(0)
q = torch.randn(2, 2, 16, generator=g).to({dtype})
near = torch.randn(2, 1, 24, 16, generator=g).to({dtype})
{make}
lengths = torch.tensor([24, 17], dtype=torch.int32)
o = decode(q, far, far, lengths, backend={backend!r}, splits=2)
truth = decode(q, near, near, lengths, backend="reference")
assert (o.double() - truth.double()).norm() < 1e-3 * truth.double().norm(), (o, truth)
print("same")
"""

# The second row lies 2 ** 31 + 4,096 elements behind the first.
ROWS_APART = """
pool = torch.empty(2**31 + 8192, dtype=q.dtype)
far = pool.as_strided((2, 1, 24, 16), (2**31 + 4096, 384, 16, 1))
far.copy_(near)
"""
# Rows of more than 2 ** 31 elements, in C order as the twin wants them; 24 slots of each are ever touched.
LONG_ROWS = """
far = torch.empty(2, 1, 2**27 + 64, 16, dtype=q.dtype)
far[:, :, :24] = near
"""


@pytest.mark.parametrize(
    ("backend", "dtype", "make"),
    [("triton", "torch.float16", ROWS_APART), ("cpu", "torch.float32", LONG_ROWS)],
    ids=["triton", "cpu"],
)
def test_a_row_that_lies_beyond_two_to_the_31_is_read_where_it_lies(
    backend: str, dtype: str, make: str
) -> None:
    code = FAR.format(backend=backend, dtype=dtype, make=make)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "same", done.stderr[-2000:]


PAGED = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch
from memlessons.kernels import append_kv, decode

P, HKV, PG, D = 140_000, 8, 16, 128
g = torch.Generator().manual_seed(0)
pool, scales = torch.empty(P, HKV, PG, D, dtype=torch.int8), torch.empty(P, HKV, PG)
assert pool.numel() > 2**31
table = torch.tensor([[P - 1, 3, 131_072], [0, P - 2, 5]], dtype=torch.int32)
new = torch.randn(2 * 3 * PG, HKV, D, generator=g)
slots = (table.long()[:, :, None] * PG + torch.arange(PG)).flatten()
append_kv(new, None, pool, None, slots, k_scale=scales, backend={backend!r})
q, lengths = torch.randn(2, HKV, D, generator=g), torch.tensor([40, 33], dtype=torch.int32)
o = decode(q, pool, pool, lengths, table=table, k_scale=scales, v_scale=scales, backend={backend!r}, splits=2)
near = new.view(2, 3 * PG, HKV, D).transpose(1, 2).contiguous()
truth = decode(q, near, near, lengths, backend="reference")
assert (o - truth).norm() < 0.02 * truth.norm(), (o, truth)
print("same")
"""


@pytest.mark.parametrize("backend", ["triton", "cpu", "reference"])
def test_pages_beyond_two_to_the_31_elements_are_written_and_read_where_they_lie(backend: str) -> None:
    code = PAGED.format(backend=backend)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "same", done.stderr[-2000:]


def test_more_heads_than_a_second_grid_dimension_has_are_launched_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    from memlessons.kernels import decode, launch

    grids = []

    class Recorder:
        def __getitem__(self, grid: tuple[int, ...]):  # type: ignore[no-untyped-def]
            grids.append(grid)
            return lambda *arguments, **options: None

    monkeypatch.setattr(launch, "split_kernel", Recorder())
    monkeypatch.setattr(launch, "merge_kernel", Recorder())
    q, k = torch.zeros(10923, 6, 16), torch.zeros(10923, 1, 2, 16)
    decode(q, k, k, torch.ones(10923, dtype=torch.int32), backend="triton", splits=2)
    assert grids == [(2 * 10923,), (6 * 10923,)]


def test_more_than_65535_heads_are_computed() -> None:
    import torch

    from memlessons.kernels import decode

    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(*s, generator=g) for s in ((10923, 6, 16), (10923, 1, 2, 16), (10923, 1, 2, 16)))
    shares = torch.softmax(q @ k[:, 0].mT / 4, dim=-1)
    o = decode(q, k, v, torch.full((10923,), 2, dtype=torch.int32), backend="cpu")
    assert torch.allclose(o, shares @ v[:, 0], atol=1e-5)
