"""Figures of a machine: its roofs, its staircase, its three corners."""

import math
from itertools import pairwise
from types import SimpleNamespace

import pytest

from memlessons.show.curves import NothingToDraw
from memlessons.show.diagrams import TIERS, UnknownTier, tiers_picture, triangle
from memlessons.show.rooflines import roofline
from memlessons.show.working_set import staircase, treads

KIB, MIB = 1024, 1024**2


def a_machine(**changed):
    steps = [(8 * KIB * 2**i, 80e9 if i < 3 else 40e9 if i < 8 else 10e9) for i in range(14)]
    usual = {
        "name": "A <CPU>",
        "device": "cpu",
        "copy_rate": 8e9,
        "read_rate": 16e9,
        "matmul_rate": 64e9,
        "threads": 2,
        "call_seconds": 1e-6,
        "staircase": tuple(steps),
        "caches": (("L1", 32 * KIB, 4), ("L2", MIB, 1)),
    }
    return SimpleNamespace(**usual | changed)


def test_the_roofs_meet_at_the_ridge():
    fig = roofline(a_machine())
    memory, compute = fig.data
    ridge = 64e9 / 16e9
    assert memory.x[-1] == compute.x[0] == ridge
    assert memory.y[-1] == compute.y[0] == compute.y[1] == 64e9
    assert memory.y[0] / memory.x[0] == pytest.approx(16e9)
    assert memory.line.dash != compute.line.dash
    assert fig.layout.xaxis.type == fig.layout.yaxis.type == "log"


def test_work_stands_where_it_was_measured_and_is_named_there():
    fig = roofline(a_machine(), {"decode": (0.5, 6e9), "prefill": (200.0, 50e9)})
    decode, prefill = fig.data[2:]
    assert (decode.x[0], decode.y[0]) == (0.5, 6e9)
    assert decode.marker.symbol != prefill.marker.symbol
    placed = {note.text: (note.x, note.y) for note in fig.layout.annotations}
    assert placed["decode"] == (math.log10(0.5), math.log10(6e9))
    assert "decode at 0.5 FLOP per byte, 6.00 GFLOP/s" in fig.alt
    for axis, values in ((fig.layout.xaxis, (0.5, 200.0)), (fig.layout.yaxis, (6e9, 50e9, 64e9))):
        assert all(axis.range[0] <= math.log10(v) <= axis.range[1] for v in values)


def test_the_staircase_shows_every_measured_point_and_finds_the_treads():
    machine = a_machine()
    fig = staircase(machine)
    assert fig.id == "fig-00"
    (line,) = [t for t in fig.data if t.name == "A &lt;CPU&gt;"]
    assert list(zip(line.x, line.y, strict=True)) == list(machine.staircase)
    flat = [t for t in fig.data if t.name == "tread"]
    assert [t.y[0] for t in flat] == [80e9, 40e9, 10e9]
    labels = [note.text for note in fig.layout.annotations]
    # One core reads: four L1 caches do not make a larger one.
    assert "L1: 32.0 KiB" in labels and "L2: 1.00 MiB" in labels
    assert "L1: 80.0 GB/s" in labels and "L2: 40.0 GB/s" in labels and "memory: 10.0 GB/s" in labels
    assert "80.0 GB/s from 8.00 KiB to 32.0 KiB" in fig.alt


def test_without_known_caches_treads_are_named_by_their_rate_only():
    labels = [note.text for note in staircase(a_machine(caches=())).layout.annotations]
    assert sorted(labels) == ["10.0 GB/s", "40.0 GB/s", "80.0 GB/s"]


def test_a_recorded_machine_is_faint_and_does_not_flatten_the_readers_own():
    gpu = SimpleNamespace(name="GPU", staircase=tuple((s, 100 * r) for s, r in a_machine().staircase))
    fig = staircase(a_machine(), recorded=[gpu])
    (other,) = [t for t in fig.data if t.name == "GPU (recorded)"]
    assert other.opacity < 1
    assert fig.layout.yaxis.type == "log"
    assert staircase(a_machine()).layout.yaxis.type == "linear"


def test_a_staircase_needs_two_steps():
    with pytest.raises(NothingToDraw, match="1 points"):
        staircase(a_machine(staircase=((1024, 1e9),)))


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([5, 5, 5, 5], [(0, 4)]),
        ([9, 9, 9, 3, 3, 3], [(0, 3), (3, 6)]),
        ([9.1, 8.9, 9.0, 8.8, 9.2], [(0, 5)]),
        ([80, 79, 41, 40, 39, 20, 21, 5, 5], [(0, 2), (2, 5), (5, 7), (7, 9)]),
        ([7], [(0, 1)]),
    ],
)
def test_treads_are_the_runs_of_nearly_equal_rates(rates, expected):
    assert treads(rates) == expected


def test_treads_cover_all_points_and_are_at_most_four():
    found = treads([2.0**-i for i in range(12)])
    assert len(found) <= 4
    assert [i for a, b in found for i in range(a, b)] == list(range(12))


def test_the_triangle_prices_each_corner_in_the_others():
    fig = triangle(a_machine())
    texts = " ".join(note.text for note in fig.layout.annotations)
    assert "= 4 FLOP" in texts and "= 8 FLOP" in texts and "= 2 bytes read" in texts
    assert "copying within this machine" in fig.alt
    linked = triangle(a_machine(), communication=("PCIe to the host", 32e9))
    assert "32.0 GB/s (PCIe to the host)" in linked.alt


def test_four_tiers_hold_more_and_more_tokens_and_words_never_fade():
    fig = tiers_picture()
    assert [t.name for t in fig.data] == ["instant", "local", "structural", "persistent"]
    held = [sum(c != "rgba(0,0,0,0)" for c in t.marker.color) for t in fig.data]
    assert held[0] == 1 < held[1] < held[3] < held[2]
    assert all(tier.name in fig.alt and tier.holds in fig.alt for tier in TIERS)
    marked = tiers_picture(mark="local", sizes=["1 KiB", "2 KiB", "3 KiB", "4 KiB"])
    assert [t.opacity for t in marked.data] == [0.35, 1.0, 0.35, 0.35]
    assert all(note.opacity in (None, 1) for note in marked.layout.annotations)
    assert "▶ local" in marked.layout.annotations[1].text and "2 KiB" in marked.layout.annotations[1].text
    with pytest.raises(UnknownTier, match="instant, local, structural, persistent"):
        tiers_picture(mark="global")


def test_names_of_work_near_the_flat_roof_stand_below_it_and_apart():
    points = {
        "decode": (0.5, 7e9),
        "decode, long": (0.52, 6.9e9),
        "batch": (8.0, 63e9),
        "prefill": (9.0, 64e9),
    }
    fig = roofline(a_machine(), points)
    low, high = fig.layout.yaxis.range
    pixels = (fig.layout.height - 70 - 48) / (high - low)
    placed = {n.text: n.y * pixels + (n.yshift or 0) for n in fig.layout.annotations if n.text in points}
    roof = math.log10(64e9) * pixels
    assert set(placed) == set(points)
    assert all(place + 8 <= roof for place in placed.values())
    heights = sorted(placed.values())
    assert all(after - before >= 15 for before, after in pairwise(heights))
