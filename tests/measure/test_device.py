"""The device probe: it really reads, it keeps what it measured, and it doubts what it kept."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memlessons.cost import MissingFigure
from memlessons.measure import Machine, NoSuchDevice, adding, device, machine, multiplying, probe
from memlessons.measure.probe import CacheLevel
from memlessons.units import KIB, MIB


def made_up(**changes: object) -> Machine:
    of_now = Machine(
        name=probe.device_name("cpu"),
        device="cpu",
        copy_rate=20e9,
        read_rate=25e9,
        matmul_rate=100e9,
        half_matmul_rate=None,
        call_seconds=2e-6,
        staircase=((16 * KIB, 140e9), (256 * MIB, 20e9)),
        threads=torch.get_num_threads(),
        memory_bytes=8 * 2**30,
        caches=(CacheLevel("L1", 32 * KIB, 2), CacheLevel("L3", 32 * MIB, 1)),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pace="full",
        versions=device.versions(),
    )
    return replace(of_now, **changes)  # type: ignore[arg-type]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The places measured so far; measuring itself is replaced, and kept files go to a temporary folder."""
    calls: list[str] = []

    def measure(where: torch.device) -> Machine:
        calls.append(str(where))
        return made_up()

    monkeypatch.setattr(device, "measure", measure)
    monkeypatch.setenv("MEMLESSONS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MEMLESSONS_PACE", raising=False)
    return calls


def kept_file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "machine-cpu.json"


def test_a_machine_is_measured_once_and_then_read(measured: list[str], tmp_path: Path) -> None:
    first = machine("cpu")
    assert machine("cpu") == first and measured == ["cpu"]
    assert [p.name for p in kept_file(tmp_path).parent.iterdir()] == ["machine-cpu.json"]
    assert machine("cpu", fresh=True) and measured == ["cpu", "cpu"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"form": "memlessons.machine/1"}', "\x00"])
def test_a_corrupt_file_is_measured_again_and_mended(measured: list[str], tmp_path: Path, text: str) -> None:
    kept_file(tmp_path).parent.mkdir(parents=True)
    kept_file(tmp_path).write_text(text)
    machine("cpu")
    machine("cpu")
    assert measured == ["cpu"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("form", "memlessons.machine/0"),
        ("copy_rate", None),
        ("copy_rate", "fast"),
        ("copy_rate", True),
        ("threads", 1.5),
        ("staircase", [[1]]),
        ("staircase", 5),
        ("caches", [["L1", "many", 1]]),
        ("measured_at", "yesterday"),
        ("measured_at", "2001-01-01T00:00:00"),
        ("measured_at", "2001-01-01T00:00:00+00:00"),
        ("name", "another processor"),
        ("device", "cuda:7"),
        ("threads", 999),
        ("versions", {"torch": "0.0.1"}),
        ("versions", {}),
        ("pace", "quick"),
    ],
)
def test_a_damaged_or_outdated_file_is_measured_again(
    measured: list[str], tmp_path: Path, field: str, value: object
) -> None:
    machine("cpu")
    source = json.loads(kept_file(tmp_path).read_text())
    source[field] = value
    kept_file(tmp_path).write_text(json.dumps(source))
    machine("cpu")
    assert measured == ["cpu", "cpu"]


def test_every_field_must_be_there(measured: list[str], tmp_path: Path) -> None:
    machine("cpu")
    whole = json.loads(kept_file(tmp_path).read_text())
    for field in asdict(made_up()):
        kept_file(tmp_path).write_text(json.dumps({k: v for k, v in whole.items() if k != field}))
        assert device._kept(kept_file(tmp_path), torch.device("cpu")) is None, field
    kept_file(tmp_path).write_text(json.dumps(whole))
    assert device._kept(kept_file(tmp_path), torch.device("cpu")) is not None


