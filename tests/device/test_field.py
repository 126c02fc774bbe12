"""Everybody's answer is right before a clock is started; who cannot run is left out with a reason."""

from itertools import count

import pytest
import torch

from memlessons.device import contestants, field
from memlessons.device.arena import Arena
from memlessons.device.contestants import FOLDED, OURS, TORCH, WrongAnswer, inputs, ours, torch_attention
from memlessons.device.rounds import race
from memlessons.device.rows import ROWS
from memlessons.kernels import BackendCannot, decode
from memlessons.measure import BadTiming


@pytest.fixture(scope="module")
def arena() -> Arena:
    return Arena.of("cpu", torch.float32, 16 * 2**20)


def test_every_row_has_our_kernel_and_torch_where_torch_can(arena: Arena) -> None:
    found = field.gather(arena, 256, True, lambda text: None)
    who = {(c.row, c.who) for c in found.contestants}
    assert {(row.name, OURS) for row in ROWS} | {("product int8", OURS), ("product float32", TORCH)} <= who
    assert {row for row, by in who if by == TORCH} == {
        "MHA", "GQA 32/8", "MQA", "GQA window", "product float32"
    }  # fmt: skip
    assert {row for row, by in who if by == FOLDED} == {"GQA 32/8", "MQA", "GQA window", "latent"}
    assert all(c.note for c in found.contestants if c.who in (TORCH, FOLDED) and c.row in ("MHA", "latent"))
    assert found.left_out == {"GQA int8, torch": "torch's attention takes no int8 memory"}
    assert {"read", "copy", "multiply"} == set(found.roofs)
    assert found.checked == len(found.contestants) - 1  # torch's float32 product is nobody's claim
    assert found.roofs["read"].amount == arena.bytes


def test_a_wrong_kernel_is_never_timed(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    def off(*args: object, **options: object) -> torch.Tensor:
        decode(*args, **options)
        return options["out"].mul_(1.001)

    monkeypatch.setattr(contestants, "decode", off)
    with pytest.raises(WrongAnswer, match=r"MHA, memlessons: error 0\.001"):
        field.gather(arena, 256, True, lambda text: None)


def test_what_torch_refuses_is_left_out_with_its_words(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object) -> None:
        raise RuntimeError("No available kernel.\nAnd many more lines")

    monkeypatch.setattr(field, "torch_best", refused)
    found = field.gather(arena, 256, True, lambda text: None)
    assert {c.who for c in found.contestants if not c.row.startswith("product")} == {OURS}
    assert found.left_out["MHA, torch"] == found.left_out["latent, torch, folded"] == "No available kernel."


def test_torch_out_of_bounds_is_left_out_and_ours_is_measured(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rough(row, sets, folded: bool, backend: str):
        return lambda: torch.zeros(1, row.query_heads, row.value_width)

    monkeypatch.setattr(field, "torch_attention", rough)
    found = field.gather(arena, 256, True, lambda text: None)
    assert {c.who for c in found.contestants if not c.row.startswith("product")} == {OURS}
    assert found.left_out["MHA, torch"].startswith("MHA, torch: error 1 against float64")


def test_a_missing_backend_leaves_our_rows_out_with_its_reason(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*args: object, **options: object) -> None:
        raise BackendCannot("needs the package numba")

    monkeypatch.setattr(contestants, "decode", missing)
    monkeypatch.setattr(field, "product_int8", missing)
    found = field.gather(arena, 256, True, lambda text: None)
    assert {c.who for c in found.contestants} == {TORCH, FOLDED}
    assert {name for name, why in found.left_out.items() if "numba" in why} == {
        f"{name}, {OURS}" for name in [*(row.name for row in ROWS), "product int8"]
    }


@pytest.mark.parametrize("row", [row for row in ROWS if not row.int8], ids=lambda row: row.name)
def test_folding_query_heads_into_rows_changes_no_answer(row, arena: Arena) -> None:
    row = row.bound(33)
    sets = inputs(row, arena, 33, 1)[:1]
    one, two = (torch_attention(row, sets, folded, "MATH")() for folded in (False, True))
    assert torch.allclose(one, two, atol=1e-5)
    assert one.shape == (1, row.query_heads, row.value_width)


def test_each_call_takes_the_next_inputs_in_turn(arena: Arena) -> None:
    row = ROWS[2]
    sets = inputs(row, arena, 64, 1)[:3]
    run = ours(row, sets)
    answers = [run().clone() for _ in range(4)]
    assert torch.equal(answers[0], answers[3])
    assert not torch.equal(answers[0], answers[1]) and not torch.equal(answers[1], answers[2])


def test_a_gpu_gets_sequences_enough_to_outlast_a_launch_and_none_that_do_not_fit(arena: Arena) -> None:
    for row in (form.bound(256) for form in ROWS):
        many = field._sequences(row, arena, 256)
        stored = many * row.numbers_per_token() * 256 * (1 if row.int8 else 4)
        assert many >= 1 and (stored <= arena.bytes or many == 1)
        assert row.bytes_moved(256, 4, many) <= arena.bytes
    assert field._sequences(ROWS[2], arena, 256) > field._sequences(ROWS[0], arena, 256)


def test_rounds_go_on_in_pieces_while_another_one_fits() -> None:
    ticks = count()  # a second passes with every look at the clock: one at the start, one after each piece
    said: list[str] = []
    runs = {"a": lambda: None, "b": lambda: None}
    times = race(runs, "cpu", 3.5, said.append, piece=2, most=10, clock=lambda: float(next(ticks)))
    assert times["a"].repetitions == times["b"].repetitions == 6
    assert said[0].strip() == "2 rounds of at most 20, 1 s" and len(said) == 3


def test_one_piece_is_run_however_short_the_time_is() -> None:
    assert race({"a": lambda: None}, "cpu", 0.0, print, piece=3, most=4)["a"].repetitions == 3
    with pytest.raises(BadTiming):
        race({}, "cpu", 1.0, print)
