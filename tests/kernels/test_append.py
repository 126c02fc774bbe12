"""New tokens into a memory, and read back."""

from typing import Any

import pytest
import torch
from torch import Tensor

from memlessons.kernels import BackendCannot, BadArgument, append_kv, decode

BACKENDS = ["reference", "triton"]
every_backend = pytest.mark.parametrize("backend", BACKENDS)
codes_only = pytest.mark.parametrize("backend", [*BACKENDS, "cpu"])


def pools(int8: bool, DK: int = 8, DV: int = 12) -> dict[str, Any]:
    """Two pools of 3 pages of 4 slots, 2 heads, filled with what must not change."""
    kind = torch.int8 if int8 else torch.float32
    made: dict[str, Any] = {
        "k": torch.full((3, 2, 4, DK), 55, dtype=kind), "v": torch.full((3, 2, 4, DV), 66, dtype=kind)
    }  # fmt: skip
    if int8:
        made |= {"k_scale": torch.full((3, 2, 4), 9.0), "v_scale": torch.full((3, 2, 4), 9.0)}
    return made


def codes_by_hand(row: Tensor) -> tuple[list[int], float]:
    """Codes and scale of one row, number by number; Python rounds half to even."""
    scale = max(max(abs(float(x)) for x in row), 1e-12) / 127
    scale = float(torch.tensor(scale))
    return [
        max(-127, min(127, round(float(torch.tensor(float(x)) / torch.tensor(scale))))) for x in row
    ], scale


@pytest.mark.parametrize(
    ("int8", "backend"), [(i, b) for i in (False, True) for b in BACKENDS] + [(True, "cpu"), (True, "auto")]
)
def test_each_token_goes_to_its_slot_and_nothing_else_changes(int8: bool, backend: str) -> None:
    g = torch.Generator().manual_seed(0)
    k_new, v_new = torch.randn(4, 2, 8, generator=g), torch.randn(4, 2, 12, generator=g) * 5
    k_new[1, 1] = 0.0
    slots = torch.tensor([9, 0, -1, 5])
    p = pools(int8)
    append_kv(k_new, v_new, p["k"], p["v"], slots, k_scale=p.get("k_scale"), v_scale=p.get("v_scale"),
              backend=backend)  # fmt: skip
    untouched = pools(int8)
    for name, new in (("k", k_new), ("v", v_new)):
        for n, slot in enumerate(slots.tolist()):
            if slot < 0:
                continue
            page, offset = divmod(slot, 4)
            for h in range(2):
                if int8:
                    codes, scale = codes_by_hand(new[n, h])
                    assert p[name][page, h, offset].tolist() == codes
                    assert float(p[f"{name}_scale"][page, h, offset]) == pytest.approx(scale, rel=1e-6)
                    p[f"{name}_scale"][page, h, offset] = untouched[f"{name}_scale"][page, h, offset]
                else:
                    assert torch.equal(p[name][page, h, offset], new[n, h])
                p[name][page, h, offset] = untouched[name][page, h, offset]
    for name, pool in p.items():
        assert torch.equal(pool, untouched[name]), name


@codes_only
def test_halves_are_rounded_to_even_and_the_largest_becomes_127(backend: str) -> None:
    row = torch.tensor([127.0, -127.0, 0.5, 1.5, 2.5, -0.5, -1.5, 63.5])
    p = pools(True)
    append_kv(
        row.expand(1, 2, 8), None, p["k"], None, torch.tensor([0]), k_scale=p["k_scale"], backend=backend
    )
    assert p["k"][0, 0, 0].tolist() == [127, -127, 0, 2, 2, 0, -2, 64]


@every_backend
@pytest.mark.parametrize("int8", [False, True])
def test_views_with_padded_pages_are_written_where_they_lie(int8: bool, backend: str) -> None:
    """Pages further apart than they are long, and scales in another tensor's corner."""
    kind = torch.int8 if int8 else torch.float32
    whole = torch.zeros(3, 2, 7, 8, dtype=kind)
    scales = torch.zeros(5, 2, 9)
    k, k_scale = whole[:, :, 2:6], scales[1:4, :, 3:7]
    new = torch.randn(2, 2, 8, generator=torch.Generator().manual_seed(1))
    append_kv(new, None, k, None, torch.tensor([6, 3]), k_scale=k_scale if int8 else None, backend=backend)
    written = whole.ne(0).any(-1).nonzero().tolist()
    assert written == [[0, 0, 5], [0, 1, 5], [1, 0, 4], [1, 1, 4]]
    if int8:
        assert scales.ne(0).nonzero().tolist() == [[1, 0, 6], [1, 1, 6], [2, 0, 5], [2, 1, 5]]