def test_measurements_are_kept_for_a_month(measured: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for days, again in ((29, 0), (31, 1)):
        then = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        monkeypatch.setattr(device, "measure", lambda where, then=then: made_up(measured_at=then))
        machine("cpu", fresh=True)
        monkeypatch.setattr(device, "measure", lambda where: measured.append("cpu") or made_up())
        machine("cpu")
        assert len(measured) == again


def test_the_quick_pace_takes_a_full_measurement_but_not_the_other_way_round(
    measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("cpu")
    monkeypatch.setenv("MEMLESSONS_PACE", "quick")
    machine("cpu")
    assert measured == ["cpu"]


def test_a_cache_folder_that_cannot_be_written_costs_only_time(measured: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    assert machine("cpu") == made_up(measured_at=machine("cpu").measured_at)
    assert len(measured) >= 2


@pytest.mark.parametrize("name", ["abacus", "cuda:63", 3.5])
def test_devices_that_are_not_here_are_named(name: object) -> None:
    with pytest.raises(NoSuchDevice, match="not on this machine"):
        machine(name)


def test_a_real_probe_fills_every_field(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMLESSONS_CACHE", str(tmp_path))
    monkeypatch.setenv("MEMLESSONS_PACE", "quick")
    monkeypatch.setattr(probe, "room", lambda *_: 4 * MIB)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        got = machine("cpu")
        assert torch.get_num_threads() == 2 == got.threads
        assert machine("cpu") == got
    finally:
        torch.set_num_threads(before)
    assert [size for size, _ in got.staircase] == [16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB]
    rates = [got.copy_rate, got.read_rate, got.matmul_rate, got.ridge, *(rate for _, rate in got.staircase)]
    assert all(1e-3 < r < 1e14 for r in rates) and 0 < got.call_seconds < 1
    assert got.pace == "quick" and got.half_matmul_rate is None


def test_the_accelerator_carries_the_measured_rates_and_says_so() -> None:
    got = made_up().accelerator()
    assert (got.bandwidth, got.matmul_flops, got.memory_bytes) == (25e9, 100e9, 8 * 2**30)
    assert got.confidence == "measured here" and got.l2_bytes == 32 * MIB and "float32" in got.note
    assert made_up(half_matmul_rate=3e12).accelerator().matmul_flops == 3e12
    with pytest.raises(MissingFigure, match="memory_bytes"):
        made_up(memory_bytes=None).accelerator()


def test_a_machine_prints_its_rates_with_units() -> None:
    text = str(made_up())
    for part in (
        "25.0 GB/s",
        "100 GFLOP/s",
        "4.0 FLOP per byte",
        "2.00 µs",
        "32.0 KiB x 2",
        "140 GB/s",
        "UTC",
    ):
        assert part in text
    assert "float16" not in text and "in float16" in str(made_up(half_matmul_rate=1e12, threads=0))


@given(st.integers(1, 3), st.integers(1, 5000))
@settings(max_examples=25, deadline=None)
def test_a_reread_adds_up_the_same_memory_anew_in_every_pass(threads: int, elements: int) -> None:
    before, elements = torch.get_num_threads(), max(elements, threads)
    torch.set_num_threads(threads)
    try:
        block = torch.ones(elements)
        amount, run = probe.reread(block, 4 * elements)
        first = run().clone()
        block.mul_(3.0)
        second = run()
    finally:
        torch.set_num_threads(before)
    rows, passes = first.shape
    width = elements // threads
    assert rows == threads and passes == max(1, 16 * MIB // (4 * elements))
    assert amount == rows * passes * width * 4
    assert torch.equal(first, torch.full((rows, passes), float(width)))
    assert torch.equal(second, 3 * first)


def test_working_sets_end_at_the_largest_and_are_evenly_apart() -> None:
    assert probe.sizes_up_to(MIB, "cpu") == [16 * KIB << i for i in range(7)]
    assert probe.sizes_up_to(MIB, "cpu", 4) == [16 * KIB, 64 * KIB, 256 * KIB, MIB]
    assert probe.sizes_up_to(8 * KIB, "cpu") == [8 * KIB]


def test_the_largest_working_set_is_beyond_the_caches_and_within_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "memory_bytes", lambda device: 64 * 2**30)
    huge = (CacheLevel("L3", 96 * MIB, 4),)
    assert probe.room("cpu", (), quick=False) == 256 * MIB
    assert probe.room("cpu", (), quick=True) == 128 * MIB
    assert probe.room("cpu", huge, quick=False) >= 2 * 4 * 96 * MIB
    monkeypatch.setattr(probe, "memory_bytes", lambda device: 2**30)
    assert probe.room("cpu", huge, quick=False) == 128 * MIB
    monkeypatch.setattr(probe, "memory_bytes", lambda device: None)
    assert probe.room("cpu", (), quick=False) == 256 * MIB


def cache_tree(root: Path, entries: list[tuple[str, str, str, str, str]]) -> Path:
    for where, level, kind, size, shared in entries:
        folder = root / where.split("/")[0] / "cache" / where.split("/")[1]
        folder.mkdir(parents=True)
        names = ("level", "type", "size", "shared_cpu_list")
        for name, text in zip(names, (level, kind, size, shared), strict=True):
            (folder / name).write_text(text + "\n")
    return root


def test_cache_levels_are_counted_once_for_the_cores_that_share_them(tmp_path: Path) -> None:
    root = cache_tree(
        tmp_path,
        [
            ("cpu0/index0", "1", "Data", "32K", "0"),
            ("cpu0/index1", "1", "Instruction", "64K", "0"),
            ("cpu0/index2", "2", "Unified", "512K", "0"),
            ("cpu0/index3", "3", "Unified", "32768K", "0-1"),
            ("cpu1/index0", "1", "Data", "32K", "1"),
            ("cpu1/index2", "2", "Unified", "512K", "1"),
            ("cpu1/index3", "3", "Unified", "32768K", "0-1"),
            ("cpu2/index0", "1", "Data", "unreadable", "2"),
        ],
    )
    assert probe.cache_levels("cpu", root) == (
        CacheLevel("L1", 32 * KIB, 2), CacheLevel("L2", 512 * KIB, 2), CacheLevel("L3", 32 * MIB, 1),
    )  # fmt: skip
    assert probe.cache_levels("cpu", tmp_path / "none") == ()


def test_the_two_pieces_of_work_compute_what_they_say() -> None:
    add = adding(1000)
    assert add.run().item() == 1000.0 and (add.flops, add.bytes_moved) == (1000, 4000)
    multiply = multiplying(16)
    assert multiply.run().shape == (16, 16) and (multiply.flops, multiply.bytes_moved) == (
        2 * 16**3,
        3 * 16**2 * 4,
    )
    assert multiply.timed(repetitions=2).repetitions == 2
    # In multiply-adds, which is how chapter 00 counts: sixteen times, at its sizes.
    assert 1024**3 / (64 * 2**20) == 16
