"""What a shape says of a call: bytes counted by hand, and inputs that are of the form it names."""

from dataclasses import replace

import pytest
import torch

from memlessons.bench.kernels import append, contenders, inputs
from memlessons.bench.kernels.shapes import LARGE, LATENT, WINDOW, Shape

CPU = torch.device("cpu")
# B 2, HQ 8, HKV 2, T 10, D 4, numbers of 2 bytes: q and output 2 · 8 · 4 · 2 bytes each.
PLAIN = Shape("x", 2, 8, 2, 10, 4)
Q_AND_OUT = 2 * (2 * 8 * 4 * 2)


@pytest.mark.parametrize(
    ("shape", "by_hand"),
    [
        (PLAIN, 2 * 2 * 10 * (4 + 4) * 2),
        # One byte a number, and four for the scale of each key and each value.
        (replace(PLAIN, int8=True), 2 * 2 * 10 * (4 + 4 + 4 + 4)),
        # Three pages a row, each with an entry of four bytes; the empty slots of the last are not read.
        (replace(PLAIN, page=4), 2 * 2 * 10 * 8 * 2 + 2 * 3 * 4),
        (replace(PLAIN, window=3), 2 * 2 * 3 * 8 * 2),
        (replace(PLAIN, window=3, sink_tokens=2), 2 * 2 * 5 * 8 * 2),
        # First tokens that the window holds anyway count once.
        (replace(PLAIN, window=9, sink_tokens=4), 2 * 2 * 10 * 8 * 2),
        (replace(PLAIN, window=20), 2 * 2 * 10 * 8 * 2),
        # Slots 7, 8, 9 lie in pages 1 and 2; the sinks 0 and 1 in page 0.
        (replace(PLAIN, window=3, page=4), 2 * 2 * 3 * 8 * 2 + 2 * 2 * 4),
        (replace(PLAIN, window=3, page=4, sink_tokens=2), 2 * 2 * 5 * 8 * 2 + 2 * 3 * 4),
        # Sinks 0 ... 4 reach into page 1, which the window sees as well.
        (replace(PLAIN, window=3, page=4, sink_tokens=5), 2 * 2 * 8 * 8 * 2 + 2 * 3 * 4),
        (replace(PLAIN, sink_logits=True), 2 * 2 * 10 * 8 * 2),
    ],
)
def test_bytes_are_counted_by_hand(shape: Shape, by_hand: int) -> None:
    assert shape.bytes_moved(2) == by_hand + Q_AND_OUT


def test_a_latent_is_read_once_for_scores_and_for_values() -> None:
    latent = Shape("x", 2, 8, 1, 10, 6, value_width=4)
    assert latent.bytes_moved(2) == 2 * 10 * 6 * 2 + 2 * 8 * 6 * 2 + 2 * 8 * 4 * 2
    assert replace(latent, int8=True).kv_bytes(2) == 2 * 10 * (6 + 4)
    assert latent.flops == 2 * 2 * 8 * 10 * (6 + 4)


FORMS = [
    PLAIN,
    replace(PLAIN, int8=True),
    replace(PLAIN, page=5),
    replace(PLAIN, page=5, int8=True),
    Shape("x", 2, 8, 1, 10, 6, value_width=4),
    Shape("x", 2, 8, 1, 10, 6, value_width=4, page=5, int8=True),
]


@pytest.mark.parametrize("shape", FORMS)
def test_the_count_is_that_of_the_tensors_where_all_is_seen(shape: Shape) -> None:
    (one,) = inputs.pool(shape, 1, torch.bfloat16, CPU, 0)
    options = [one.options.get(name) for name in ("k_scale", "v_scale", "table")]
    tensors = [t for t in (one.q, one.k, one.v, one.out, *options) if t is not None]
    assert shape.bytes_moved(2) == shape.stored_bytes(2) == sum(t.numel() * t.element_size() for t in tensors)


@pytest.mark.parametrize(
    "shape",
    [
        *FORMS,
        replace(PLAIN, page=4),
        replace(PLAIN, window=3, sink_tokens=2, page=4),
        replace(PLAIN, sink_logits=True),
    ],
)
def test_a_pool_is_of_the_form_that_the_shape_names_and_the_twin_answers_it(shape: Shape) -> None:
    (one,) = inputs.pool(shape, 1, torch.float32, CPU, 0)
    ours = contenders.ours(shape, [one], backend="cpu")
    assert contenders.error_of(ours, one) < 1e-5
    assert ours.bytes_moved == shape.bytes_moved(4) and one.out.shape == (2, 8, shape.DV)
    if shape.page:
        pages = one.options["table"].reshape(-1).tolist()
        assert sorted(pages) == list(range(len(one.k))) and pages != sorted(pages)


def test_windows_and_pages_take_memory_that_is_not_read() -> None:
    assert WINDOW.stored_bytes(2) > 30 * WINDOW.bytes_moved(2)
    padded = replace(PLAIN, page=4)
    assert padded.stored_bytes(2) - padded.bytes_moved(2) == 2 * 2 * 2 * 8 * 2


def test_the_shapes_of_the_targets_are_as_large_as_those_say() -> None:
    assert LARGE.kv_bytes(2) == 512 * 2**20
    assert replace(LARGE, int8=True).kv_bytes(2) > 256 * 10**6
    assert all(shape.kv_bytes(2) > 256 * 2**20 for shape in LATENT)


def test_int8_values_are_about_as_large_as_plain_ones() -> None:
    (one,) = inputs.pool(Shape("x", 4, 4, 4, 64, 64, int8=True), 1, torch.float32, CPU, 0)
    values = one.k.float() * one.options["k_scale"][..., None]
    assert 0.8 < float(values.std()) < 1.3


def test_sets_share_no_numbers_and_drive_each_other_out_of_the_cache() -> None:
    assert inputs.sets_needed(1000, 200) == 1
    assert inputs.sets_needed(999, 200) == 2
    assert inputs.sets_needed(1, 10**9, most=64) == 64
    a, b = inputs.pool(Shape("x", 2, 4, 2, 8, 16), 2, torch.float16, CPU, 0)
    assert not torch.equal(a.k, b.k) and bool(a.k.any()) and a.lengths.tolist() == [8, 8]


@pytest.mark.parametrize("shape", FORMS)
def test_a_tiny_shape_is_of_the_same_form(shape: Shape) -> None:
    tiny = shape.tiny()
    for name in ("int8", "window", "value_width"):
        assert bool(getattr(tiny, name)) == bool(getattr(shape, name))
    assert bool(tiny.page) == bool(shape.page) and tiny.T == 24


def test_appending_moves_what_is_read_and_what_is_written() -> None:
    # Three tokens, two heads of width 4: K and V read in two bytes a number, written in two; a slot of eight.
    assert append.bytes_moved(3, 2, 4, 2, int8=False) == 2 * 3 * 2 * 4 * (2 + 2) + 3 * 8
    # Written in one byte a number, and a scale of four for each token and head.
    assert append.bytes_moved(3, 2, 4, 2, int8=True) == 2 * 3 * 2 * (4 * 2 + 4 + 4) + 3 * 8