@codes_only
def test_what_was_appended_is_what_decode_reads_also_by_two_layers(backend: str) -> None:
    """One pool, two layers that read it: the scales belong to the pool."""
    g = torch.Generator().manual_seed(2)
    p = pools(True)
    k_new, v_new = torch.randn(6, 2, 8, generator=g), torch.randn(6, 2, 12, generator=g)
    table = torch.tensor([[2, 0]], dtype=torch.int32)
    slots = torch.tensor([8, 9, 10, 11, 0, 1])
    append_kv(
        k_new, v_new, p["k"], p["v"], slots, k_scale=p["k_scale"], v_scale=p["v_scale"], backend=backend
    )
    for layer in range(2):
        q = torch.randn(1, 4, 8, generator=g)
        o = decode(q, p["k"], p["v"], torch.tensor([6], dtype=torch.int32), table=table, k_scale=p["k_scale"],
                   v_scale=p["v_scale"], backend="reference")  # fmt: skip
        assert isinstance(o, Tensor)
        plain = decode(q, k_new.transpose(0, 1)[None].contiguous(), v_new.transpose(0, 1)[None].contiguous(),
                       torch.tensor([6], dtype=torch.int32), backend="reference")  # fmt: skip
        assert 0 < float((o - plain).norm() / plain.norm()) < 0.02, layer


@codes_only
def test_slots_that_are_a_view_are_taken_as_they_lie(backend: str) -> None:
    p = pools(True)
    every_other = torch.tensor([3, 50, 9, 50])[::2]
    append_kv(torch.ones(2, 2, 8), None, p["k"], None, every_other, k_scale=p["k_scale"], backend=backend)
    assert p["k"].eq(127).any(-1).nonzero().tolist() == [[0, 0, 3], [0, 1, 3], [2, 0, 1], [2, 1, 1]]


def test_no_tokens_change_nothing() -> None:
    p = pools(False)
    append_kv(torch.empty(0, 2, 8), torch.empty(0, 2, 12), p["k"], p["v"], torch.empty(0, dtype=torch.int64))
    assert all(torch.equal(p[name], pool) for name, pool in pools(False).items())


new, slots = {"k_new": torch.ones(2, 2, 8), "v_new": torch.ones(2, 2, 12)}, torch.tensor([0, 1])
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "v without v_new": ({"v_new": None}, "v_new and v belong together"),
    "k_new of other heads": (
        {"k_new": torch.ones(2, 3, 8)},
        r"k_new has shape \(2, 3, 8\).*needs \(2, 2, 8\)",
    ),
    "v_new of fewer tokens": ({"v_new": torch.ones(1, 2, 12)}, "v_new has shape"),
    "v of other pages": ({"v": torch.ones(4, 2, 4, 12)}, "only widths may differ"),
    "a batch dim": ({"k_new": torch.ones(1, 2, 2, 8)}, r"k_new must be a float tensor \[N, HKV, DK\]"),
    "a pool of rows": ({"k": torch.ones(3, 2, 4)}, r"k must be a tensor \[P, HKV, PG, DK\]"),
    "slots in int32": ({"slots": slots.int()}, r"slots must be an int64 tensor \[N\]=\[2\]"),
    "a slot beyond the pool": ({"slots": slots + 11}, "slots holds 12: the pool has 12"),
    "scales of floats": ({"k_scale": torch.ones(3, 2, 4)}, "int8 needs one, floats none"),
    "codes without scales": ({"k": torch.ones(3, 2, 4, 8, dtype=torch.int8)}, "k is torch.int8 and k_scale"),
    "last dim not dense": ({"k_new": torch.ones(2, 8, 2).mT}, "k_new: its last dim has stride 2"),
    "unknown backend": ({"backend": "cuda"}, "backend='cuda'"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_argument_is_named_and_nothing_is_written(changes: dict[str, Any], message: str) -> None:
    p = pools(False)
    given: dict[str, Any] = new | {"k": p["k"], "v": p["v"], "slots": slots} | changes
    with pytest.raises(BadArgument, match=message):
        append_kv(**given)
    assert all(torch.equal(p[name], pool) for name, pool in pools(False).items())


def test_the_loop_of_the_cpu_says_what_it_cannot_write_before_anything_is_written() -> None:
    p = pools(True)
    tokens = torch.ones(2, 2, 8)
    for k_new, k, k_scale in (
        (tokens.double(), p["k"], p["k_scale"]), (tokens, p["k"][:, :, :3], p["k_scale"][:, :, :3]),
    ):  # fmt: skip
        with pytest.raises(BackendCannot, match="codes from float32 into memory in C order"):
            append_kv(k_new, None, k, None, slots, k_scale=k_scale, backend="cpu")
    with pytest.raises(BackendCannot, match="backend='reference' does"):
        append_kv(**new, k=pools(False)["k"], v=pools(False)["v"], slots=slots, backend="cpu")
    assert all(torch.equal(p[name], pool) for name, pool in pools(True).items())
