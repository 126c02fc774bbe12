"""Libraries as rivals, played by modules that compute with torch what the real ones are asked for."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from memlessons.bench.kernels import contenders, forms, libraries, rows
from memlessons.bench.kernels.bench import Bench
from memlessons.bench.kernels.budget import Budget
from memlessons.bench.kernels.check import WrongKernel
from memlessons.bench.kernels.device import Rehearsal
from memlessons.bench.kernels.inputs import pool
from memlessons.bench.kernels.ledger import Ledger
from memlessons.bench.kernels.shapes import Shape

CPU = torch.device("cpu")
CARD = {"device": "a card", "driver": None, "commit": "abc", "versions": {}}
SHAPE = Shape("x", 2, 8, 2, 150, 16)


def attend(q: Any, k: Any, v: Any) -> Any:
    """q [B, HQ, D] over k, v [B, HKV, T, D]."""
    return F.scaled_dot_product_attention(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]


def played_flash_attention(name: str, answer: Callable[[Any], Any]) -> ModuleType:
    made: Any = ModuleType(name)
    made.__version__ = "9.9"

    def flash_attn_with_kvcache(q, k_cache, v_cache, cache_seqlens, causal):
        B, one, _, D = q.shape
        assert one == 1 and k_cache.shape == (B, 150, 2, D) and k_cache.stride(-1) == 1 and causal
        assert cache_seqlens.dtype == torch.int32 and cache_seqlens.tolist() == [150] * B
        return answer(attend(q[:, 0], k_cache.transpose(1, 2), v_cache.transpose(1, 2))[:, None])

    made.flash_attn_with_kvcache = flash_attn_with_kvcache
    return made


class Wrapper:
    """FlashInfer's interface: pages by offsets into a list, planned before it runs."""

    plans = 0

    def __init__(self, workspace: Any, kv_layout: str, use_tensor_cores: bool) -> None:
        assert workspace.dtype == torch.uint8 and kv_layout == "HND" and use_tensor_cores

    def plan(self, indptr, indices, last, heads, kv_heads, width, page, q_data_type, kv_data_type) -> None:
        Wrapper.plans += 1
        assert (heads, kv_heads, width) == (8, 2, 16) and q_data_type == kv_data_type == torch.float32
        assert {t.dtype for t in (indptr, indices, last)} == {torch.int32}
        self.rows = [
            (indices[a:b].long(), (b - a - 1) * page + end)
            for a, b, end in zip(indptr.tolist()[:-1], indptr.tolist()[1:], last.tolist(), strict=True)
        ]

    def run(self, q: Any, pools: Any) -> Any:
        found = []
        for b, (pages, tokens) in enumerate(self.rows):
            k, v = (p[pages].transpose(0, 1).flatten(1, 2)[None, :, :tokens] for p in pools)
            found.append(attend(q[b : b + 1], k, v))
        return torch.cat(found)


def played_flashinfer() -> ModuleType:
    made: Any = ModuleType("flashinfer")
    made.BatchDecodeWithPagedKVCacheWrapper = Wrapper
    return made


@pytest.mark.parametrize("answer", [lambda o: o, lambda o: (o, None)], ids=["output", "output and lse"])
@pytest.mark.parametrize(
    ("module", "name"), [("flash_attn", "flash-attn"), ("flash_attn_interface", "flash-attn 3")]
)
def test_flash_attention_is_asked_for_what_the_others_compute(monkeypatch, module, name, answer) -> None:
    monkeypatch.setitem(sys.modules, module, played_flash_attention(module, answer))
    library = next(one for one in libraries.libraries() if one.name == name)
    (one,) = pool(SHAPE, 1, torch.float32, CPU, 0)
    rival = library.make(SHAPE, [one])
    assert rival.name == name and rival.rival and rival.facts == {"version": "9.9"}
    assert contenders.error_of(rival, one) < 1e-5
    assert rival.bytes_moved == SHAPE.bytes_moved(4)


@pytest.mark.parametrize("page", [0, 16])
def test_flashinfer_is_planned_once_for_each_set_and_reads_the_same_memory(monkeypatch, page: int) -> None:
    monkeypatch.setitem(sys.modules, "flashinfer", played_flashinfer())
    shape = Shape("x", 2, 8, 2, 150, 16, page=page)
    sets = pool(shape, 2, torch.float32, CPU, 0)
    Wrapper.plans = 0
    rival = libraries.flashinfer(shape, sets)
    assert contenders.error_of(rival, sets[0]) < 1e-5
    for call in rival.calls * 3:
        call()
    assert Wrapper.plans == 2 and rival.facts["page"] == (page or libraries.PAGE)


def test_pages_of_a_contiguous_memory_hold_all_of_it_in_order() -> None:
    memory = torch.arange(2 * 3 * 10 * 4).view(2, 3, 10, 4).float()
    pages = libraries.in_pages(memory, 4)
    assert pages.shape == (6, 3, 4, 4)
    assert torch.equal(pages[3:].transpose(0, 1).flatten(1, 2)[:, :10], memory[1])


def bench(folder: Path) -> Bench:
    return Bench(Rehearsal(), torch.float32, Ledger(folder / "k.json", CARD, {}, ["x"]), Budget(100))


def test_a_library_that_is_missing_or_wrong_is_named_in_the_row_and_races_not(tmp_path: Path) -> None:
    b, field, row = bench(tmp_path), [], {"not_accepted": {}}
    (one,) = pool(SHAPE, 1, torch.float32, CPU, 0)

    def wrong() -> Any:
        made = contenders.torch_attention(SHAPE, [one], "MATH")
        return made.__class__("wrong", [lambda: made.calls[0]() * 2], 0, {}, rival=True)

    def raising() -> Any:
        raise ValueError("no page of\n64")

    def missing() -> Any:
        raise ImportError("no module")

    for name, make in (("wrong", wrong), ("raising", raising), ("missing", missing)):
        rows.try_one(b, "x", name, make, one, field, row)
    assert field == [] and "error" in row["not_accepted"].pop("wrong")
    assert row["not_accepted"] == {"raising": "no page of", "missing": "not installed"}


def test_a_wrong_kernel_of_our_own_is_never_just_left_out(tmp_path: Path) -> None:
    (one,) = pool(SHAPE, 1, torch.float32, CPU, 0)

    def ours() -> Any:
        made = contenders.torch_attention(SHAPE, [one], "MATH")
        return made.__class__("slot by slot", [lambda: made.calls[0]() * 2])

    with pytest.raises(WrongKernel, match="slot by slot: error"):
        rows.try_one(bench(tmp_path), "x", "slot by slot", ours, one, [], {"not_accepted": {}})


def test_libraries_race_in_a_row_of_their_own_or_it_is_said_why_not(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("triton")
    missing = libraries.Library("absent", "no_such_module_anywhere", libraries.flashinfer)
    monkeypatch.setattr(rows, "libraries", lambda: [missing])
    b = bench(tmp_path)
    with pytest.raises(RuntimeError, match="absent not installed"):
        rows.against_libraries(b, SHAPE)
    played = libraries.Library("played", "torch", lambda s, i: contenders.torch_attention(s, i, "MATH"))
    monkeypatch.setattr(rows, "libraries", lambda: [missing, played])
    rows.against_libraries(b, SHAPE)
    row = b.ledger.facts["rows"]["x, libraries"]
    assert (
        row["not_accepted"] == {"absent": "not installed"}
        and "x, libraries sdpa math / ours" in b.ledger.values
    )


def test_forms_are_compared_with_their_plain_form(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    b = bench(tmp_path)
    forms.int8(b)
    facts = b.ledger.facts["rows"][forms.INT8]
    assert {"16-bit", "int8"} <= set(facts["contenders"]) and facts["int8"]["int8"] is True
    assert facts["int8"]["bytes_moved"] < facts["16-bit"]["bytes_moved"]
    assert b.ledger.values[f"{forms.INT8} int8 / 16-bit"].median == 1.0
